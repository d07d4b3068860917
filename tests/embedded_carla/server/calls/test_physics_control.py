"""VehiclePhysicsControl, gears and water through the real client."""

from __future__ import annotations

from typing import Any

import carla
import pytest

from tests.embedded_carla.conftest import run_server, synchronous
from tests.embedded_carla.server.calls.test_calls_vehicles import forward_mps, settled, ticks


def driven(world: Any, car: Any, seconds: float, **control: Any) -> float:
    """Forward speed after holding the control."""
    car.apply_control(carla.VehicleControl(**control))
    ticks(world, round(seconds / 0.05))
    return forward_mps(car)


def short_geared(world: Any) -> Any:
    """A car that runs through its gears within a street's length."""
    car = settled(world, "vehicle.lincoln.mkz_2020")
    physics = car.get_physics_control()
    physics.final_ratio *= 2.5
    car.apply_physics_control(physics)
    return car


def test_the_gear_of_a_manual_box_is_held_and_told(sync_world: Any) -> None:
    car = short_geared(sync_world)
    limit = driven(sync_world, car, 4.0, throttle=1.0, manual_gear_shift=True, gear=1)
    assert car.get_control().gear == 1
    assert car.get_telemetry_data().gear == 1
    physics = car.get_physics_control()
    first = physics.forward_gears[0].ratio * physics.final_ratio
    top = physics.max_rpm * 2 * 3.14159 / 60 / first * physics.wheels[0].radius / 100
    assert limit == pytest.approx(top, rel=0.03)
    assert car.get_telemetry_data().engine_rpm == pytest.approx(physics.max_rpm, rel=0.05)


def test_an_automatic_tells_its_gear(sync_world: Any) -> None:
    car = short_geared(sync_world)
    driven(sync_world, car, 4.0, throttle=1.0)
    assert car.get_control().gear >= 2
    driven(sync_world, car, 4.0, brake=1.0)
    driven(sync_world, car, 1.0, throttle=0.5, reverse=True)
    assert car.get_control().gear == -1
    assert forward_mps(car) < -0.5


def test_the_torque_curve_acts(sync_world: Any) -> None:
    speeds = []
    for share in (1.0, 0.5):
        car = settled(sync_world)
        physics = car.get_physics_control()
        physics.torque_curve = [carla.Vector2D(p.x, share * p.y) for p in physics.torque_curve]
        car.apply_physics_control(physics)
        speeds.append(driven(sync_world, car, 1.5, throttle=1.0))
        car.destroy()
        ticks(sync_world, 1)
    assert speeds[1] == pytest.approx(speeds[0] / 2, rel=0.08)


def stop_lengths_m(world: Any) -> list[float]:
    """How far a car slides from 12 m/s under full brakes on a dry road, a wet one, and one under water."""
    car, lengths_m = settled(world), []
    start = car.get_transform()
    for wetness, deposits in ((0.0, 0.0), (100.0, 0.0), (100.0, 100.0)):
        world.set_weather(carla.WeatherParameters(wetness=wetness, precipitation_deposits=deposits))
        car.set_transform(start)
        car.set_target_velocity(12.0 * start.get_forward_vector())
        car.apply_control(carla.VehicleControl(brake=1.0))
        ticks(world, 60)
        assert forward_mps(car) == pytest.approx(0.0, abs=1e-3)
        lengths_m.append(car.get_location().distance(start.location))
    return lengths_m


def test_weather_leaves_the_stop_as_it_is(sync_world: Any) -> None:
    dry_m, wet_m, flooded_m = stop_lengths_m(sync_world)
    assert wet_m == pytest.approx(dry_m, abs=1e-3)
    assert flooded_m == pytest.approx(dry_m, abs=1e-3)


def test_on_tyres_water_lengthens_the_stop() -> None:
    with run_server("--handling", "tyres") as server:
        client = carla.Client("127.0.0.1", server.port)
        client.set_timeout(10.0)
        dry_m, wet_m, flooded_m = stop_lengths_m(synchronous(client))
    assert wet_m > 1.2 * dry_m
    assert flooded_m > 1.05 * wet_m


def test_without_friction_and_drag_nothing_slows_a_car(sync_world: Any) -> None:
    """Nor rolling resistance: it too is a force between tyre and road. CARLA's smoke tests hold it to 1 mm/s."""
    car = settled(sync_world, "vehicle.audi.a2")
    physics = car.get_physics_control()
    wheels = physics.wheels
    for wheel in wheels:
        wheel.tire_friction = 0.0
    physics.wheels, physics.drag_coefficient = wheels, 0.0
    car.apply_physics_control(physics)
    ticks(sync_world, 1)
    car.set_target_velocity(10.0 * car.get_transform().get_forward_vector())
    ticks(sync_world, 20)
    assert car.get_velocity().length() == pytest.approx(10.0, abs=1e-3)
