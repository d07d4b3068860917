"""Calls about the map's own things through the real wheel: objects, layers, rays, street lamps, debug shapes."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

carla = pytest.importorskip("carla")
ANY, BUILDINGS, ROADS = carla.CityObjectLabel.Any, carla.CityObjectLabel.Buildings, carla.CityObjectLabel.Roads


@pytest.fixture
def whole(sync_world: Any) -> Iterator[Any]:
    """The synchronous world; all objects and layers are there again afterwards."""
    yield sync_world
    sync_world.load_map_layer(carla.MapLayer.All)
    sync_world.enable_environment_objects({o.id for o in sync_world.get_environment_objects(ANY)}, True)
    sync_world.tick()


def labels_seen(world: Any, pose: Any) -> Any:
    """A 160x90 picture of labels from `pose`."""
    blueprint = world.get_blueprint_library().find("sensor.camera.semantic_segmentation")
    blueprint.set_attribute("image_size_x", "160")
    blueprint.set_attribute("image_size_y", "90")
    camera = world.spawn_actor(blueprint, pose)
    images: queue.Queue[Any] = queue.Queue()
    camera.listen(images.put)
    frame = world.tick()
    try:
        while True:
            image = images.get(timeout=10.0)
            if image.frame == frame:
                return np.frombuffer(image.raw_data, np.uint8).reshape(90, 160, 4)[:, :, 2].copy()
    finally:
        camera.destroy()


def facing(building: Any) -> Any:
    """A pose 5 m before the middle of an object's front (+x)."""
    box, transform = building.bounding_box, building.transform
    ahead = transform.get_forward_vector()
    place = box.location + (box.extent.x + 5.0) * ahead
    return carla.Transform(place, carla.Rotation(yaw=transform.rotation.yaw + 180.0))


def test_environment_objects_have_the_boxes_of_what_is_drawn(sync_world: Any) -> None:
    buildings = sync_world.get_environment_objects(BUILDINGS)
    assert all(b.type == BUILDINGS for b in buildings)
    assert all(b.bounding_box.extent.z > 2.0 and b.bounding_box.extent.x > 2.0 for b in buildings)
    assert len({b.name for b in buildings}) == len(buildings)
    everything = sync_world.get_environment_objects(ANY)
    assert len({o.id for o in everything}) == len(everything)
    plants, signals = carla.CityObjectLabel.Vegetation, carla.CityObjectLabel.TrafficLight
    assert {o.type for o in everything} >= {BUILDINGS, ROADS, carla.CityObjectLabel.Sidewalks, plants, signals}
    assert sorted(sync_world.get_names_of_all_objects()) == sorted(o.name for o in everything)


def test_level_boxes_hold_the_map_and_the_actors(sync_world: Any) -> None:
    car_label = carla.CityObjectLabel.Car
    assert not sync_world.get_level_bbs(car_label)
    blueprint = sync_world.get_blueprint_library().find("vehicle.tesla.model3")
    car = sync_world.spawn_actor(blueprint, sync_world.get_map().get_spawn_points()[0])
    for _ in range(10):
        sync_world.tick()
    (box,) = sync_world.get_level_bbs(car_label)
    expected = car.get_transform().transform(car.bounding_box.location)
    assert box.location.distance(expected) < 0.02
    assert box.extent.x == pytest.approx(car.bounding_box.extent.x)
    assert len(sync_world.get_level_bbs(BUILDINGS)) == len(sync_world.get_environment_objects(BUILDINGS))


def test_a_disabled_object_is_neither_seen_nor_hit_nor_in_the_way(whole: Any) -> None:
    building = max(whole.get_environment_objects(BUILDINGS), key=lambda b: b.bounding_box.extent.y)
    pose = facing(building)
    inside = building.bounding_box.location
    hit = whole.project_point(pose.location, pose.get_forward_vector(), 60.0)
    assert hit is not None
    assert hit.label == BUILDINGS
    assert hit.location.distance(pose.location) == pytest.approx(5.0, abs=1.5)
    before = np.count_nonzero(labels_seen(whole, pose) == 3)
    assert before > 1000
    walker = whole.get_blueprint_library().find("walker.pedestrian.0002")
    assert whole.try_spawn_actor(walker, carla.Transform(inside)) is None

    whole.enable_environment_objects({building.id}, False)
    assert np.count_nonzero(labels_seen(whole, pose) == 3) < 0.8 * before
    labels = [p.label for p in whole.cast_ray(pose.location, inside)]
    assert BUILDINGS not in labels
    spawned = whole.try_spawn_actor(walker, carla.Transform(inside))
    assert spawned is not None
    spawned.destroy()
    assert building.id in {b.id for b in whole.get_environment_objects(BUILDINGS)}  # it is still known

    whole.enable_environment_objects({building.id}, True)
    assert np.count_nonzero(labels_seen(whole, pose) == 3) == before


