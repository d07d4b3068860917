"""The stack's sensors for CARLA Leaderboard 2: what to request from the evaluator, and how to convert its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from av_core.frames import carla_to_radar_points, compass_to_map_yaw
from av_core.types import (
    CameraImage,
    CameraModel,
    Float,
    GnssFix,
    Image,
    ImuSample,
    RadarModel,
    RadarSweep,
    Rig,
    SensorFrame,
    Stamp,
)

GNSS, IMU, SPEED, MAP = "gnss", "imu", "speed", "map"
"""Names of the sensors besides the cameras and radars."""

RESERVED = (GNSS, IMU, SPEED, MAP)

MAP_HZ = 1.0
"""The evaluator drops a map that arrives between two ticks, so it is asked for more than once."""


def sensor_specs(rig: Rig, rear_axle_x_m: float, with_map: bool) -> list[dict[str, Any]]:
    """The sensors of a rig, as an agent's `sensors` returns them; `rear_axle_x_m` is in the vehicle actor's frame.

    The evaluator gives every radar 100 m of range and 1500 points a second, as the rigs of the stack have them.
    """
    origin = {"x": rear_axle_x_m, "y": 0.0, "z": 0.0, "roll": 0.0, "pitch": 0.0, "yaw": 0.0}
    specs: list[dict[str, Any]] = [_camera(camera, rear_axle_x_m) for camera in rig.cameras]
    specs += [_radar(radar, rear_axle_x_m) for radar in rig.radars]
    specs += [
        {"type": "sensor.other.gnss", "id": GNSS, **origin},
        {"type": "sensor.other.imu", "id": IMU, **origin},
        {"type": "sensor.speedometer", "id": SPEED, "reading_frequency": 20},
    ]
    if with_map:
        specs.append({"type": "sensor.opendrive_map", "id": MAP, "reading_frequency": MAP_HZ})
    return specs


def sensor_frame(rig: Rig, data: Mapping[str, tuple[int, Any]], stamp: Stamp) -> SensorFrame:
    """The evaluator's data of one tick in the stack's frames."""
    latitude, longitude, altitude = (float(value) for value in data[GNSS][1][:3])
    return SensorFrame(
        stamp=stamp,
        cameras={each.name: CameraImage(stamp, each, _bgr(data[each.name][1])) for each in rig.cameras},
        gnss=GnssFix(stamp, latitude, longitude, altitude),
        imu=_imu(stamp, data[IMU][1]),
        wheel_speed_mps=float(data[SPEED][1]["speed"]),
        radars={each.name: RadarSweep(stamp, each, _points(data[each.name][1])) for each in rig.radars},
    )


def _camera(camera: CameraModel, rear_axle_x_m: float) -> dict[str, Any]:
    return {
        "type": "sensor.camera.rgb",
        "id": camera.name,
        "x": camera.x_m + rear_axle_x_m,
        "y": -camera.y_m,
        "z": camera.z_m,
        "roll": float(np.degrees(camera.roll_rad)),
        "pitch": -float(np.degrees(camera.pitch_rad)),
        "yaw": -float(np.degrees(camera.yaw_rad)),
        "width": camera.width_px,
        "height": camera.height_px,
        "fov": float(np.degrees(camera.fov_x_rad)),
    }


def _radar(radar: RadarModel, rear_axle_x_m: float) -> dict[str, Any]:
    return {
        "type": "sensor.other.radar",
        "id": radar.name,
        "x": radar.x_m + rear_axle_x_m,
        "y": -radar.y_m,
        "z": radar.z_m,
        "roll": 0.0,
        "pitch": 0.0,
        "yaw": -float(np.degrees(radar.yaw_rad)),
        "horizontal_fov": float(np.degrees(radar.fov_x_rad)),
        "vertical_fov": float(np.degrees(radar.fov_y_rad)),
    }


def _points(detections: Float) -> Float:
    """The evaluator reverses the columns of CARLA's detections."""
    return carla_to_radar_points(detections[:, ::-1])


def _bgr(bgra: Image) -> Image:
    return np.ascontiguousarray(bgra[:, :, :3])


def _imu(stamp: Stamp, values: Any) -> ImuSample:
    """Acceleration, turn rates and compass; mirroring y flips lateral accelerations and the rates about x and z."""
    x, y, z, roll, pitch, yaw, compass = (float(value) for value in values[:7])
    return ImuSample(stamp, (x, -y, z), (-roll, pitch, -yaw), float(compass_to_map_yaw(compass)))
