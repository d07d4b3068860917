"""Places a standing ego at chosen places on the map, to measure perception from there.

Does not import carla: `CarlaWorld` provides the module.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.frames import map_to_carla_points, map_to_carla_yaw
from av_core.types import Pose2D, SensorFrame
from av_stack.world.carla_staged import StagedWorld

DROP_M = 0.15
"""Height above the road from which the ego is dropped."""

SETTLE_TICKS = 16
"""Ticks until the car rests on its springs, and IMU and wheel speed read zero motion."""


@dataclass(frozen=True, slots=True)
class Place:
    """A pose of the vehicle frame's origin, with the road's height and slope (positive uphill) there."""

    pose: Pose2D
    z_m: float
    grade_rad: float = 0.0


class Stand(StagedWorld):
    """A world whose ego stands still; `go` moves it to another place, `tick` returns its measurements."""

    def go(self, place: Place) -> SensorFrame:
        """Move the ego to `place`, let it come to rest, and return its measurements then."""
        pose, ahead_m = place.pose, self._vehicle.rear_axle_to_centre_m
        middle = np.array([pose.x_m, pose.y_m]) + ahead_m * np.array([np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)])
        x, y = (float(value) for value in map_to_carla_points(middle))
        z = place.z_m + ahead_m * float(np.tan(place.grade_rad)) + DROP_M
        rotation = self._api.Rotation(
            yaw=float(map_to_carla_yaw(pose.yaw_rad)), pitch=float(np.degrees(place.grade_rad))
        )
        with self._answering("placing the ego"):
            self._ego.set_transform(self._api.Transform(self._api.Location(x=x, y=y, z=z), rotation))
            self._ego.set_target_velocity(self._api.Vector3D())
            self._ego.apply_control(self._api.VehicleControl(brake=1.0))
        for _ in range(SETTLE_TICKS):
            frame = self.tick()
        return frame
