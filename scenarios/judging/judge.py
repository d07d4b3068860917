"""Judges one drive from the simulator's truth: criteria, end of the drive, and the final verdict.

`docs/judging.md` defines each criterion and says where it differs from the CARLA Leaderboard's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import LaneGraph, SignalKind, Truth, VehicleParameters
from planning import Route
from scenarios.judging.collisions import Collisions
from scenarios.judging.comfort import Comfort, Ride
from scenarios.judging.encounters import Encounters
from scenarios.judging.geometry import stop_lines
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.lane_locator import LaneLocator
from scenarios.judging.lanes import LaneKeeping, OutsideLanes
from scenarios.judging.minimum_speed import MinimumSpeed
from scenarios.judging.route_criteria import Deviation, RouteCompletion, Stuck, TimeOut
from scenarios.judging.route_points import RoutePoints
from scenarios.judging.safety import Safety, TimeToCollision
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.judging.score import Infractions, score_20, score_21
from scenarios.judging.signals import RedLights, RedLightsEntered, StopSigns
from scenarios.judging.tick import Criterion, EndCondition, Observer, Tick, TickReader, logged

ARRIVED_M = 3.0
"""The ego also counts as arrived when its progress is within this distance of the route's end."""

STUCK_MAX_S = 180.0
"""The ego may stand still for this long."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of a drive. `end` says in words why it ended.

    * `driving_score`, `driving_score_2_1`: the scores of Leaderboard 2.0 and 2.1.
    * `collisions`, `red_lights`, `stop_signs`, `scenarios`: one description for each infraction.
    * `infraction_log`: every infraction in the order of time, and the reason for the end of the drive if that counts
      against the ego.
    * `is_success`: Bench2Drive's success: the route is complete, and there is no infraction except a low speed.
    """

    end: str
    is_success: bool
    route_completion: float
    driving_score: float
    driving_score_2_1: float
    infractions: Infractions
    infraction_log: tuple[LoggedInfraction, ...]
    collisions: tuple[str, ...]
    red_lights: tuple[str, ...]
    stop_signs: tuple[str, ...]
    scenarios: tuple[str, ...]
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
    safety: Safety
    comfort: Comfort | None
    time_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """The ego's progress: its farthest position on the route, the speed limit there, and its offset in the lane.

    The offset from the lane's centre is positive to the left; it is None in junctions and lane changes.
    """

    progress_m: float
    limit_mps: float
    lateral_error_m: float | None


class Judge:
    """Applies all criteria to a drive; call `update` with the truth of every tick.

    The engine of a script reports to `scenarios` what the truth does not show: which scenarios began, and which ended
    in time or too late.
    """

    def __init__(
        self,
        graph: LaneGraph,
        route: Route,
        vehicle: VehicleParameters,
        timeout_s: float,
        stuck_max_s: float = STUCK_MAX_S,
    ) -> None:
        self._route = route
        self._ticks = TickReader(route, vehicle)
        points, locator, lights = RoutePoints(route), LaneLocator(graph), stop_lines(graph, SignalKind.TRAFFIC_LIGHT)
        self.scenarios = ScenarioEvents()
        self._collisions = Collisions()
        self._red_lights = RedLights(graph, vehicle, locator)
        self._stop_signs = StopSigns(graph, locator)
        self._minimum_speed = MinimumSpeed(points)
        self._criteria: tuple[Criterion, ...] = (
            self.scenarios,
            self._collisions,
            self._red_lights,
            self._stop_signs,
            self._minimum_speed,
            OutsideLanes(points, locator, self.scenarios),
        )
        self._ends: tuple[EndCondition, ...] = (
            Deviation(points),
            Stuck(stuck_max_s, self.scenarios),
            TimeOut(points, timeout_s),
        )
        self._completion = RouteCompletion(points)
        self._lanes = LaneKeeping(locator)
        self._encounters = Encounters(lights)
        self._red_lights_entered = RedLightsEntered(lights)
        self._collision_times = TimeToCollision(vehicle)
        self._ride = Ride()
        self._measures: tuple[Observer, ...] = (
            self._completion,
            self._lanes,
            self._encounters,
            self._red_lights_entered,
            self._collision_times,
            self._ride,
        )
        self._last: Tick | None = None

    @property
    def is_arrived(self) -> bool:
        return self._completion.is_complete or self._ticks.meter.best_s_m >= self._route.length_m - ARRIVED_M

    @property
    def route_length_m(self) -> float:
        return self._route.length_m

    @property
    def progress_m(self) -> float:
        """The farthest position on the route so far."""
        return self._ticks.meter.best_s_m

    @property
    def progress(self) -> Progress:
        """Where the ego is now; for recordings."""
        limit_mps = float(self._route.speed_limit_mps[self._route.row_at(self.progress_m)])
        return Progress(self.progress_m, limit_mps, self._lanes.error_m)

    @property
    def in_stop(self) -> NDArray[np.bool_]:
        """(N,) marks the ticks so far that belong to stops for lights and queues, see `scenarios.judging.pace`."""
        return self._encounters.pace.in_stop

    def update(self, truth: Truth) -> str | None:
        """Judge one tick; returns why the drive must end, or None."""
        tick = self._ticks.read(truth)
        self._last = tick
        for observer in (*self._criteria, *self._ends, *self._measures):
            observer.update(tick)
        return next((condition.end for condition in self._ends if condition.end is not None), None)

    def verdict(self, end: str, agent_error: str | None = None) -> Verdict:
        """The results so far; `agent_error` says what the agent did wrong if that ended the drive."""
        infractions = sum((criterion.infractions for criterion in self._criteria), start=Infractions())
        completion = 1.0 if self.is_arrived else self._completion.share
        log = self._log(end, agent_error)
        return Verdict(
            end=end,
            is_success=self.is_arrived and all(entry.kind is InfractionKind.MINIMUM_SPEED for entry in log),
            route_completion=completion,
            driving_score=score_20(completion, infractions),
            driving_score_2_1=score_21(completion, infractions),
            infractions=infractions,
            infraction_log=log,
            collisions=tuple(self._collisions.descriptions),
            red_lights=tuple(self._red_lights.signal_ids),
            stop_signs=tuple(self._stop_signs.signal_ids),
            scenarios=tuple(self.scenarios.descriptions),
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
            safety=self._collision_times.figures(len(self._red_lights_entered.signal_ids)),
            comfort=self._ride.figures(self._minimum_speed.percent if self._minimum_speed.has_traffic else ()),
            time_s=0.0 if self._last is None else self._last.time_s,
        )

    def _log(self, end: str, agent_error: str | None) -> tuple[LoggedInfraction, ...]:
        found = [entry for criterion in self._criteria for entry in criterion.log]
        found += [logged(condition.kind, self._last, end) for condition in self._ends if condition.end == end]
        if agent_error is not None:
            found.append(logged(InfractionKind.AGENT_ERROR, self._last, agent_error))
        return tuple(sorted(found, key=lambda entry: entry.time_s))
