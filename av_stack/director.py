"""Plays a scenario's script in a world during a drive."""

from __future__ import annotations

import math

from av_core.types import ActorTruth, Pose2D, Truth
from av_stack.world.base import World
from planning import Route
from scenarios.model import Scenario
from scenarios.script.engine import Engine
from scenarios.script.places import Roads
from scenarios.script.situation import EGO, Situation


class Director:
    """Passes the truth of each tick to the event engine, and the engine's orders to the world.

    Raises RouteError where a place of the script is not on the map, WorldError where an actor cannot be spawned.
    """

    def __init__(self, world: World, route: Route, scenario: Scenario, step_s: float) -> None:
        self._world, self._step_s = world, step_s
        self._to_centre_m = world.vehicle.rear_axle_to_centre_m
        self._engine = Engine(scenario, Roads(world.lane_graph, route), scenario.seed)
        self._first_s: float | None = None
        world.direct(self._engine.begin())

    @property
    def fired_s(self) -> dict[str, float]:
        """When each event of the script happened, s since the first tick."""
        return self._engine.fired_s

    def update(self, truth: Truth, route_m: float) -> None:
        """Play one tick; `route_m` is how far the ego has come on its route."""
        if self._first_s is None:
            self._first_s = truth.stamp.time_s
        actors = {**truth.actors, EGO: _ego(truth, self._to_centre_m)}
        time_s = truth.stamp.time_s - self._first_s
        self._world.direct(self._engine.step(Situation(time_s, self._step_s, route_m, actors)))


def _ego(truth: Truth, to_centre_m: float) -> ActorTruth:
    ego, speed = truth.ego, truth.ego_speed_mps
    cos, sin = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    pose = Pose2D(ego.x_m + to_centre_m * cos, ego.y_m + to_centre_m * sin, ego.yaw_rad)
    return ActorTruth(pose, (speed * cos, speed * sin))
