"""Leaving the lanes: what the CARLA Leaderboard counts, and the ego's distance from its lane's centre."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from av_core.frames import wrap_angle
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.lane_locator import LaneLocator, LanePoint
from scenarios.judging.route_points import RoutePoints, RouteProgress
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.judging.score import Infractions
from scenarios.judging.tick import Tick, logged

BESIDE_LANE_M = 0.5
"""Largest distance of the ego's centre outside its lane that does not count."""

TURNED_ROUND_RAD = math.radians(150.0)
"""If the heading of the nearest lane changes by more than this between two ticks, the ego went to the other side."""

AGAINST_RAD = math.radians(120.0)
"""If the ego leaves a junction at a larger angle than this to the lane, it drives against the traffic."""

WINDOW = 3
"""Number of route points ahead that are searched for the last one that the ego has passed."""


STRETCHES_TOLD = 5
"""Largest number of stretches outside the lanes that the log names one by one."""


class OutsideLanes:
    """The part of the route that the ego drove outside all driving and parking lanes, or against the traffic.

    The direction is not judged in junctions, nor while a scenario allows the oncoming lane.
    """

    def __init__(self, points: RoutePoints, locator: LaneLocator, scenarios: ScenarioEvents) -> None:
        self.outside_m = 0.0
        self._locator, self._scenarios = locator, scenarios
        self._progress = RouteProgress(points, WINDOW)
        self._is_wrong_way = False
        self._last: LanePoint | None = None
        self._stretches: list[tuple[Tick, float]] = []  # where each began, and its length, m
        self._was_outside = False

    @property
    def infractions(self) -> Infractions:
        driven_m = self._progress.s_m
        return Infractions(outside_lane_share=self.outside_m / driven_m if driven_m > 0.0 else 0.0)

    def update(self, tick: Tick) -> None:
        at = tick.centre
        here = self._locator.nearest(at.x_m, at.y_m, tick.truth.ego_z_m)
        gap_m, width_m = here.distance_m(at.x_m, at.y_m), here.width_m
        parking = self._locator.parking(at.x_m, at.y_m)
        if parking is not None and parking[0] <= gap_m:
            gap_m, width_m = parking
        is_outside = gap_m > width_m / 2 + BESIDE_LANE_M
        self._is_wrong_way = self._judge_direction(here, at.yaw_rad)
        self._last = here
        advance_m = self._progress.advance(at)
        if is_outside or (self._is_wrong_way and not self._scenarios.is_oncoming_lane_allowed):
            self.outside_m += advance_m
            self._extend(tick, advance_m)
        else:
            self._was_outside = False

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        share = self.infractions.outside_lane_share
        if share == 0.0:
            return ()
        counted = [(tick, length_m) for tick, length_m in self._stretches if length_m > 0.0]
        told = ", ".join(f"{length_m:.0f} m from {tick.time_s:.1f} s" for tick, length_m in counted[:STRETCHES_TOLD])
        more = f" and {len(counted) - STRETCHES_TOLD} more" if len(counted) > STRETCHES_TOLD else ""
        what = f"{100 * share:.1f} % of the way outside the lanes or against the traffic: {told}{more}"
        return (logged(InfractionKind.OUTSIDE_LANES, counted[0][0], what),)

    def _extend(self, tick: Tick, advance_m: float) -> None:
        """Add `advance_m` to the present stretch outside the lanes; if there is none, begin one at this tick."""
        if not self._was_outside:
            self._stretches.append((tick, 0.0))
        begin, length_m = self._stretches[-1]
        self._stretches[-1] = begin, length_m + advance_m
        self._was_outside = True

    def _judge_direction(self, here: LanePoint, yaw_rad: float) -> bool:
        """Whether the ego drives against the traffic; the answer changes only when the ego comes to another lane."""
        if here.lane.is_junction or self._last is None:
            return False
        if here.road_and_lane == self._last.road_and_lane:
            return self._is_wrong_way
        if self._last.lane.is_junction:
            return abs(float(wrap_angle(here.yaw_rad - yaw_rad))) >= AGAINST_RAD
        turn = abs(float(wrap_angle(here.yaw_rad - self._last.yaw_rad)))
        return self._is_wrong_way != (turn > TURNED_ROUND_RAD)


@dataclass(slots=True)
class LaneKeeping:
    """Distance driven outside all lanes and against the traffic, and the cross-track error from the lane's centre.

    All of this is measured at the rear axle, without the Leaderboard's tolerance of 0.5 m, and does not count in the
    score. `errors_m` are the errors outside junctions and lane changes. Each error is weighted with the distance driven
    in its tick, so that standing still does not improve the result. `error_m` is the error of the last tick, positive
    to the left; None inside junctions and lane changes.
    """

    locator: LaneLocator
    driven_m: float = 0.0
    outside_m: float = 0.0
    wrong_way_m: float = 0.0
    errors_m: list[float] = field(default_factory=list)
    weights_m: list[float] = field(default_factory=list)
    error_m: float | None = None

    def update(self, tick: Tick) -> None:
        ego, moved_m = tick.truth.ego, tick.moved_m
        self.error_m = None
        places = self.locator.places(ego.x_m, ego.y_m, ego.yaw_rad)
        self.driven_m += moved_m
        inside = [place for place in places if place.is_inside]
        along = [place for place in inside if abs(place.heading_error_rad) < np.pi / 2]
        if not inside:
            self.outside_m += moved_m
        elif not along and not any(place.lane.is_junction for place in inside):
            self.wrong_way_m += moved_m
        if tick.is_changing or any(place.lane.is_junction for place in along):
            return
        own = [place for place in places if abs(place.heading_error_rad) < np.pi / 2 and not place.lane.is_junction]
        if own:
            self.error_m = own[0].offset_m
            self.errors_m.append(self.error_m)
            self.weights_m.append(moved_m)

    @property
    def rms_m(self) -> float:
        """Root mean square of the cross-track error, weighted by distance."""
        total = sum(self.weights_m)
        if total <= 0.0:
            return 0.0
        return float(np.sqrt(np.average(np.square(self.errors_m), weights=self.weights_m)))

    @property
    def max_m(self) -> float:
        return max((abs(error) for error in self.errors_m), default=0.0)
