"""A stage without a simulator: actors move exactly as the engine orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from av_core.config import validate
from av_core.orders import ActorOrder, Destroy, Hold, Move, ScriptOrder, Spawn
from av_core.types import ActorTruth, LaneGraph, Pose2D
from planning import PlanningConfig, Route, find_route, pose_on_lane
from scenarios.script.engine import Engine
from scenarios.script.model import Script
from scenarios.script.places import Roads
from scenarios.script.situation import EGO, Body, Situation
from tests.planning.lanes_by_hand import chain

STEP_S = 0.05
ROAD_M = 400.0
CAR_M = (4.8, 2.0)

Ego = Callable[[float], tuple[float, float]]
"""Place on the route (m) and speed (m/s) of the ego at a time."""


def road() -> LaneGraph:
    """One straight lane along x."""
    return chain([("straight", ROAD_M, 0.0)])


def route_through(graph: LaneGraph) -> Route:
    lane = next(iter(graph.lanes.values()))
    start, end = (pose_on_lane(graph, *(float(v) for v in lane.points[row, :2])) for row in (0, -1))
    return find_route(graph, start, end, (), PlanningConfig().route)


def script(values: Mapping[str, Any]) -> Script:
    return validate(values, Script, "test")


class Stage:
    """Plays a script; the ego moves along the route as `ego` says. `seen` is every order, with its time.

    `hit` are the actors that the ego touches at the next tick, `taken` those whose place is taken. All road users
    are as large as a car.
    """

    def __init__(
        self,
        values: Mapping[str, Any] | Script,
        ego: Ego,
        graph: LaneGraph | None = None,
        seed: int = 0,
        route: Route | None = None,
    ) -> None:
        self.graph = graph or road()
        self.route = route or route_through(self.graph)
        played = values if isinstance(values, Script) else script(values)
        self.engine = Engine(played, Roads(self.graph, self.route), seed)
        self.actors: dict[str, ActorTruth] = {}
        self.seen: list[tuple[float, ScriptOrder]] = []
        self.hit: set[str] = set()
        self.taken: set[str] = set()
        self._ticks = 0
        self._ego = ego
        self._carry_out(self.engine.begin())

    @property
    def time_s(self) -> float:
        return round(self._ticks * STEP_S, 6)

    def play(self, seconds: float) -> Stage:
        for _ in range(round(seconds / STEP_S)):
            s_m, speed = self._ego(self.time_s)
            x, y, yaw = (float(v) for v in self.route.curve.pose_at(s_m))
            ego = ActorTruth(Pose2D(x, y, yaw), (speed * math.cos(yaw), speed * math.sin(yaw)))
            actors = {**self.actors, EGO: ego}
            bodies = [Body(actor.pose, actor.velocity_mps, *CAR_M, name) for name, actor in actors.items()]
            now = Situation(self.time_s, STEP_S, s_m, actors, bodies=bodies, hit=frozenset(self.hit))
            self.hit.clear()
            self._carry_out(self.engine.step(now))
            self._ticks += 1
        return self

    def orders(self, kind: type | tuple[type, ...]) -> list[tuple[float, Any]]:
        return [(time_s, order) for time_s, order in self.seen if isinstance(order, kind)]

    def _carry_out(self, orders: Sequence[ScriptOrder]) -> None:
        for order in orders:
            self.seen.append((self.time_s, order))
            if isinstance(order, Spawn) and order.actor not in self.taken:
                self.actors[order.actor] = ActorTruth(order.pose, (0.0, 0.0))
            elif isinstance(order, ActorOrder) and order.actor in self.actors:
                self._move(order)

    def _move(self, order: ActorOrder) -> None:
        was = self.actors[order.actor].pose
        if isinstance(order, Destroy):
            del self.actors[order.actor]
        elif isinstance(order, Hold):
            self.actors[order.actor] = ActorTruth(was, (0.0, 0.0))
        elif isinstance(order, Move):
            vx, vy = order.velocity_mps
            pose = Pose2D(was.x_m + vx * STEP_S, was.y_m + vy * STEP_S, was.yaw_rad + order.yaw_rate_radps * STEP_S)
            self.actors[order.actor] = ActorTruth(pose, order.velocity_mps)


def standing(_: float) -> tuple[float, float]:
    return 0.0, 0.0


def driving(speed_mps: float, from_m: float = 0.0) -> Ego:
    return lambda time_s: (min(from_m + speed_mps * time_s, ROAD_M), speed_mps)
