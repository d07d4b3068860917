"""The agent `autopilot`: CARLA's TrafficManager drives the ego along the route. It knows the simulator's truth."""

from __future__ import annotations

import carla
import numpy as np

from av_core.frames import map_to_carla_points
from av_core.types import SensorFrame
from av_stack.agents.base import AgentStep
from av_stack.agents.route_plan import LaneChange, lane_changes, rows_outside_junctions
from av_stack.world.carla.controls import command_of
from av_stack.world.carla.road_users.traffic import Traffic
from av_stack.world.carla.truth import forward_speed_mps
from av_stack.world.carla.world import CarlaWorld
from planning import Route

PATH_GAP_M = 10.0
"""Distance between the way points that the TrafficManager gets."""

AHEAD_OF_START_M = 8.0
"""Distance of the first way point ahead of the ego. The TrafficManager would wait for ever for a point behind it."""

BACK_M, AHEAD_M = 5.0, 12.0
"""Part of the route, behind and ahead of the ego's last position, that is searched for its new position."""

CHANGED_M = 1.0
"""The ego has changed lanes when it is within this distance of the route."""

CHANGE_MAX_MPS = 9.0
"""Largest speed during a lane change.

Above about 10 m/s the TrafficManager cancels a lane change at once: its target is farther away than the 20 m within
which it keeps to its plan."""

CHANGE_MIN_MPS = 2.0
"""Smallest speed during a lane change."""

CHANGE_TIME_S = 4.0
"""Until a lane change is done, the ego drives so that it needs at least this time to the end of the stretch for it."""

BRAKING_MPS2 = 2.0
"""Deceleration before a lane change."""

ORDER_EVERY_S = 3.0
"""A lane change that the TrafficManager has not carried out is ordered again after this time."""

APART_S = 10.0
"""The TrafficManager makes no lane change while it is nearer to the last one than the distance driven in this time."""


class Autopilot:
    """Hands the ego to the TrafficManager, with the route as its path, and orders the route's lane changes.

    The TrafficManager takes the exits that lead along the path, but does not change lanes by itself. It gets the ego at
    once, or in the step `from_frame`; before this step another agent has to drive.
    """

    def __init__(self, world: CarlaWorld, route: Route, from_frame: int = 0) -> None:
        self._world, self._route = world, route
        self._changes = list(lane_changes(route, world.lane_graph))
        self._ordered_s = -ORDER_EVERY_S
        self._ordered_m = -np.inf
        self._s_m = 0.0
        self._is_slow = False
        self._is_stopping = False
        self._ego = world.episode.ego
        self._from_frame = from_frame
        self._traffic: Traffic | None = None
        if from_frame == 0:
            self._traffic = self._take_over()

    def step(self, frame: SensorFrame) -> AgentStep:
        with self._world.episode.session.answering("driving the ego by the TrafficManager"):
            across_m = self._locate()
            while self._changes and self._s_m > self._changes[0].start_m and self._is_done(self._changes[0], across_m):
                del self._changes[0]
            if frame.stamp.frame >= self._from_frame:
                self._traffic = self._traffic or self._take_over()
                self._drive(self._traffic, frame.stamp.time_s)
            observed = command_of(self._ego.get_control())
        return AgentStep(None, observed=observed)

    def stop(self) -> None:
        """Brake to a stop in the lane, and stand there. The TrafficManager knows full braking only."""
        self._is_stopping = True

    def close(self) -> None:
        """Nothing to release: the ego goes with its world."""

    def _take_over(self) -> Traffic:
        """Hand the ego to the TrafficManager; starts one if the world has none."""
        traffic = self._world.require_traffic()
        with self._world.episode.session.answering("handing the ego to the TrafficManager"):
            traffic.drive(self._ego)
            traffic.follow(self._ego, _path(self._route, self._s_m))
        return traffic

    def _drive(self, traffic: Traffic, time_s: float) -> None:
        """Give the orders that the TrafficManager needs: lane changes, and the speed before them."""
        self._prepare_change(traffic)
        if self._changes and self._may_order(self._changes[0], time_s):
            self._ordered_s, self._ordered_m = time_s, self._s_m
            traffic.change_lane(self._ego, to_left=self._changes[0].is_left)

    def _locate(self) -> float:
        """Find the ego on the route; returns its offset to the left."""
        at, curve = self._ego.get_location(), self._route.curve
        row = curve.nearest(at.x, -at.y, curve.rows_between(self._s_m - BACK_M, self._s_m + AHEAD_M))
        seen = curve.project(at.x, -at.y, row)
        self._s_m = float(seen.s_m)
        return float(seen.d_m)

    def _is_done(self, change: LaneChange, across_m: float) -> bool:
        """Whether the ego is in the new lane; never in the first half of the change: the route is near the old lane."""
        return self._s_m > (change.start_m + change.end_m) / 2 and abs(across_m) < CHANGED_M

    def _prepare_change(self, traffic: Traffic) -> None:
        """Slow down for the next lane change, and drive at the speed limit again after it."""
        if self._is_stopping:
            traffic.drive_at(self._ego, 0.0)
            return
        speed_mps = np.inf
        if self._changes:
            next_one = self._changes[0]
            needed_mps = (next_one.end_m - self._s_m) / CHANGE_TIME_S
            in_zone_mps = min(max(needed_mps, CHANGE_MIN_MPS), CHANGE_MAX_MPS)
            before_m = max(next_one.start_m - self._s_m, 0.0)
            speed_mps = float(np.sqrt(in_zone_mps**2 + 2.0 * BRAKING_MPS2 * before_m))
        is_slow = speed_mps < self._ego.get_speed_limit() / 3.6
        if is_slow:
            traffic.drive_at(self._ego, speed_mps)
        elif self._is_slow:
            traffic.drive_at_limit(self._ego)
        self._is_slow = is_slow

    def _may_order(self, change: LaneChange, time_s: float) -> bool:
        speed_mps = forward_speed_mps(self._ego)
        is_apart = self._s_m - self._ordered_m > APART_S * speed_mps and time_s - self._ordered_s > ORDER_EVERY_S
        return self._s_m >= change.start_m and speed_mps < CHANGE_MAX_MPS + 0.5 and is_apart


def _path(route: Route, from_m: float) -> list[carla.Location]:
    """Way points along the route ahead of an ego that is at `from_m`."""
    rows = rows_outside_junctions(route, PATH_GAP_M)
    rows = rows[route.s_m[rows] >= from_m + AHEAD_OF_START_M]
    places = map_to_carla_points(np.column_stack([route.curve.x_m[rows], route.curve.y_m[rows]]))
    return [
        carla.Location(x=float(x), y=float(y), z=float(z)) for (x, y), z in zip(places, route.z_m[rows], strict=True)
    ]
