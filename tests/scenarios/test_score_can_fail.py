"""Egos that run a red light, crash, leave the lane and stand still are each caught and scored on a real server."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from av_stack.mission import mission_route, world_spec
from av_stack.types import ControlCommand, LightState, Truth
from av_stack.world.carla_world import CarlaWorld
from av_stack.world.spec import Address, Rig
from planning import PlanningConfig, Route
from scenarios.judge import Judge, Verdict
from scenarios.model import RouteTable, Scenario, WalkerTable
from scenarios.score import Infractions, driving_score

STRAIGHT = RouteTable(start=(423.2, -340.0), goal=(423.2, -240.0))
Driver = Callable[[Truth, Route], ControlCommand]


def follow(truth: Truth, route: Route, throttle: float = 0.5) -> ControlCommand:
    """Pure pursuit of the route, blind to everything else."""
    near = int(np.argmin(np.hypot(route.x_m - truth.ego.x_m, route.y_m - truth.ego.y_m)))
    ahead = min(near + 16, len(route.x_m) - 1)
    bearing = np.arctan2(route.y_m[ahead] - truth.ego.y_m, route.x_m[ahead] - truth.ego.x_m) - truth.ego.yaw_rad
    steer = float(np.clip(np.sin(bearing), -1.0, 1.0))
    return ControlCommand(throttle if truth.ego_speed_mps < 9.0 else 0.0, 0.0, steer)


def drive(address: Address, driver: Driver, seconds: float, *walkers: WalkerTable, stuck_s: float = 180.0) -> Verdict:
    scenario = Scenario(name="scripted", map="city_grid", seed=1, route=STRAIGHT, walkers=walkers)
    world = CarlaWorld(address, world_spec(scenario, Rig(()), "ClearNoon"))
    try:
        route = mission_route(world.lane_graph, scenario, PlanningConfig())  # type: ignore[call-arg]
        judge = Judge(world.lane_graph, route, world.vehicle, seconds, stuck_s)
        end = None
        while end is None and not judge.is_arrived:
            world.tick()
            truth = world.truth()
            end = judge.update(truth)
            world.apply(driver(truth, route))
        return judge.verdict(end or "arrived")
    finally:
        world.close()


def test_running_a_red_light(city_server: Address) -> None:
    waited: list[bool] = []

    def wait_for_red_then_go(truth: Truth, route: Route) -> ControlCommand:
        if truth.lights[route.signals[0].signal_id] is LightState.RED:
            waited.append(True)
        return follow(truth, route) if waited else ControlCommand(0.0, 1.0, 0.0)

    verdict = drive(city_server, wait_for_red_then_go, 90.0)
    assert verdict.infractions.red_lights == 1
    assert verdict.driving_score < 71.0


def test_hitting_a_walker(city_server: Address) -> None:
    walker = WalkerTable(start=(423.2, -320.0), end=(423.2, -319.0), trigger_m=0.1)
    verdict = drive(city_server, follow, 20.0, walker)
    assert verdict.infractions.collisions_walker == 1
    assert verdict.driving_score <= 50.0


def test_leaving_the_lane_and_crashing(city_server: Address) -> None:
    verdict = drive(city_server, lambda *_: ControlCommand(0.8, 0.0, -0.12), 12.0)
    assert verdict.outside_lane_m > 2.0
    assert verdict.lateral_max_m > 0.8
    assert verdict.route_completion < 1.0
    assert verdict.driving_score < 100.0 * verdict.route_completion


def test_standing_still(city_server: Address) -> None:
    verdict = drive(city_server, lambda *_: ControlCommand(0.0, 1.0, 0.0), 60.0, stuck_s=5.0)
    assert verdict.end.startswith("stood still")
    assert verdict.driving_score < 5.0


def test_penalties_multiply() -> None:
    assert driving_score(1.0, Infractions()) == 100.0
    assert driving_score(0.5, Infractions(red_lights=2, collisions_vehicle=1)) == pytest.approx(50.0 * 0.7 * 0.7 * 0.6)
    assert driving_score(1.0, Infractions(outside_lane_share=0.25)) == 75.0
