"""Egos that run a red light, crash, leave the lane, stand still and pass a stop sign are caught on a real server."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import carla
import numpy as np

from av_core.types import ControlCommand, LightState, Rig, Truth
from av_stack.mission import mission_route, world_spec
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from planning import PlanningConfig, Route
from scenarios.judging.judge import Judge, Verdict
from scenarios.model import RouteTable, Scenario, WalkerTable

STRAIGHT = RouteTable(start=(423.2, -340.0), goal=(423.2, -240.0))
TO_STOP_SIGN = RouteTable(start=(336.75, -240.0), goal=(310.0, -291.75))
Driver = Callable[[Truth, Route], ControlCommand]


def follow(truth: Truth, route: Route, throttle: float = 0.5) -> ControlCommand:
    """Pure pursuit of the route, blind to everything else."""
    curve = route.curve
    ahead = min(int(curve.nearest(truth.ego.x_m, truth.ego.y_m)) + 16, len(curve.x_m) - 1)
    bearing = np.arctan2(curve.y_m[ahead] - truth.ego.y_m, curve.x_m[ahead] - truth.ego.x_m) - truth.ego.yaw_rad
    steer = float(np.clip(np.sin(bearing), -1.0, 1.0))
    return ControlCommand(throttle if truth.ego_speed_mps < 9.0 else 0.0, 0.0, steer)


def drive(
    address: Address,
    driver: Driver,
    seconds: float,
    *walkers: WalkerTable,
    route: RouteTable = STRAIGHT,
    parked_at: tuple[float, float] | None = None,
    stuck_s: float = 180.0,
) -> Verdict:
    scenario = Scenario(name="scripted", map="city_grid", seed=1, route=route, walkers=walkers, timeout_s=seconds)
    world = CarlaWorld(address, world_spec(scenario, Rig(()), "ClearNoon"))
    try:
        if parked_at is not None:
            park(address, *parked_at)
        lanes = mission_route(world.lane_graph, scenario, PlanningConfig())
        judge = Judge(world.lane_graph, lanes, world.vehicle, seconds, stuck_s)
        end = None
        while end is None and not judge.is_arrived:
            world.tick()
            truth = world.truth()
            end = judge.update(truth)
            world.apply(driver(truth, lanes))
        return judge.verdict(end or "arrived")
    finally:
        world.close()


def park(address: Address, x_m: float, y_m: float) -> None:
    """A car with its brakes on in the lane at CARLA's (x, y)."""
    client = carla.Client(address.host, address.port)
    client.set_timeout(5.0)
    episode = client.get_world()
    place = episode.get_map().get_waypoint(carla.Location(x_m, y_m)).transform
    place.location.z += 0.3
    blueprint = episode.get_blueprint_library().find("vehicle.audi.tt")
    car = cast("carla.Vehicle", episode.spawn_actor(blueprint, place))
    car.apply_control(carla.VehicleControl(brake=1.0))


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
    walker = WalkerTable(start=(423.2, -320.0), end=(423.2, -319.0), speed_mps=1.4, trigger_m=0.1)
    verdict = drive(city_server, follow, 8.0, walker)  # a contact counts again after 5 s and 5 m
    assert verdict.infractions.collisions_walker == 1
    assert verdict.driving_score <= 50.0


def test_driving_into_a_parked_car(city_server: Address) -> None:
    verdict = drive(city_server, follow, 12.0, parked_at=(423.2, -315.0))
    assert verdict.infractions.collisions_vehicle == 1
    assert verdict.collisions[0].startswith("vehicle.audi.tt at frame")
    assert verdict.driving_score <= 60.0


def test_passing_a_stop_sign(city_server: Address) -> None:
    verdict = drive(city_server, follow, 30.0, route=TO_STOP_SIGN)
    assert verdict.infractions.stop_signs == 1
    assert verdict.driving_score <= 80.0


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
