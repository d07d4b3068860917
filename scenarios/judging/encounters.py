"""Counts the encounters of a drive (vehicles, walkers, red lights), which show how demanding it was."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from av_core.frames import map_to_vehicle
from av_core.types import Float, LightState, ObjectKind, Truth
from scenarios.judging.geometry import StopLines
from scenarios.judging.pace import Pace
from scenarios.judging.tick import Tick

MET_M = 30.0
"""A vehicle within this distance counts as met."""

FOLLOW_M = 35.0
"""A vehicle within this distance ahead in the ego's lane for `FOLLOW_S`, while both drive, counts as followed."""

FOLLOW_S = 3.0
LANE_HALF_M = 1.75
"""Half the width of a lane."""

QUEUE_M = 60.0
"""A red light within this distance ahead holds the ego; a vehicle before it blocks the way to it."""

STANDING_MPS = 0.1
"""Below this speed the ego stands."""

SLOW_MPS = 0.5
"""Below this speed another vehicle counts as standing."""

STAND_AT_RED_S = 1.0
"""Least time of a stand that counts as a stop at red."""

QUEUE_GAP_M = 15.0
"""A vehicle that stands within this distance ahead holds the ego."""


@dataclass(slots=True)
class Encounters:
    """Counts over a drive.

    `stops_at_red` counts stands of 1 s or more before a red light, each stand once. Where another vehicle stands
    between the ego and the line, the stand counts only once that vehicle has moved on, because a parked car is no
    queue.
    """

    lights: StopLines
    met: set[int] = field(default_factory=set)
    followed: set[int] = field(default_factory=set)
    walkers_crossing: set[int] = field(default_factory=set)
    stops_at_red: int = 0
    _pace: Pace = field(default_factory=Pace)
    _follow_s: dict[int, float] = field(default_factory=dict)
    _at_red_s: float = 0.0
    _is_counted: bool = False

    def update(self, tick: Tick) -> None:
        truth, front, step_s = tick.truth, tick.front, tick.step_s
        queue_m = self._road_users(truth, step_s)
        red_m = self._red_ahead_m(truth, front)
        front_m = float(np.hypot(front[0] - truth.ego.x_m, front[1] - truth.ego.y_m))
        is_blocked = queue_m - front_m < min(red_m, QUEUE_M)
        self._count_stop(abs(truth.ego_speed_mps) < STANDING_MPS, red_m, is_blocked, step_s)
        is_held = red_m < QUEUE_M or queue_m < QUEUE_GAP_M
        self._pace.update(truth.ego_speed_mps, tick.moved_m, tick.limit_mps, step_s, is_held)

    def _count_stop(self, is_standing: bool, red_m: float, is_blocked: bool, step_s: float) -> None:
        if not is_standing:
            self._at_red_s, self._is_counted = 0.0, False
            return
        if red_m < QUEUE_M:
            self._at_red_s += step_s
        if self._at_red_s >= STAND_AT_RED_S and not is_blocked and not self._is_counted:
            self.stops_at_red += 1
            self._is_counted = True

    @property
    def pace(self) -> Pace:
        """Speed relative to the limit."""
        return self._pace

    def _red_ahead_m(self, truth: Truth, front: Float) -> float:
        """Distance from the ego's front to the nearest red light ahead; inf if there is none."""
        if not self.lights.signal_ids:
            return float("inf")
        red = np.array([truth.lights.get(name) is LightState.RED for name in self.lights.signal_ids])
        distance = self.lights.distance_before_m(front, truth.ego.yaw_rad)
        return float(np.where(red, distance, np.inf).min())

    def _road_users(self, truth: Truth, step_s: float) -> float:
        """Count the road users met, followed and crossing; returns the distance to a vehicle standing in the ego's
        lane.
        """
        if not truth.objects:
            return float("inf")
        at = map_to_vehicle([[o.x_m, o.y_m] for o in truth.objects], truth.ego)
        nearest = float("inf")
        for thing, (x, y) in zip(truth.objects, at, strict=True):
            in_lane = 0.0 < x < FOLLOW_M and abs(y) < LANE_HALF_M
            turn = np.cos(thing.yaw_rad - truth.ego.yaw_rad)
            if thing.kind is ObjectKind.PEDESTRIAN:
                walks_across = abs(np.sin(np.arctan2(*thing.velocity_mps[::-1]) - truth.ego.yaw_rad)) > 0.7
                if in_lane and thing.speed_mps > 0.3 and walks_across:
                    self.walkers_crossing.add(thing.track_id)
                continue
            if in_lane and thing.speed_mps < SLOW_MPS:
                nearest = min(nearest, float(x) - thing.length_m / 2)
            if np.hypot(x, y) < MET_M:
                self.met.add(thing.track_id)
            if in_lane and turn > 0.8 and thing.speed_mps > 1.0 and truth.ego_speed_mps > 1.0:
                self._follow_s[thing.track_id] = self._follow_s.get(thing.track_id, 0.0) + step_s
                if self._follow_s[thing.track_id] >= FOLLOW_S:
                    self.followed.add(thing.track_id)
        return nearest
