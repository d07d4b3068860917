"""Plays a scenario's script in a world during a drive."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from av_core.errors import RouteError
from av_core.orders import BackgroundOrder, Order
from av_core.types import ActorTruth, Pose2D, TrackedObject, Truth
from av_stack.world.base import World
from planning import Route
from scenarios.background.traffic import BackgroundTraffic
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.model import Scenario
from scenarios.script.engine import Engine
from scenarios.script.never import why_never
from scenarios.script.parts import PartRun
from scenarios.script.places import Roads
from scenarios.script.situation import EGO, Body, Situation
from scenarios.weather_course import WeatherCourse


class Director:
    """Passes the truth of each tick to the event engine, and the engine's orders to the world.

    Tells the judge's `events` when the parts of the script begin and end.

    Raises RouteError as the engine does, and where an event can never happen; WorldError where an actor cannot be
    spawned.
    """

    def __init__(self, world: World, route: Route, scenario: Scenario, step_s: float, events: ScenarioEvents) -> None:
        never = why_never(scenario, route.length_m, scenario.timeout_s) if scenario.route_id is None else ""
        if never:
            raise RouteError(never)
        self._world, self._step_s = world, step_s
        self._tables, self._events = scenario.parts, events
        self._told: dict[str, PartRun] = {}
        self._to_centre_m = world.vehicle.rear_axle_to_centre_m
        roads = Roads(world.lane_graph, route)
        self._engine = Engine(scenario, roads, scenario.seed)
        self._background = BackgroundTraffic(roads, scenario.seed) if scenario.traffic.background else None
        self._weather = WeatherCourse(scenario.weather_keyframes, route.length_m)
        self._first_s: float | None = None
        world.direct(self._engine.begin())

    @property
    def fired_s(self) -> dict[str, float]:
        """When each event of the script happened, s since the first tick."""
        return self._engine.fired_s

    @property
    def parts(self) -> dict[str, PartRun]:
        """How each part of the script went so far, by its name."""
        return self._engine.parts

    def update(self, truth: Truth, route_m: float) -> None:
        """Play one tick; `route_m` is how far the ego has come on its route."""
        if self._first_s is None:
            self._first_s = truth.stamp.time_s
        actors = {**truth.actors, EGO: _ego(truth, self._to_centre_m)}
        time_s = truth.stamp.time_s - self._first_s
        names = {actor.track_id: name for name, actor in truth.actors.items()}
        bodies = [_body_of(one, names.get(one.track_id)) for one in truth.objects]
        bodies.append(self._ego_body(actors[EGO]))
        touched = {collision.other_id for collision in truth.collisions}
        hit = frozenset(name for name, actor in truth.actors.items() if actor.track_id in touched)
        now = Situation(time_s, self._step_s, route_m, actors, bodies=bodies, hit=hit)
        self._world.direct((*self._play(now), *self._weather.step(route_m)))
        for name, run in self._engine.parts.items():
            self._tell(name, run, self._told.get(name), actors)
            self._told[name] = run

    def _play(self, now: Situation) -> Iterator[Order]:
        """The orders of the script, and those of the background traffic, which obeys the script first."""
        for order in self._engine.step(now):
            if not isinstance(order, BackgroundOrder):
                yield order
            elif self._background is not None:
                self._background.obey(order, now.route_m)
        if self._background is not None:
            yield from self._background.step(now)

    def _ego_body(self, ego: ActorTruth) -> Body:
        vehicle = self._world.vehicle
        return Body(ego.pose, ego.velocity_mps, vehicle.length_m, vehicle.width_m, EGO)

    def _tell(self, name: str, run: PartRun, before: PartRun | None, actors: Mapping[str, ActorTruth]) -> None:
        """Tell the judge what is new about a part."""
        table = self._tables[name]
        if run.began_s is not None and (before is None or before.began_s is None):
            is_free = table.allows_oncoming_lane
            self._events.begin(name, waits=table.timeout_s is not None, allows_oncoming_lane=is_free)
        if run.is_running and table.emergency is not None and table.emergency in actors:
            vehicle_id = actors[table.emergency].track_id
            if vehicle_id is not None:
                self._events.watch(name, vehicle_id)
        if run.ended_s is not None and (before is None or before.ended_s is None):
            self._events.end(name, run.is_timed_out)


def _body_of(one: TrackedObject, name: str | None) -> Body:
    return Body(Pose2D(one.x_m, one.y_m, one.yaw_rad), one.velocity_mps, one.length_m, one.width_m, name)


def _ego(truth: Truth, to_centre_m: float) -> ActorTruth:
    ego, speed = truth.ego, truth.ego_speed_mps
    cos, sin = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    pose = Pose2D(ego.x_m + to_centre_m * cos, ego.y_m + to_centre_m * sin, ego.yaw_rad)
    return ActorTruth(pose, (speed * cos, speed * sin))
