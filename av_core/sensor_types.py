"""The ego's sensors, which a simulator mounts and `sim_configs` reads from YAML, and what they measure in one tick.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """The time that a value belongs to: the simulator's frame number and time."""

    frame: int
    time_s: float


@dataclass(frozen=True, slots=True)
class CameraModel:
    """A pinhole camera mounted on the vehicle; `av_core.frames` projects with it.

    `x_m, y_m, z_m` is the optical centre in the vehicle frame; pitch is positive nose-down (ISO 8855), yaw
    positive to the left.
    """

    name: str
    width_px: int
    height_px: int
    fov_x_rad: float
    x_m: float
    y_m: float
    z_m: float
    pitch_rad: float = 0.0
    yaw_rad: float = 0.0
    roll_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class RadarModel:
    """A radar mounted on the vehicle: random rays within an elliptic cone, denser towards its axis.

    `x_m, y_m, z_m` is its position in the vehicle frame; yaw is positive to the left. `fov_x_rad` and `fov_y_rad` are
    the full opening angles of the cone.
    """

    name: str
    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float
    fov_x_rad: float
    fov_y_rad: float
    range_m: float = 100.0
    points_per_second: int = 1500


@dataclass(frozen=True, slots=True)
class SensorNoise:
    """Standard deviations of CARLA Leaderboard 2's sensors (leaderboard/autoagents/agent_wrapper.py)."""

    gnss_deg: float = 5e-6
    gnss_altitude_m: float = 5e-6
    accel_mps2: float = 0.001
    gyro_radps: float = 0.001


@dataclass(frozen=True, slots=True)
class Rig:
    """The ego's sensors: cameras, radars, and GNSS and IMU at the vehicle frame's origin."""

    cameras: tuple[CameraModel, ...]
    noise: SensorNoise = SensorNoise()
    radars: tuple[RadarModel, ...] = ()


@dataclass(frozen=True, slots=True)
class CameraImage:
    """`bgr` is (height, width, 3) uint8, taken at `stamp` through `camera`."""

    stamp: Stamp
    camera: CameraModel
    bgr: Image


@dataclass(frozen=True, slots=True)
class RadarSweep:
    """The returns of `radar` in one tick, taken at `stamp`.

    `points` is (N, 4) float64: range_m, azimuth_rad (positive to the left) and elevation_rad (positive up) in the
    radar's own axes, and the range rate, m/s, positive where the return moves away from the radar.
    """

    stamp: Stamp
    radar: RadarModel
    points: Float


@dataclass(frozen=True, slots=True)
class GnssFix:
    """A position from the GNSS receiver."""

    stamp: Stamp
    latitude_deg: float
    longitude_deg: float
    altitude_m: float


@dataclass(frozen=True, slots=True)
class ImuSample:
    """Specific force and angular rate in the vehicle frame, and compass heading `yaw_rad` in the map frame."""

    stamp: Stamp
    accel_mps2: tuple[float, float, float]
    gyro_radps: tuple[float, float, float]
    yaw_rad: float


@dataclass(frozen=True, slots=True)
class SensorFrame:
    """All sensor measurements of one tick; every part has the same frame number.

    The keys of `cameras` and `radars` are the sensors' names; a radar that sent nothing has no entry. `is_raining` is
    the output of the rain sensor behind the windscreen. A number that was not measured is NaN.
    """

    stamp: Stamp
    cameras: Mapping[str, CameraImage]
    gnss: GnssFix
    imu: ImuSample
    wheel_speed_mps: float
    is_raining: bool = False
    radars: Mapping[str, RadarSweep] = field(default_factory=dict)
