"""The sensors of the ego vehicle, as plain values: a simulator mounts them, and `sim_configs` reads them from YAML."""

from __future__ import annotations

from dataclasses import dataclass

from av_core.types import CameraModel


@dataclass(frozen=True, slots=True)
class SensorNoise:
    """Standard deviations of CARLA Leaderboard 2's sensors (leaderboard/autoagents/agent_wrapper.py)."""

    gnss_deg: float = 5e-6
    gnss_altitude_m: float = 5e-6
    accel_mps2: float = 0.001
    gyro_radps: float = 0.001


@dataclass(frozen=True, slots=True)
class Rig:
    """The ego's sensors: cameras, and GNSS and IMU at the vehicle frame's origin."""

    cameras: tuple[CameraModel, ...]
    noise: SensorNoise = SensorNoise()
