"""Calls on vehicles through the real wheel: Ackermann control, doors, wheels, forces."""

from __future__ import annotations

import math
from typing import Any

import pytest

carla = pytest.importorskip("carla")
FRONT_LEFT = carla.VehicleWheelLocation.FL_Wheel


def spawn(world: Any, type_id: str, point: int = 0) -> Any:
    return world.spawn_actor(world.get_blueprint_library().find(type_id), world.get_map().get_spawn_points()[point])


def forward_mps(vehicle: Any) -> float:
    velocity, ahead = vehicle.get_velocity(), vehicle.get_transform().get_forward_vector()
    return float(velocity.x * ahead.x + velocity.y * ahead.y)


def ticks(world: Any, count: int) -> None:
    for _ in range(count):
        world.tick()


def test_ackermann_control_tracks_speed_and_steering(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    sync_world.tick()
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=8.0))
    ticks(sync_world, 400)
    speeds = []
    for _ in range(40):
        sync_world.tick()
        speeds.append(forward_mps(car))
    assert min(speeds) > 7.7
    assert max(speeds) < 8.3
    car.set_collisions(False)
    car.apply_ackermann_control(carla.VehicleAckermannControl(steer=0.2, steer_speed=0.1, speed=8.0))
    ticks(sync_world, 10)
    assert math.radians(car.get_wheel_steer_angle(FRONT_LEFT)) == pytest.approx(0.05, abs=0.012)  # 0.5 s at 0.1 rad/s
    ticks(sync_world, 40)
    assert math.radians(car.get_wheel_steer_angle(FRONT_LEFT)) == pytest.approx(0.2, abs=0.004)


def test_ackermann_control_stops_before_it_drives_backwards(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    car.set_collisions(False)
    sync_world.tick()
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=5.0, acceleration=3.0))
    ticks(sync_world, 150)
    assert forward_mps(car) > 4.0
    assert not car.get_control().reverse
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=-3.0))
    reversed_at = []
    for _ in range(360):
        sync_world.tick()
        if car.get_control().reverse:
            reversed_at.append(forward_mps(car))
    assert reversed_at[0] < 0.2  # the gear is changed at standstill
    assert forward_mps(car) == pytest.approx(-3.0, abs=0.5)
    car.apply_control(carla.VehicleControl(throttle=0.25))
    sync_world.tick()
    assert car.get_control().throttle == pytest.approx(0.25)  # pedals end Ackermann control
    assert not car.get_control().reverse


def test_ackermann_gains_come_back_and_act(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    sync_world.tick()
    settings = car.get_ackermann_controller_settings()
    assert (settings.speed_kp, settings.speed_kd) == pytest.approx((0.15, 0.25))
    assert (settings.accel_kp, settings.accel_kd) == pytest.approx((0.01, 0.01))
    settings.accel_kp = settings.accel_kd = 0.0
    car.apply_ackermann_controller_settings(settings)
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=10.0))
    ticks(sync_world, 40)
    assert car.get_ackermann_controller_settings().accel_kp == 0.0
    assert car.get_control().throttle == 0.0  # with no gain there is no pedal


def test_wheels_have_the_physical_angle_unless_a_client_poses_them(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    car.apply_control(carla.VehicleControl(steer=-0.5, brake=1.0))
    ticks(sync_world, 20)
    limit_deg = car.get_physics_control().wheels[0].max_steer_angle
    assert car.get_wheel_steer_angle(FRONT_LEFT) == pytest.approx(-0.5 * limit_deg, rel=0.02)
    assert car.get_wheel_steer_angle(carla.VehicleWheelLocation.BL_Wheel) == 0.0
    car.set_wheel_steer_direction(FRONT_LEFT, 12.0)
    sync_world.tick()
    assert car.get_wheel_steer_angle(FRONT_LEFT) == pytest.approx(-0.5 * limit_deg, rel=0.02)  # physics decides
    car.set_simulate_physics(False)
    car.set_wheel_steer_direction(FRONT_LEFT, 12.0)
    car.set_wheel_pitch_angle(FRONT_LEFT, 33.0)
    assert car.get_wheel_steer_angle(FRONT_LEFT) == pytest.approx(12.0)
    assert car.get_wheel_pitch_angle(FRONT_LEFT) == pytest.approx(33.0)
    car.set_simulate_physics(True)
    assert car.get_wheel_steer_angle(FRONT_LEFT) == pytest.approx(-0.5 * limit_deg, rel=0.02)
