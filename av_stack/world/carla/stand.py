"""Places a standing ego at chosen places on the map, to measure perception from there."""

from __future__ import annotations

from dataclasses import dataclass

import carla
import numpy as np

from av_core.frames import map_to_carla_points, map_to_carla_yaw
from av_core.types import Pose2D, SensorFrame
from av_stack.world.carla.stage import SILENCE_MAX_S, Stage
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address, WorldSpec

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


class Stand:
    """A world whose ego stands still: `go` moves it to another place, `world.tick` measures, `stage` sets the scene.

    Raises as `CarlaWorld` does.
    """

    def __init__(self, address: Address, spec: WorldSpec) -> None:
        self.world = CarlaWorld(address, spec, SILENCE_MAX_S)
        self.stage = Stage(self.world.episode)

    def go(self, place: Place) -> SensorFrame:
        """Move the ego to `place`, let it come to rest, and return its measurements then."""
        pose, ahead_m = place.pose, self.world.vehicle.rear_axle_to_centre_m
        middle = np.array([pose.x_m, pose.y_m]) + ahead_m * np.array([np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)])
        x, y = (float(value) for value in map_to_carla_points(middle))
        z = place.z_m + ahead_m * float(np.tan(place.grade_rad)) + DROP_M
        rotation = carla.Rotation(yaw=float(map_to_carla_yaw(pose.yaw_rad)), pitch=float(np.degrees(place.grade_rad)))
        ego = self.world.episode.ego
        with self.world.episode.session.answering("placing the ego"):
            ego.set_transform(carla.Transform(carla.Location(x=x, y=y, z=z), rotation))
            ego.set_target_velocity(carla.Vector3D())
            ego.apply_control(carla.VehicleControl(brake=1.0))
        for _ in range(SETTLE_TICKS):
            frame = self.world.tick()
        return frame

    def close(self) -> None:
        self.world.close()
