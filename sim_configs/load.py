"""Rigs, weathers and stack settings from the YAML files beside this module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import Field

from av_stack.config import Strict, load, named
from av_stack.errors import ConfigError
from av_stack.types import CameraModel
from av_stack.world.spec import Rig, SensorNoise
from control import ControlConfig
from planning import PlanningConfig

FOLDER = Path(__file__).parent


class CameraConfig(Strict):
    """A pinhole camera in the vehicle frame; pitch positive nose-down, yaw positive to the left."""

    name: str
    width_px: int = Field(gt=0)
    height_px: int = Field(gt=0)
    fov_x_deg: float = Field(gt=1.0, lt=179.0)
    x_m: float
    y_m: float
    z_m: float
    pitch_deg: float = 0.0
    yaw_deg: float = 0.0
    roll_deg: float = 0.0


class RigConfig(Strict):
    cameras: tuple[CameraConfig, ...] = Field(min_length=1, max_length=8)  # the first looks ahead


class WeatherConfig(Strict):
    """CARLA's weather parameters: percentages, and degrees for the sun."""

    cloudiness: float = 0.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wind_intensity: float = 0.0
    sun_azimuth_angle: float = 0.0
    sun_altitude_angle: float = 45.0
    fog_density: float = 0.0
    fog_distance: float = 0.0
    fog_falloff: float = 0.0
    wetness: float = 0.0
    scattering_intensity: float = 0.0
    mie_scattering_scale: float = 0.0
    rayleigh_scattering_scale: float = 0.0331
    dust_storm: float = 0.0


class StackConfig(Strict):
    planning: PlanningConfig = PlanningConfig()  # type: ignore[call-arg]
    control: ControlConfig = ControlConfig()  # type: ignore[call-arg]


def load_rig(name: str) -> Rig:
    """The rig `sim_configs/rigs/NAME.yaml` or a YAML file."""
    config = load(named(FOLDER / "rigs", name, "rig"), RigConfig)
    return Rig(tuple(_camera(camera) for camera in config.cameras), SensorNoise())


def _camera(config: CameraConfig) -> CameraModel:
    return CameraModel(
        name=config.name,
        width_px=config.width_px,
        height_px=config.height_px,
        fov_x_rad=float(np.radians(config.fov_x_deg)),
        x_m=config.x_m,
        y_m=config.y_m,
        z_m=config.z_m,
        pitch_rad=float(np.radians(config.pitch_deg)),
        yaw_rad=float(np.radians(config.yaw_deg)),
        roll_rad=float(np.radians(config.roll_deg)),
    )


def load_weather(name: str, presets: Sequence[str]) -> str | dict[str, float]:
    """One of CARLA's `presets` by its name, else the parameters in `sim_configs/weather/NAME.yaml` or a YAML file."""
    if name in presets:
        return name
    own = sorted(path.stem for path in (FOLDER / "weather").glob("*.yaml"))
    if name not in own and not name.endswith((".yaml", ".yml")):
        raise ConfigError(f"unknown weather {name}; there are {', '.join([*presets, *own])}")
    return load(named(FOLDER / "weather", name, "weather"), WeatherConfig).model_dump()


def load_stack(name: str = "default") -> StackConfig:
    """The settings `sim_configs/stack/NAME.yaml` or a YAML file."""
    return load(named(FOLDER / "stack", name, "stack configuration"), StackConfig)
