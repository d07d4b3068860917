"""`sticky_control`: whether a vehicle keeps a control that is not given again."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_carla.handlers import vehicles
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.simulation import Simulation
from embedded_carla.types import VehicleControl
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world import spawning

carla = pytest.importorskip("carla")

GAS = carla.VehicleControl(throttle=0.75, steer=0.1)


def spawn(world: Any, sticky: str | None) -> Any:
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    if sticky is not None:
        blueprint.set_attribute("sticky_control", sticky)
    car = world.spawn_actor(blueprint, world.get_map().get_spawn_points()[0])
    world.tick()
    return car


def throttles(world: Any, car: Any, ticks: int) -> list[float]:
    """What the snapshots of the next ticks say, as exact numbers of the wire."""
    told = []
    for _ in range(ticks):
        world.tick()
        told.append(car.get_control().throttle)
    return told


@pytest.mark.parametrize("sticky", [None, "true", "True"])
def test_a_sticky_vehicle_keeps_its_control(sync_world: Any, sticky: str | None) -> None:
    car = spawn(sync_world, sticky)
    car.apply_control(GAS)
    assert throttles(sync_world, car, 4) == [0.75] * 4


@pytest.mark.parametrize("sticky", ["false", "False"])
def test_any_other_vehicle_loses_its_control_after_one_tick(sync_world: Any, sticky: str) -> None:
    car = spawn(sync_world, sticky)
    car.apply_control(GAS)
    assert throttles(sync_world, car, 3) == [0.75, 0.0, 0.0]
    assert car.get_control().steer == 0.0
    for _ in range(3):  # the wheel sends an unchanged control again where it does not stick
        car.apply_control(GAS)
        assert throttles(sync_world, car, 1) == [0.75]


def test_a_batch_gives_one_tick_of_control_too(client: Any, sync_world: Any) -> None:
    points = sync_world.get_map().get_spawn_points()
    blueprint = sync_world.get_blueprint_library().find("vehicle.audi.tt")
    blueprint.set_attribute("sticky_control", "false")
    cars = [sync_world.spawn_actor(blueprint, point) for point in points[:5]]
    sync_world.tick()
    client.apply_batch_sync([carla.command.ApplyVehicleControl(car.id, GAS) for car in cars], False)
    sync_world.tick()
    assert [car.get_control().throttle for car in cars] == [0.75] * 5
    sync_world.tick()
    assert [car.get_control().throttle for car in cars] == [0.0] * 5


def test_an_ackermann_target_lasts_one_tick_too(sync_world: Any) -> None:
    car = spawn(sync_world, "false")
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=8.0, acceleration=3.0))
    first, *rest = throttles(sync_world, car, 3)
    assert first > 0.0
    assert rest == [0.0, 0.0]


def test_a_vehicle_on_autopilot_keeps_its_control() -> None:
    """An asynchronous TrafficManager is slower than the world. In one process, so that no manager interferes."""
    simulation = Simulation(MapLoader(MapLibrary(), 0), StreamHub(lambda _: None), 2001, "city_grid", 0)
    episode = simulation.episode
    description = ActorDescription(1, "vehicle.tesla.model3", (("sticky_control", 1, "false"),))
    car = spawning.spawn(episode, description, episode.map.scenery.spawn_points[0])
    vehicles.set_actor_autopilot(simulation, car.actor_id, True)
    episode.control_vehicle(car, VehicleControl(throttle=0.75))
    for _ in range(3):
        simulation.advance(0.05)
        assert episode.fleet.control(car.slot).throttle == 0.75
    vehicles.set_actor_autopilot(simulation, car.actor_id, False)
    simulation.advance(0.05)
    assert episode.fleet.control(car.slot).throttle == 0.0
    simulation.close()
