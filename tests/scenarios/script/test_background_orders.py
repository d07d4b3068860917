"""Orders to background traffic on a real server: it stops, drives on, keeps below a speed, and is gone."""

from __future__ import annotations

import math
from contextlib import closing
from typing import cast

import carla

from av_core.orders import (
    CapTraffic,
    ClearTraffic,
    Destroy,
    DriveInTraffic,
    Hold,
    LeaveSpace,
    Order,
    Spawn,
    StartTraffic,
    StopTraffic,
)
from av_core.types import Pose2D, Rig, Truth
from av_stack.mission import world_spec
from av_stack.world.carla.truth import BACKGROUND_ROLE
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from scenarios.model import Scenario

STEP_S = 0.05
STREET = {"start": (423.2, -375.5), "goal": (423.2, -240.0)}
AHEAD_M = 40.0


def play(world: CarlaWorld, seconds: float, *orders: Order) -> Truth:
    world.direct(orders)
    for _ in range(round(seconds / STEP_S)):
        world.tick()
        world.direct(())
    return world.truth()


def put_background(world: CarlaWorld) -> None:
    """One vehicle ahead of the ego, which the TrafficManager drives."""
    blueprint = world.episode.world.get_blueprint_library().find("vehicle.audi.tt")
    blueprint.set_attribute("role_name", BACKGROUND_ROLE)
    place = world.episode.ego.get_transform()
    forward = place.get_forward_vector()
    place.location += carla.Location(AHEAD_M * forward.x, AHEAD_M * forward.y, 0.3)
    vehicle = cast("carla.Vehicle", world.episode.world.spawn_actor(blueprint, place))
    world._drive_itself(vehicle)


def speed_mps(truth: Truth) -> float:
    (vehicle,) = [one for one in truth.objects if one.track_id in truth.background_ids]
    return vehicle.speed_mps


def test_a_vehicle_that_the_traffic_manager_destroys_is_not_there(city_server: Address) -> None:
    """The TrafficManager destroys what has stood for 90 s, in this process, between two ticks."""
    scenario = Scenario.model_validate({"name": "background", "map": "city_grid", "route": STREET})
    with closing(CarlaWorld(city_server, world_spec(scenario, Rig(()), "ClearNoon"))) as world:
        ego = play(world, 0.1).ego
        place = Pose2D(ego.x_m, ego.y_m + 20.0, ego.yaw_rad)
        assert set(play(world, 0.2, Spawn("car", "vehicle.audi.tt", place)).actors) == {"car"}
        world._cast._actors["car"].destroy()
        assert world.truth().actors == {}
        assert play(world, 0.2, DriveInTraffic("car", 5.0, ignores_signals=False), Hold("car")).actors == {}
        assert set(play(world, 0.2, Destroy("car"), Spawn("car", "vehicle.audi.tt", place)).actors) == {"car"}


def test_cars_that_come_with_the_first_orders_drive(city_server: Address) -> None:
    """A TrafficManager that starts only when the first car is handed to it may drop that car."""
    table = {"name": "background", "map": "city_grid", "route": STREET, "traffic": {"background": True}}
    spec = world_spec(Scenario.model_validate(table), Rig(()), "ClearNoon")
    with closing(CarlaWorld(city_server, spec)) as world:
        assert world.traffic is not None
        ego = world.truth().ego
        names = ("first", "second")
        orders: list[Order] = []
        for number, name in enumerate(names, start=1):
            x_m = ego.x_m + number * AHEAD_M * math.cos(ego.yaw_rad)
            y_m = ego.y_m + number * AHEAD_M * math.sin(ego.yaw_rad)
            orders.append(Spawn(name, "vehicle.audi.tt", Pose2D(x_m, y_m, ego.yaw_rad)))
            orders.append(DriveInTraffic(name, 8.0, ignores_signals=True))
        cars = play(world, 3.0, *orders).actors
        assert {name: math.hypot(*cars[name].velocity_mps) > 2.0 for name in names} == dict.fromkeys(names, True)


def test_background_traffic_obeys(city_server: Address) -> None:
    """The TrafficManager runs from the start, as in the drives that have such traffic."""
    table = {"name": "background", "map": "city_grid", "route": STREET, "traffic": {"background": True}}
    with closing(CarlaWorld(city_server, world_spec(Scenario.model_validate(table), Rig(()), "ClearNoon"))) as world:
        put_background(world)
        assert speed_mps(play(world, 3.0)) > 4.0
        assert speed_mps(play(world, 2.0, StopTraffic(100.0))) < 0.3
        assert speed_mps(play(world, 2.0, CapTraffic(2.0))) < 0.3
        assert 1.0 < speed_mps(play(world, 3.0, StartTraffic())) < 2.5
        truth = play(world, 0.5, LeaveSpace(5.0), StopTraffic(100.0, is_behind=True))  # it is ahead
        assert 1.0 < speed_mps(truth) < 2.5
        far = ClearTraffic((Pose2D(0.0, 0.0, 0.0),), 5.0)
        assert play(world, 0.1, far).background_ids
        (vehicle,) = [one for one in truth.objects if one.track_id in truth.background_ids]
        near = ClearTraffic((Pose2D(vehicle.x_m, vehicle.y_m, 0.0),), 5.0)
        assert not play(world, 0.1, near).background_ids
        put_background(world)
        assert play(world, 0.1).background_ids
        assert not play(world, 0.1, LeaveSpace(100.0)).background_ids
