"""Loads sensor rigs, weathers and stack settings from the YAML files beside this module, checked by typed models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from av_core.config import Strict, load, named, names_in, shortened
from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from av_core.types import CameraModel, RadarModel, Rig, SensorNoise
from control import ControlConfig
from planning import PlanningConfig

FOLDER = Path(__file__).parent
SIZE_MAX_PX = 4096
"""Largest width or height of a camera's picture."""

Percent = Annotated[float, Field(ge=0.0, le=100.0)]
NotNegative = Annotated[float, Field(ge=0.0)]


class CameraConfig(Strict):
    """A pinhole camera in the vehicle frame; pitch is positive nose-down, yaw positive to the left."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")  # it becomes part of a topic's name
    width_px: int = Field(ge=32, le=SIZE_MAX_PX)
    height_px: int = Field(ge=32, le=SIZE_MAX_PX)
    fov_x_deg: float = Field(gt=1.0, lt=179.0)
    x_m: float = Field(ge=-20.0, le=20.0)
    y_m: float = Field(ge=-20.0, le=20.0)
    z_m: float = Field(gt=0.0, le=20.0)
    pitch_deg: float = Field(0.0, ge=-90.0, le=90.0)
    yaw_deg: float = Field(0.0, ge=-360.0, le=360.0)
    roll_deg: float = Field(0.0, ge=-360.0, le=360.0)


class RadarConfig(Strict):
    """A radar in the vehicle frame; yaw is positive to the left."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")  # it becomes part of a topic's name
    x_m: float = Field(ge=-20.0, le=20.0)
    y_m: float = Field(ge=-20.0, le=20.0)
    z_m: float = Field(gt=0.0, le=20.0)
    yaw_deg: float = Field(0.0, ge=-360.0, le=360.0)
    fov_x_deg: float = Field(gt=1.0, le=170.0)
    fov_y_deg: float = Field(gt=0.1, le=170.0)
    range_m: float = Field(100.0, gt=1.0, le=300.0)
    points_per_second: int = Field(1500, ge=20, le=100_000)


class RigConfig(Strict):
    """The cameras and radars of a rig; their largest numbers are those of CARLA Leaderboard 2."""

    cameras: tuple[CameraConfig, ...] = Field(min_length=1, max_length=8)  # the first one looks ahead
    radars: tuple[RadarConfig, ...] = Field((), max_length=4)

    @model_validator(mode="after")
    def _check_names(self) -> RigConfig:
        names = [*(camera.name for camera in self.cameras), *(radar.name for radar in self.radars)]
        if len(set(names)) < len(names):
            raise ValueError(f"every sensor needs a name of its own; the names are {', '.join(names)}")
        return self


class WeatherConfig(Strict):
    """CARLA's weather parameters: percentages, and degrees for the sun."""

    cloudiness: Percent = 0.0
    precipitation: Percent = 0.0
    precipitation_deposits: Percent = 0.0
    wind_intensity: Percent = 0.0
    sun_azimuth_angle: float = Field(0.0, ge=-360.0, le=360.0)
    sun_altitude_angle: float = Field(45.0, ge=-90.0, le=90.0)
    fog_density: Percent = 0.0
    fog_distance: NotNegative = 0.0
    fog_falloff: NotNegative = 0.0
    wetness: Percent = 0.0
    scattering_intensity: NotNegative = 0.0
    mie_scattering_scale: NotNegative = 0.0
    rayleigh_scattering_scale: NotNegative = 0.0331
    dust_storm: Percent = 0.0


class StackConfig(Strict):
    """Settings of planning and control."""

    planning: PlanningConfig = PlanningConfig()
    control: ControlConfig = ControlConfig()


def load_rig(name: str) -> Rig:
    """Load the rig `sim_configs/rigs/NAME.yaml` or a YAML file. Raises ConfigError."""
    config = load(named(FOLDER / "rigs", name, "rig"), RigConfig)
    cameras, radars = map(_camera, config.cameras), map(_radar, config.radars)
    return Rig(tuple(cameras), SensorNoise(), tuple(radars))


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


def _radar(config: RadarConfig) -> RadarModel:
    return RadarModel(
        name=config.name,
        x_m=config.x_m,
        y_m=config.y_m,
        z_m=config.z_m,
        yaw_rad=float(np.radians(config.yaw_deg)),
        fov_x_rad=float(np.radians(config.fov_x_deg)),
        fov_y_rad=float(np.radians(config.fov_y_deg)),
        range_m=config.range_m,
        points_per_second=config.points_per_second,
    )


def load_weather(name: str, presets: Sequence[str]) -> str | dict[str, float]:
    """The name of one of CARLA's `presets`, or the parameters in `sim_configs/weather/NAME.yaml` or a YAML file.

    Raises ConfigError where the weather is unknown or the file is wrong.
    """
    if name in presets:
        return name
    own = names_in(FOLDER / "weather")
    if name not in own and not name.endswith((".yaml", ".yml")):
        known = [*presets, *own]
        raise ConfigError(f"unknown weather {shortened(name)}{did_you_mean(name, known)}; there are {', '.join(known)}")
    return load(named(FOLDER / "weather", name, "weather"), WeatherConfig).model_dump()


def load_stack(name: str = "default") -> StackConfig:
    """Load the settings `sim_configs/stack/NAME.yaml` or a YAML file. Raises ConfigError."""
    return load(named(FOLDER / "stack", name, "stack configuration"), StackConfig)
