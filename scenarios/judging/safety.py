"""Time to collision: how soon the ego would hit another road user if both went on as they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from av_core.types import Float, Pose2D, TrackedObject, VehicleParameters
from scenarios.judging.tick import Tick

HORIZON_S = 10.0
"""Later collisions are not reported."""

MOVING_MPS = 0.1
"""Speed of the ego below which no time to collision is computed."""

STILL_MPS = 1e-9
"""Below this relative speed along an axis, boxes neither approach nor part."""


@dataclass(frozen=True, slots=True)
class Safety:
    """The smallest time to collision of a drive, s, when it was, and with which road user; all None if there is none.

    `red_lights_entered` counts red lights that the ego's front crossed, whether or not its tail did.
    """

    time_to_collision_min_s: float | None
    at_s: float | None
    object_id: int | None
    object_kind: str | None
    red_lights_entered: int


class TimeToCollision:
    """Finds the smallest time to collision of a drive.

    At each tick at which the ego drives, every road user keeps its velocity and heading, and so does the ego. The time
    to collision is the first time at which two upright boxes touch, 0 if they touch now.
    """

    def __init__(self, vehicle: VehicleParameters) -> None:
        self._size_m = (vehicle.length_m, vehicle.width_m)
        self.min_s = HORIZON_S
        self.at_s: float | None = None
        self.other: TrackedObject | None = None

    def update(self, tick: Tick) -> None:
        others = tick.truth.objects
        if not others or abs(tick.speed_mps) < MOVING_MPS:
            return
        times = times_to_collision_s(tick.centre, tick.speed_mps, self._size_m, others)
        first = int(np.argmin(times))
        if times[first] < self.min_s:
            self.min_s, self.at_s, self.other = float(times[first]), tick.time_s, others[first]

    def figures(self, red_lights_entered: int) -> Safety:
        if self.other is None:
            return Safety(None, None, None, None, red_lights_entered)
        return Safety(self.min_s, self.at_s, self.other.track_id, self.other.kind.value, red_lights_entered)


def times_to_collision_s(
    centre: Pose2D, speed_mps: float, size_m: tuple[float, float], others: Sequence[TrackedObject]
) -> Float:
    """(N,) s until the box at `centre` touches each of the others at constant velocities; inf if it never does.

    Separating axes: two boxes touch while their shadows overlap on each of the four directions of their sides.
    """
    count = len(others)
    yaw = np.array([other.yaw_rad for other in others])
    axes = np.stack([np.full(count, centre.yaw_rad), np.full(count, centre.yaw_rad + np.pi / 2), yaw, yaw + np.pi / 2])
    along = np.stack([np.cos(axes), np.sin(axes)], axis=-1)  # (4, N, 2)
    gap = np.array([(other.x_m - centre.x_m, other.y_m - centre.y_m) for other in others])
    ego_velocity = speed_mps * np.array([np.cos(centre.yaw_rad), np.sin(centre.yaw_rad)])
    velocity = np.array([other.velocity_mps for other in others]) - ego_velocity
    half = np.array([(other.length_m, other.width_m) for other in others]) / 2
    reach = _half_shadow(axes - yaw, half[:, 0], half[:, 1])
    reach += _half_shadow(axes - centre.yaw_rad, np.full(count, size_m[0] / 2), np.full(count, size_m[1] / 2))
    distance, rate = (along * gap).sum(axis=-1), (along * velocity).sum(axis=-1)
    is_still = np.abs(rate) < STILL_MPS
    safe_rate = np.where(is_still, 1.0, rate)
    one, other = (-reach - distance) / safe_rate, (reach - distance) / safe_rate
    touches = np.abs(distance) <= reach
    enter = np.where(is_still, np.where(touches, -np.inf, np.inf), np.minimum(one, other)).max(axis=0)
    leave = np.where(is_still, np.where(touches, np.inf, -np.inf), np.maximum(one, other)).min(axis=0)
    return np.where((enter <= leave) & (leave >= 0.0), np.maximum(enter, 0.0), np.inf)


def _half_shadow(turn_rad: Float, half_length_m: Float, half_width_m: Float) -> Float:
    """Half the extent of a box along directions that are turned by `turn_rad` from its length."""
    extent_m: Float = np.abs(np.cos(turn_rad)) * half_length_m + np.abs(np.sin(turn_rad)) * half_width_m
    return extent_m
