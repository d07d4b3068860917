"""What LiDARs tell of vehicles and walkers: the same after each reload, within their boxes, with their ids."""

from __future__ import annotations

import math
from typing import Any

import carla
import numpy as np
import pytest

from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.render import Renderer
from embedded_carla.sensing.drawing import actor_views
from embedded_carla.sensors import lidar
from embedded_carla.simulation import Simulation
from embedded_carla.types import Transform
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world import spawning
from tests.embedded_carla.sensors.ring import HEIGHT_M, SEMANTIC, measure, plain_cloud, semantic_cloud, surround

WALKERS = [f"walker.pedestrian.{number:04d}" for number in range(1, 41)]


def vehicles(world: Any) -> list[str]:
    return sorted(blueprint.id for blueprint in world.get_blueprint_library().filter("vehicle.*"))


def synchronous(world: Any) -> Any:
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
    world.tick()
    return world


def test_a_reloaded_world_gives_the_same_points(client: Any) -> None:
    """Actors' ids differ from load to load; nothing that is drawn may depend on them."""
    clouds = []
    for load in range(2):
        world = synchronous(client.reload_world())
        if load == 1:  # actors of other kinds do not matter either
            world.spawn_actor(world.get_blueprint_library().find("sensor.other.gnss"), carla.Transform())
        surround(world, vehicles(world))
        of_vehicles = plain_cloud(measure(world, "sensor.lidar.ray_cast"))
        client.apply_batch_sync([carla.command.DestroyActor(a) for a in world.get_actors().filter("vehicle.*")], False)
        surround(world, WALKERS, 8.0, 2.5)
        clouds.append((of_vehicles, plain_cloud(measure(world, "sensor.lidar.ray_cast"))))
    assert [len(cloud) > least for cloud, least in zip(clouds[0], (5000, 1000), strict=True)] == [True, True]
    for first, second in zip(*clouds, strict=True):
        assert first.shape == second.shape
        assert np.abs(first - second).max() == 0.0


def furthest_outside_m(actor: Any, world_points: np.ndarray) -> float:
    """How far the points (N, 4) leave the actor's bounding box."""
    box = actor.bounding_box
    local = world_points @ np.linalg.inv(np.array(actor.get_transform().get_matrix())).T
    middle = np.array([box.location.x, box.location.y, box.location.z])
    half = np.array([box.extent.x, box.extent.y, box.extent.z])
    return float(np.maximum(np.abs(local[:, :3] - middle) - half, 0.0).max())


@pytest.mark.parametrize("steer", [0.0, 1.0])
def test_points_lie_within_their_vehicles_boxes(sync_world: Any, steer: float) -> None:
    actors = surround(sync_world, vehicles(sync_world))
    if steer:
        for car in actors:
            car.set_wheel_steer_direction(carla.VehicleWheelLocation.FL_Wheel, 40.0 * steer)
            car.set_wheel_steer_direction(carla.VehicleWheelLocation.FR_Wheel, 40.0 * steer)
    measured = measure(sync_world, "sensor.lidar.ray_cast_semantic")
    cloud = semantic_cloud(measured)
    points = np.c_[cloud["place"].astype(float), np.ones(len(cloud))] @ np.array(measured.transform.get_matrix()).T
    outside = {}
    for actor in actors:
        of_actor = cloud["id"] == actor.id
        assert of_actor.sum() > 20, actor.type_id
        outside[actor.type_id] = furthest_outside_m(actor, points[of_actor])
    assert {name: m for name, m in outside.items() if m > 1e-3} == {}
    assert points[:, 2].min() > HEIGHT_M - 3.0


def test_ids_beyond_15_bits() -> None:
    """Label pictures have 16 bits for scenery and actors together. In one process: ids are used up slowly."""
    simulation = Simulation(MapLoader(MapLibrary(), 0), StreamHub(lambda _: None), 2001, "country_road", 0)
    episode, ids, ring = simulation.episode, simulation._ids.actor, []
    for k, wanted in enumerate((40, 0x7FFF, 0x8000, 0x8000 + 40, 0x10000, 0x10000 + 40, 70_000)):
        if ids._next < wanted:
            ids.claim(wanted - 1)
        description = ActorDescription(1, ("vehicle.audi.tt", "walker.pedestrian.0001")[k % 2], ())
        pose = Transform(12.0 * math.cos(k), 12.0 * math.sin(k), HEIGHT_M)
        ring.append(spawning.spawn(episode, description, pose))
        assert ring[-1].actor_id == wanted
    spec = lidar.LidarSpec(64, 60.0, 64 * 1440 * 20, 20.0, 10.0, -10.0)
    renderer = Renderer(episode.map.scenery)
    body = lidar.LidarScanner(spec, lidar.RAY_CAST_SEMANTIC).body(
        renderer, Transform(z=HEIGHT_M + 1.0), actor_views(episode), {}, 0.0, 0.05
    )
    cloud = np.frombuffer(body, SEMANTIC, offset=8 + 4 * spec.channels)
    assert {actor.actor_id: set(cloud["tag"][cloud["id"] == actor.actor_id].tolist()) for actor in ring} == {
        actor.actor_id: {actor.tag} for actor in ring
    }
    assert set(cloud["id"].tolist()) == {actor.actor_id for actor in ring}
    renderer.close()
    simulation.close()
