"""Open doors through the real wheel: every camera and the LiDAR see them, a second client closes them."""

from __future__ import annotations

import math
from typing import Any

import carla
import numpy as np

from embedded_carla.render.shapes.vehicles.door_frames import FRONT_LEFT, door_frames
from embedded_carla.world.vehicles.doors import OPEN_RAD
from tests.embedded_carla.conftest import ServerProcess
from tests.embedded_carla.sensors.ring import measure, semantic_cloud
from tests.embedded_carla.sensors.sensor_rig import HEIGHT, SIZE, WIDTH, Mounted, Rig, ahead, bgra, matrix, pixels

CAR = "vehicle.lincoln.mkz_2020"
CAMERAS = {kind: f"sensor.camera.{kind}" for kind in ("rgb", "depth", "semantic_segmentation", "instance_segmentation")}
FRAME = door_frames("sedan", CAR)[FRONT_LEFT]
CAR_TAG = 14


def door_in_car(share: float, up_m: float) -> np.ndarray:
    """A point (4,) of the open front left door in the car's frame, `share` of the way from the hinge to its edge."""
    (x, y), reach = FRAME.hinge, share * FRAME.length_m
    return np.array([x - reach * math.cos(OPEN_RAD), y - reach * math.sin(OPEN_RAD), up_m, 1.0])


def pictures(world: Any, cameras: dict[str, Mounted]) -> dict[str, np.ndarray]:
    world.tick()
    return {kind: bgra(camera.next()) for kind, camera in cameras.items()}


def depths(picture: np.ndarray) -> np.ndarray:
    """(H, W) m of a depth camera's picture, as CARLA documents it."""
    return np.asarray(picture[..., 2::-1].astype(float) @ (1.0, 256.0, 65536.0) / (2**24 - 1) * 1000.0)


def test_the_cameras_see_an_open_door(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    car = rig.spawn(CAR, ahead(start, 8.0, up_m=0.05))
    for _ in range(30):
        rig.world.tick()  # it drops onto the road
    eye = ahead(start, 0.0, up_m=1.5)
    cameras = {kind: rig.mount(type_id, eye, **SIZE) for kind, type_id in CAMERAS.items()}
    closed = pictures(rig.world, cameras)
    box = car.bounding_box
    car.open_door(carla.VehicleDoor.FL)
    half_open = pictures(rig.world, cameras)
    for _ in range(4):
        opened = pictures(rig.world, cameras)
    assert (car.bounding_box.location, car.bounding_box.extent) == (box.location, box.extent)  # as in CARLA

    seen = np.linalg.inv(matrix(eye)) @ matrix(car.get_transform()) @ door_in_car(0.6, 0.75)
    column, row = np.floor(pixels(seen, WIDTH, HEIGHT)).astype(int).tolist()
    assert abs(depths(opened["depth"])[row, column] - seen[0]) < 0.2
    assert depths(closed["depth"])[row, column] > seen[0] + 1.0
    assert opened["semantic_segmentation"][row, column, 2] == CAR_TAG
    assert closed["semantic_segmentation"][row, column, 2] != CAR_TAG
    labels = opened["instance_segmentation"]
    body = np.floor(pixels(np.array([8.0, 0.0, -0.7, 1.0]), WIDTH, HEIGHT)).astype(int)
    assert labels[row, column].tolist() == labels[body[1], body[0]].tolist()
    assert (opened["rgb"][row, column] != closed["rgb"][row, column]).any()
    new = (opened["semantic_segmentation"] != closed["semantic_segmentation"]).any(axis=2)
    assert 0 < np.flatnonzero(new.any(axis=0)).max() < WIDTH / 2  # to the left of the car's side only
    assert (half_open["depth"] != opened["depth"]).any()  # it opens over several ticks

    car.close_door(carla.VehicleDoor.FL)
    again = pictures(rig.world, cameras)
    assert [kind for kind in CAMERAS if kind != "depth" and (again[kind] != closed[kind]).any()] == []
    assert np.abs(depths(again["depth"]) - depths(closed["depth"])).max() < 1e-2  # its springs may still settle


def test_the_lidar_hits_an_open_door(client: Any, server: ServerProcess, sync_world: Any) -> None:
    second = carla.Client("127.0.0.1", server.port)
    library, place = sync_world.get_blueprint_library(), carla.Transform(carla.Location(8.0, 3.0, 300.0))
    car = sync_world.spawn_actor(library.find(CAR), place)
    car.set_simulate_physics(False)
    counts: list[int] = []
    for world in (sync_world, second.get_world(), client.get_world()):
        actor: Any = world.get_actor(car.id)
        (actor.close_door if len(counts) == 1 else actor.open_door)(carla.VehicleDoor.All)
        for _ in range(5):
            sync_world.tick()
        scan = measure(sync_world, "sensor.lidar.ray_cast_semantic")
        cloud = semantic_cloud(scan)
        own = cloud[cloud["id"] == car.id]
        points = np.c_[own["place"].astype(float), np.ones(len(own))] @ matrix(scan.transform).T
        local = points @ np.linalg.inv(matrix(car.get_transform())).T
        beyond = np.abs(local[:, 1]) - car.bounding_box.extent.y
        counts.append(int((beyond > 0.05).sum()))
        assert set(own["tag"].tolist()) == {CAR_TAG}
        reach = abs(FRAME.hinge[1]) + FRAME.length_m * math.sin(OPEN_RAD) + 0.05 - car.bounding_box.extent.y
        assert beyond.max() < (reach if counts[-1] else 1e-3)
    assert min(counts[0], counts[2]) > 50
    assert counts[1] == 0
    car.destroy()


def test_both_cars_of_a_hit_door_report_it(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    parked = rig.spawn(CAR, ahead(start, 15.0, up_m=0.05))
    felt: dict[int, list[Any]] = {}
    for is_open in (False, True):
        ego = rig.spawn("vehicle.tesla.model3", ahead(start, 0.0, -2.6, 0.05))
        (parked.open_door if is_open else parked.close_door)(carla.VehicleDoor.FL)
        sensors = [rig.mount("sensor.other.collision", carla.Transform(), car) for car in (ego, parked)]
        ego.enable_constant_velocity(carla.Vector3D(8.0, 0.0, 0.0))
        for _ in range(70):
            rig.world.tick()
        passed_m = ego.get_location().distance(start.location)
        events = [[s.measured.get_nowait() for _ in range(s.measured.qsize())] for s in sensors]
        felt = {car.id: [e.other_actor.id for e in some] for car, some in zip((ego, parked), events, strict=True)}
        if is_open:
            assert felt[ego.id][0] == parked.id
            assert felt[parked.id][0] == ego.id
            assert events[0][0].normal_impulse.length() > 100.0
        else:
            assert felt == {ego.id: [], parked.id: []}
            assert passed_m > 25.0
        ego.set_location(start.location + carla.Location(0.0, 0.0, 50.0))
        ego.set_simulate_physics(False)
