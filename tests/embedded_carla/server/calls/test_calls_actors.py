"""Calls on actors of every kind through the real wheel: spring arms, gravity, collisions, death."""

from __future__ import annotations

import math
from typing import Any

import pytest

carla = pytest.importorskip("carla")
BEHIND = carla.Transform(carla.Location(x=-6.0, z=3.0), carla.Rotation(pitch=8.0))


@pytest.fixture
def car(sync_world: Any) -> Any:
    library, points = sync_world.get_blueprint_library(), sync_world.get_map().get_spawn_points()
    vehicle = sync_world.spawn_actor(library.find("vehicle.tesla.model3"), points[0])
    for _ in range(20):
        sync_world.tick()
    return vehicle


def attached(world: Any, car: Any, how: Any) -> Any:
    blueprint = world.get_blueprint_library().find("sensor.camera.rgb")
    camera = world.spawn_actor(blueprint, BEHIND, attach_to=car, attachment_type=how)
    world.tick()
    return camera


def test_a_ghost_arm_holds_its_length_and_looks_along_itself(sync_world: Any, car: Any) -> None:
    camera = attached(sync_world, car, carla.AttachmentType.SpringArmGhost)
    body, pose = car.get_transform(), camera.get_transform()
    expected = body.transform(carla.Location(x=-6.0, z=3.0))
    assert pose.location.distance(expected) < 0.05
    down = -math.degrees(math.atan2(3.0, 6.0))
    assert pose.rotation.pitch == pytest.approx(down + 8.0, abs=0.1)
    assert (pose.rotation.yaw - body.rotation.yaw + 180) % 360 - 180 == pytest.approx(0.0, abs=0.1)


def test_an_arm_follows_a_turn_with_a_lag(sync_world: Any, car: Any) -> None:
    rigid = attached(sync_world, car, carla.AttachmentType.Rigid)
    soft = attached(sync_world, car, carla.AttachmentType.SpringArmGhost)
    turned = car.get_transform()
    turned.rotation.yaw += 40.0
    car.set_transform(turned)

    def yaw_behind(camera: Any) -> float:
        return float((turned.rotation.yaw - camera.get_transform().rotation.yaw + 180) % 360 - 180)

    sync_world.tick()
    assert yaw_behind(rigid) == pytest.approx(0.0, abs=0.1)
    first = yaw_behind(soft)
    assert 25.0 < first < 36.0  # three sub-steps of 1/60 s at 8 per second, the goal moving evenly
    sync_world.tick()
    assert yaw_behind(soft) == pytest.approx(first * first / 40.0, abs=0.3)  # the same share of what is left
    for _ in range(30):
        sync_world.tick()
    assert yaw_behind(soft) == pytest.approx(0.0, abs=0.1)


def test_an_arm_is_shortened_by_what_is_in_the_way(sync_world: Any, car: Any) -> None:
    camera = attached(sync_world, car, carla.AttachmentType.SpringArm)
    free = camera.get_location().distance(car.get_location() + carla.Location(z=0.3))
    assert free == pytest.approx(math.hypot(6.0, 3.0), abs=0.05)
    library = sync_world.get_blueprint_library()
    truck_pose = car.get_transform()
    truck_pose.location -= 8.5 * truck_pose.get_forward_vector()
    truck_pose.location.z += 0.3
    truck = sync_world.spawn_actor(library.find("vehicle.carlamotors.firetruck"), truck_pose)
    truck.set_simulate_physics(False)
    sync_world.tick()
    short = camera.get_location().distance(car.get_location() + carla.Location(z=0.3))
    assert short < 0.85 * free
    truck.destroy()
    sync_world.tick()
    assert camera.get_location().distance(car.get_location() + carla.Location(z=0.3)) == pytest.approx(free, abs=0.05)


def test_a_body_without_gravity_floats(sync_world: Any, car: Any) -> None:
    car.set_enable_gravity(False)
    pose = car.get_transform()
    pose.location.z += 5.0
    car.set_transform(pose)
    for _ in range(20):
        sync_world.tick()
    assert car.get_location().z == pytest.approx(pose.location.z, abs=0.05)
    car.set_enable_gravity(True)
    for _ in range(60):
        sync_world.tick()
    assert car.get_location().z < pose.location.z - 4.0


def test_a_body_without_collisions_is_driven_through(sync_world: Any, car: Any) -> None:
    library = sync_world.get_blueprint_library()
    pose = car.get_transform()
    pose.location += 8.0 * pose.get_forward_vector()
    pose.location.z += 0.2
    wall = sync_world.spawn_actor(library.find("vehicle.carlamotors.firetruck"), pose)
    wall.set_simulate_physics(False)
    wall.set_collisions(False)
    car.enable_constant_velocity(carla.Vector3D(x=10.0))
    before = car.get_location()
    for _ in range(20):
        sync_world.tick()
    assert car.get_location().distance(before) == pytest.approx(10.0, abs=0.3)
