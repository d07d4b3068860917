"""Bones, sockets and components through the real wheel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

carla = pytest.importorskip("carla")


def matrix(transform: Any) -> Any:
    return np.array(transform.get_matrix())


def walker_at(world: Any, point: int = 7) -> Any:
    pose = world.get_map().get_spawn_points()[point]
    pose.location.z += 1.0
    walker = world.spawn_actor(world.get_blueprint_library().find("walker.pedestrian.0002"), pose)
    for _ in range(30):
        world.tick()
    return walker


def bones_of(walker: Any) -> Any:
    return {bone.name: bone for bone in walker.get_bones().bone_transforms}


def test_a_walkers_bones_stand_where_its_body_does(sync_world: Any) -> None:
    walker = walker_at(sync_world)
    bones = bones_of(walker)
    assert {"crl_root", "crl_hips__C", "crl_Head__C", "crl_handIndexEnd__L", "crl_toeEnd__R"} <= set(bones)
    feet = walker.get_location().z - walker.bounding_box.extent.z
    assert bones["crl_root"].world.location.z == pytest.approx(feet, abs=0.01)
    height = 2 * walker.bounding_box.extent.z
    assert bones["crl_eye__L"].world.location.z - feet == pytest.approx(0.935 * height, abs=0.03)
    left, right = (bones[f"crl_hand__{side}"].component.location.y for side in "LR")
    assert left < -0.1 < 0.1 < right
    world, component = matrix(bones["crl_root"].world), bones["crl_foot__L"].component
    assert np.allclose(world @ matrix(component), matrix(bones["crl_foot__L"].world), atol=1e-3)
    parent, child = bones["crl_thigh__R"], bones["crl_leg__R"]
    assert np.allclose(matrix(parent.component) @ matrix(child.relative), matrix(child.component), atol=1e-3)


def test_a_walking_walkers_feet_take_turns(sync_world: Any) -> None:
    walker = walker_at(sync_world)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1.0, 0.0, 0.0), 1.4, False))
    ahead = []
    for _ in range(60):
        sync_world.tick()
        bones = bones_of(walker)
        ahead.append(bones["crl_foot__L"].component.location.x - bones["crl_foot__R"].component.location.x)
    assert max(ahead) > 0.3
    assert min(ahead) < -0.3


def test_a_pose_blends_with_the_animation(sync_world: Any) -> None:
    walker = walker_at(sync_world)
    before = bones_of(walker)["crl_hand__R"].component.location
    raised = bones_of(walker)["crl_arm__R"].relative
    raised.rotation.pitch += 90.0
    walker.set_bones(carla.WalkerBoneControlIn([("crl_arm__R", raised)]))
    sync_world.tick()
    assert bones_of(walker)["crl_hand__R"].component.location.distance(before) < 1e-3  # it does not show yet
    walker.show_pose()
    sync_world.tick()
    shown = bones_of(walker)["crl_hand__R"].component.location
    assert shown.x == pytest.approx(before.x + 0.6, abs=0.1)
    assert bones_of(walker)["crl_hand__L"].component.location.x == pytest.approx(before.x, abs=1e-3)
    walker.blend_pose(0.5)
    sync_world.tick()
    assert 0.3 < bones_of(walker)["crl_hand__R"].component.location.x < shown.x
    walker.get_pose_from_animation()
    walker.show_pose()
    sync_world.tick()
    assert bones_of(walker)["crl_hand__R"].component.location.distance(before) < 1e-3


def test_bones_sockets_and_components_of_a_vehicle(sync_world: Any) -> None:
    library, points = sync_world.get_blueprint_library(), sync_world.get_map().get_spawn_points()
    car = sync_world.spawn_actor(library.find("vehicle.tesla.model3"), points[0])
    for _ in range(20):
        sync_world.tick()
    names = list(car.get_bone_names())
    assert names == list(car.get_socket_names())
    wheels = dict(zip(names, car.get_bone_world_transforms(), strict=True))
    front, rear = wheels["Wheel_Front_Left"].location, wheels["Wheel_Rear_Left"].location
    assert front.distance(rear) == pytest.approx(2.875, abs=0.01)
    assert len(car.get_vehicle_bone_world_transforms()) == len(names)
    relative = dict(zip(names, car.get_socket_relative_transforms(), strict=True))
    assert relative["Wheel_Front_Left"].location.y < 0.0 < relative["Wheel_Front_Right"].location.y
    assert len(car.get_socket_world_transforms()) == len(car.get_bone_relative_transforms()) == 5
    root = car.get_component_names()[0]
    assert car.get_component_world_transform(root).location.distance(car.get_location()) < 0.01
    bounds = car.get_component_relative_transform("VehicleBounds")
    assert bounds.location.z == pytest.approx(car.bounding_box.location.z, abs=1e-3)
    with pytest.raises(RuntimeError, match="no component 'Wing'"):
        car.get_component_world_transform("Wing")
    light = sync_world.get_actors().filter("traffic.traffic_light*")[0]
    with pytest.raises(RuntimeError, match="no skeleton"):
        light.get_bone_names()
