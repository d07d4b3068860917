"""Judges one drive from the simulator's truth: criteria, end of the drive, and the final verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, LaneGraph, SignalKind, Truth, VehicleParameters
from planning import Route
from scenarios.judging.criteria import Collisions, LaneKeeping, RedLights, StopSigns, Stuck
from scenarios.judging.encounters import Encounters
from scenarios.judging.geometry import RouteMeter, stop_lines
from scenarios.judging.lane_locator import LaneLocator
from scenarios.judging.score import Infractions, score_20, score_21

ARRIVED_M = 3.0
"""The ego has arrived when its progress is within this distance of the route's end."""

DEVIATION_MAX_M = 30.0  # Leaderboard's InRouteTest
STUCK_MAX_S = 180.0  # Leaderboard's ActorBlockedTest


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of a drive. `end` says in words why it ended.

    `driving_score` is that of Leaderboard 2.0, `driving_score_2_1` that of 2.1.
    """

    end: str
    route_completion: float
    driving_score: float
    driving_score_2_1: float
    infractions: Infractions
    collisions: tuple[str, ...]
    red_lights: tuple[str, ...]
    stop_signs: tuple[str, ...]
    route_length_m: float
    driven_m: float
    outside_lane_m: float
    wrong_way_m: float
    lateral_rms_m: float
    lateral_max_m: float
    stops_at_red: int
    vehicles_followed: int
    vehicles_met: int
    walkers_crossing: int
    speed_ratio: float
    time_s: float


class Judge:
    """Applies all criteria to a drive; call `update` with the truth of every tick."""

    def __init__(
        self,
        graph: LaneGraph,
        route: Route,
        vehicle: VehicleParameters,
        timeout_s: float,
        stuck_max_s: float = STUCK_MAX_S,
    ) -> None:
        self._route = route
        self._front_m = vehicle.rear_axle_to_centre_m + vehicle.length_m / 2
        self._timeout_s, self._stuck_max_s = timeout_s, stuck_max_s
        self._locator = LaneLocator(graph)
        self._meter = RouteMeter(route)
        lights = stop_lines(graph, SignalKind.TRAFFIC_LIGHT)
        self._collisions = Collisions()
        self._red_lights = RedLights(lights)
        self._stop_signs = StopSigns(stop_lines(graph, SignalKind.STOP))
        self._lanes = LaneKeeping()
        self._stuck = Stuck()
        self._encounters = Encounters(lights)
        self._first_s: float | None = None
        self._last: Truth | None = None
        self._front: Float | None = None
        self._time_s = 0.0

    @property
    def is_arrived(self) -> bool:
        return self._meter.best_s_m >= self._route.length_m - ARRIVED_M

    @property
    def route_length_m(self) -> float:
        return self._route.length_m

    @property
    def progress_m(self) -> float:
        """The farthest position on the route so far."""
        return self._meter.best_s_m

    @property
    def in_stop(self) -> NDArray[np.bool_]:
        """(N,) marks the ticks so far that belong to stops for lights and queues, see `scenarios.judging.pace`."""
        return self._encounters.pace.in_stop

    def update(self, truth: Truth) -> str | None:
        """Judge one tick; returns why the drive must end, or None."""
        ego = truth.ego
        front = np.array([ego.x_m + self._front_m * np.cos(ego.yaw_rad), ego.y_m + self._front_m * np.sin(ego.yaw_rad)])
        before = front if self._front is None else self._front
        moved, step = self._since_last(truth)
        self._meter.update(ego)
        row = self._meter.row
        self._collisions.update(truth.collisions)
        self._red_lights.update(before, front, dict(truth.lights))
        self._stop_signs.update(before, front, ego.yaw_rad, truth.ego_speed_mps)
        places = self._locator.places(ego.x_m, ego.y_m, ego.yaw_rad)
        self._lanes.update(places, moved, bool(self._route.is_change[row]))
        self._stuck.update(truth)
        self._encounters.update(truth, front, float(self._route.speed_limit_mps[row]), moved, step)
        self._last, self._front = truth, front
        return self._why_end()

    def verdict(self, end: str) -> Verdict:
        """The results so far."""
        infractions = Infractions(
            collisions_walker=self._collisions.walkers,
            collisions_vehicle=self._collisions.vehicles,
            collisions_static=self._collisions.static,
            red_lights=len(self._red_lights.signal_ids),
            stop_signs=len(self._stop_signs.signal_ids),
            outside_lane_share=self._lanes.outside_share,
        )
        completion = 1.0 if self.is_arrived else self._meter.best_s_m / self._route.length_m
        return Verdict(
            end=end,
            route_completion=completion,
            driving_score=score_20(completion, infractions),
            driving_score_2_1=score_21(completion, infractions),
            infractions=infractions,
            collisions=tuple(self._collisions.descriptions),
            red_lights=tuple(self._red_lights.signal_ids),
            stop_signs=tuple(self._stop_signs.signal_ids),
            route_length_m=self._route.length_m,
            driven_m=self._lanes.driven_m,
            outside_lane_m=self._lanes.outside_m,
            wrong_way_m=self._lanes.wrong_way_m,
            lateral_rms_m=self._lanes.rms_m,
            lateral_max_m=self._lanes.max_m,
            stops_at_red=self._encounters.stops_at_red,
            vehicles_followed=len(self._encounters.followed),
            vehicles_met=len(self._encounters.met),
            walkers_crossing=len(self._encounters.walkers_crossing),
            speed_ratio=self._encounters.pace.ratio,
            time_s=self._time_s,
        )

    def _since_last(self, truth: Truth) -> tuple[float, float]:
        """(distance in m, time in s) since the last tick."""
        if self._first_s is None or self._last is None:
            self._first_s = truth.stamp.time_s
            return 0.0, 0.0
        self._time_s = truth.stamp.time_s - self._first_s
        was = self._last.ego
        moved = float(np.hypot(truth.ego.x_m - was.x_m, truth.ego.y_m - was.y_m))
        return moved, truth.stamp.time_s - self._last.stamp.time_s

    def _why_end(self) -> str | None:
        if self._meter.deviation_m > DEVIATION_MAX_M:
            return f"left the route by {self._meter.deviation_m:.0f} m"
        if self._stuck.standing_s > self._stuck_max_s:
            return f"stood still for {self._stuck.standing_s:.0f} s"
        if self._time_s > self._timeout_s:
            return f"time-out after {self._time_s:.0f} s"
        return None
