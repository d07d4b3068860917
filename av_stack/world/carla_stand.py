"""A car that is put where one wants to look from: standing places to measure perception at.

Never imports carla: `CarlaWorld` hands the module over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_stack.frames import map_to_carla_points, map_to_carla_yaw
from av_stack.types import Pose2D, SensorFrame
from av_stack.world.carla_staged import StagedWorld

DROP_M = 0.15
SETTLE_TICKS = 16
"""The car sinks onto its springs, and IMU and wheels read still."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the vehicle frame's origin shall be, with the road's height and slope (positive uphill) there."""

    pose: Pose2D
    z_m: float
    grade_rad: float = 0.0


class Stand(StagedWorld):
    """A world whose ego stands still; call `go` to put it elsewhere, `tick` for what it sees."""

    def go(self, place: Place) -> SensorFrame:
        """Put the ego there, let it come to rest, and return what it measures then."""
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