def test_map_layers_come_and_go(whole: Any) -> None:
    building = max(whole.get_environment_objects(BUILDINGS), key=lambda b: b.bounding_box.extent.y)
    pose = facing(building)
    trees = len(whole.get_environment_objects(carla.CityObjectLabel.Vegetation))
    assert trees > 100
    before = np.count_nonzero(labels_seen(whole, pose) == 3)
    whole.unload_map_layer(carla.MapLayer.Buildings)
    whole.unload_map_layer(carla.MapLayer.Foliage)
    assert not whole.get_environment_objects(BUILDINGS)
    assert not whole.get_environment_objects(carla.CityObjectLabel.Vegetation)
    assert whole.get_environment_objects(ROADS)
    seen = labels_seen(whole, pose)
    assert not np.isin(seen, (3, 9)).any()
    whole.load_map_layer(carla.MapLayer.Buildings)
    assert not whole.get_environment_objects(carla.CityObjectLabel.Vegetation)
    whole.load_map_layer(carla.MapLayer.Foliage)
    assert len(whole.get_environment_objects(carla.CityObjectLabel.Vegetation)) == trees
    assert np.count_nonzero(labels_seen(whole, pose) == 3) == before


def test_the_ground_can_be_unloaded_from_the_pictures(whole: Any) -> None:
    start = whole.get_map().get_spawn_points()[0].location
    above = carla.Transform(start + carla.Location(z=60.0), carla.Rotation(pitch=-90.0))
    assert (labels_seen(whole, above) == 10).any()
    whole.unload_map_layer(carla.MapLayer.Ground)
    seen = labels_seen(whole, above)
    assert not (seen == 10).any()
    assert (seen == 1).any()


def test_rays_meet_actors_and_the_ground_in_order(sync_world: Any) -> None:
    blueprint = sync_world.get_blueprint_library().find("vehicle.tesla.model3")
    car = sync_world.spawn_actor(blueprint, sync_world.get_map().get_spawn_points()[0])
    for _ in range(10):
        sync_world.tick()
    place = car.get_location()
    above, below = place + carla.Location(z=20.0), place - carla.Location(z=1.0)
    points = sync_world.cast_ray(above, below)
    assert [p.label for p in points][:2] == [carla.CityObjectLabel.Car, ROADS]
    assert points[0].location.z == pytest.approx(place.z + 2 * car.bounding_box.extent.z, abs=0.1)
    road_z = sync_world.get_map().get_waypoint(place).transform.location.z
    assert points[1].location.z == pytest.approx(road_z, abs=0.05)
    assert sync_world.ground_projection(above, 50.0).label == carla.CityObjectLabel.Car
    car.set_collisions(False)
    assert sync_world.ground_projection(above, 50.0).label == ROADS
    assert sync_world.ground_projection(above, 5.0) is None


def test_a_vehicles_origin_lies_on_the_road(sync_world: Any) -> None:
    """Not on the ground below it, though its wheels may stand some millimetres below the road's triangles."""
    blueprint = sync_world.get_blueprint_library().find("vehicle.tesla.model3")
    points = sync_world.get_map().get_spawn_points()[:60:3]
    cars = [car for car in (sync_world.try_spawn_actor(blueprint, point) for point in points) if car is not None]
    assert len(cars) > 5
    for _ in range(20):
        sync_world.tick()
    for car in cars:
        hit = sync_world.ground_projection(car.get_location(), 5.0)
        assert hit.label == ROADS
        assert hit.location.z == pytest.approx(car.get_location().z, abs=0.02)


def test_street_lamps_are_switched_one_by_one(client: Any, server: Any, sync_world: Any) -> None:
    manager = sync_world.get_lightmanager()
    lamps = manager.get_all_lights(carla.LightGroup.Street)
    assert len(lamps) > 100
    assert not any(lamp.is_on for lamp in lamps)  # it is day
    lamp = lamps[7]
    manager.set_light_state([lamp], carla.LightState(250.0, carla.Color(10, 20, 30), carla.LightGroup.Other, True))
    for _ in range(3):
        sync_world.tick()
    other = carla.Client("127.0.0.1", server.port)
    other.set_timeout(10.0)
    seen = {light.id: light for light in other.get_world().get_lightmanager().get_all_lights()}[lamp.id]
    assert seen.is_on
    assert seen.intensity == pytest.approx(250.0)
    assert (seen.color.r, seen.color.g, seen.color.b) == (10, 20, 30)
    assert seen.light_group == carla.LightGroup.Other
    sky = carla.WeatherParameters(sun_altitude_angle=-20.0)  # not a preset: changing one changes it for every test
    sync_world.set_weather(sky)
    for _ in range(3):
        sync_world.tick()
    assert all(light.is_on for light in manager.get_all_lights())  # told by the snapshot, not asked for
    manager.set_day_night_cycle(False)
    sky.sun_altitude_angle = 40.0
    sync_world.set_weather(sky)
    for _ in range(3):
        sync_world.tick()
    assert all(light.is_on for light in manager.get_all_lights())
    manager.set_day_night_cycle(True)
    manager.turn_off(manager.get_all_lights())
    for _ in range(3):
        sync_world.tick()
    assert not any(light.is_on for light in manager.get_all_lights())
    # The wheel's light manager locks itself up if it is dropped while the snapshots still announce a change.
    for _ in range(10):
        sync_world.tick()
