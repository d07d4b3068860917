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


def settled(world: Any, type_id: str = "vehicle.tesla.model3") -> Any:
    vehicle = spawn(world, type_id)
    ticks(world, 20)
    return vehicle


def test_impulses_and_forces_change_the_velocity_by_newtons_law(sync_world: Any) -> None:
    car = settled(sync_world)
    mass = car.get_physics_control().mass
    ahead = car.get_transform().get_forward_vector()
    car.add_impulse(2.0 * mass * ahead)
    sync_world.tick()
    assert forward_mps(car) == pytest.approx(2.0, abs=0.05)
    car.set_target_velocity(carla.Vector3D())
    sync_world.tick()
    for _ in range(20):  # 1 s of 1.5 m/s^2, less rolling resistance
        car.add_force(1.5 * mass * ahead)
        sync_world.tick()
    assert forward_mps(car) == pytest.approx(1.5, abs=0.2)
    car.set_target_velocity(carla.Vector3D())
    car.add_impulse(carla.Vector3D(z=10.0 * mass))  # throws it up: 10 m/s are 5.1 m
    heights = []
    for _ in range(30):
        sync_world.tick()
        heights.append(car.get_location().z)
    assert max(heights) - heights[-1] > 0.0
    assert max(heights) == pytest.approx(5.1, abs=0.4)


def test_turning_impulses_act_in_carlas_unit(sync_world: Any) -> None:
    """Unreal takes kg cm^2/s in degrees: what turns a body of I kg m^2 by w deg/s is 1e4 I w."""
    car = settled(sync_world)
    car.set_enable_gravity(False)
    place = car.get_transform()
    place.location.z += 20.0  # in the air, where no tyre holds it
    car.set_transform(place)
    sync_world.tick()
    box, mass = car.bounding_box.extent, car.get_physics_control().mass
    inertia = mass * (box.x**2 + box.y**2) / 3.0
    car.add_angular_impulse(carla.Vector3D(z=30.0 * inertia * 1e4))
    sync_world.tick()
    assert car.get_angular_velocity().z == pytest.approx(30.0, rel=0.05)


def test_a_constant_velocity_is_held_whatever_the_pedals_say(sync_world: Any) -> None:
    car = settled(sync_world)
    car.enable_constant_velocity(carla.Vector3D(x=6.0))
    car.apply_control(carla.VehicleControl(brake=1.0))
    ticks(sync_world, 20)
    assert forward_mps(car) == pytest.approx(6.0, abs=0.05)
    car.disable_constant_velocity()
    ticks(sync_world, 40)
    assert forward_mps(car) == pytest.approx(0.0, abs=0.05)


def test_telemetry_has_the_wheels_of_the_physics_control(sync_world: Any) -> None:
    for type_id in ("vehicle.kawasaki.ninja", "vehicle.bh.crossbike"):
        car = settled(sync_world, type_id)
        wheels = car.get_telemetry_data().wheels
        assert len(wheels) == len(car.get_physics_control().wheels) == 4
        assert sum(w.tire_load for w in wheels) == pytest.approx(9.81 * car.get_physics_control().mass, rel=0.02)
        car.destroy()


def test_telemetry_carries_the_weight_and_the_brakes_force(sync_world: Any) -> None:
    car = settled(sync_world)
    mass = car.get_physics_control().mass
    seen = car.get_telemetry_data()
    assert len(seen.wheels) == 4
    assert sum(w.tire_load for w in seen.wheels) == pytest.approx(9.81 * mass, rel=0.02)
    assert [w.tire_friction for w in seen.wheels] == pytest.approx([3.5] * 4)
    assert sum(w.normalized_tire_load for w in seen.wheels) / 4 == pytest.approx(1.0, abs=0.05)
    car.set_target_velocity(15.0 * car.get_transform().get_forward_vector())
    ticks(sync_world, 2)
    rolling = car.get_telemetry_data()
    radius = car.get_physics_control().wheels[0].radius / 100
    assert rolling.wheels[0].omega == pytest.approx(15.0 / radius, rel=0.05)
    assert rolling.drag > 20.0
    assert 700.0 < rolling.engine_rpm <= 6000.0
    car.apply_control(carla.VehicleControl(brake=0.4))
    ticks(sync_world, 10)
    before = forward_mps(car)
    sync_world.tick()
    braked = car.get_telemetry_data()
    deceleration = (before - forward_mps(car)) / 0.05
    assert -sum(w.long_force for w in braked.wheels) == pytest.approx(mass * deceleration, rel=0.15)
    assert braked.wheels[0].tire_load > braked.wheels[2].tire_load  # the nose dives
    assert braked.brake == pytest.approx(0.4)


def test_friction_triggers_act_inside_and_end_with_them(sync_world: Any) -> None:
    car = settled(sync_world)
    blueprint = sync_world.get_blueprint_library().find("static.trigger.friction")
    blueprint.set_attribute("friction", "0.7")
    for axis in "xyz":
        blueprint.set_attribute(f"extent_{axis}", "300.0")  # centimetres
    trigger = sync_world.spawn_actor(blueprint, car.get_transform())
    sync_world.tick()
    assert car.get_telemetry_data().wheels[0].tire_friction == pytest.approx(0.7)
    place = car.get_transform()
    place.location += 20.0 * place.get_forward_vector()
    car.set_transform(place)
    sync_world.tick()
    assert car.get_telemetry_data().wheels[0].tire_friction == pytest.approx(3.5)
    trigger.set_transform(place)
    sync_world.tick()
    assert car.get_telemetry_data().wheels[0].tire_friction == pytest.approx(0.7)
    trigger.destroy()
    sync_world.tick()
    assert car.get_telemetry_data().wheels[0].tire_friction == pytest.approx(3.5)


def test_a_friction_trigger_stands_in_the_place_of_the_tyres_own(sync_world: Any) -> None:
    car = settled(sync_world)
    physics = car.get_physics_control()
    wheels = physics.wheels
    for wheel in wheels:
        wheel.tire_friction = 0.0
    physics.wheels = wheels
    car.apply_physics_control(physics)
    blueprint = sync_world.get_blueprint_library().find("static.trigger.friction")
    blueprint.set_attribute("friction", "5.0")
    for axis in "xyz":
        blueprint.set_attribute(f"extent_{axis}", "300.0")  # centimetres
    trigger = sync_world.spawn_actor(blueprint, car.get_transform())
    sync_world.tick()
    assert [w.tire_friction for w in car.get_physics_control().wheels] == pytest.approx([5.0] * 4)
    assert car.get_telemetry_data().wheels[2].tire_friction == pytest.approx(5.0)
    trigger.destroy()
    sync_world.tick()
    assert [w.tire_friction for w in car.get_physics_control().wheels] == pytest.approx([0.0] * 4)
    assert car.get_telemetry_data().wheels[2].tire_friction == pytest.approx(0.0)


def test_the_steering_curve_of_the_physics_control_acts(sync_world: Any) -> None:
    car = settled(sync_world)
    control = car.get_physics_control()
    control.steering_curve = [carla.Vector2D(0.0, 0.5), carla.Vector2D(100.0, 0.5)]
    car.apply_physics_control(control)
    car.apply_control(carla.VehicleControl(steer=1.0, brake=1.0))
    ticks(sync_world, 20)
    expected = 0.5 * control.wheels[0].max_steer_angle
    assert car.get_wheel_steer_angle(FRONT_LEFT) == pytest.approx(expected, rel=0.02)
