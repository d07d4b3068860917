"""The world as the real wheel sees it: maps, settings, time, weather, questions."""

from __future__ import annotations

import re
from typing import Any

import pytest

carla = pytest.importorskip("carla")


def test_a_client_finds_version_maps_and_world(client: Any) -> None:
    assert client.get_server_version() == "0.9.16"
    assert "/Game/Carla/Maps/city_grid" in client.get_available_maps()
    world = client.get_world()
    town = world.get_map()
    assert town.name == "Carla/Maps/city_grid"
    assert len(town.get_spawn_points()) >= 50
    assert carla.Map("again", town.to_opendrive()).get_topology()


def test_the_blueprint_library_has_what_scripts_index(client: Any) -> None:
    library = client.get_world().get_blueprint_library()
    vehicles, walkers = library.filter("vehicle.*"), library.filter("walker.pedestrian.*")
    assert len(vehicles) >= 20
    assert len(walkers) >= 10
    bases = {v.get_attribute("base_type").as_str() for v in vehicles}
    assert bases >= {"car", "van", "truck", "bus", "motorcycle", "bicycle"}
    for vehicle in vehicles:
        assert vehicle.get_attribute("color").recommended_values
        assert vehicle.get_attribute("driver_id").recommended_values
        assert int(vehicle.get_attribute("number_of_wheels")) in (2, 4, 6)
        assert vehicle.has_attribute("role_name")
        assert vehicle.get_attribute("generation").as_int() in (1, 2)
    assert {int(w.get_attribute("generation")) for w in walkers} == {1, 2}
    assert all(len(w.get_attribute("speed").recommended_values) == 3 for w in walkers)
    assert library.find("static.trigger.friction")
    assert library.find("controller.ai.walker")
    rgb = library.find("sensor.camera.rgb")
    assert rgb.get_attribute("chromatic_aberration_intensity").recommended_values
    assert library.find("sensor.lidar.ray_cast").get_attribute("dropoff_general_rate").recommended_values
    assert library.find("sensor.other.v2x").get_attribute("path_loss_model").recommended_values
    assert len(library.filter("static.prop.*")) > 20


def test_synchronous_ticks_count_and_keep_the_fixed_delta(sync_world: Any) -> None:
    first = sync_world.tick()
    assert [sync_world.tick() for _ in range(5)] == [first + 1 + i for i in range(5)]
    snapshot = sync_world.get_snapshot()
    assert snapshot.frame == first + 5
    assert snapshot.timestamp.delta_seconds == pytest.approx(0.05, abs=1e-7)
    before = snapshot.timestamp.elapsed_seconds
    sync_world.tick()
    assert sync_world.get_snapshot().timestamp.elapsed_seconds == pytest.approx(before + 0.05, abs=1e-6)


def test_nothing_moves_in_a_synchronous_world_without_a_tick(sync_world: Any) -> None:
    with pytest.raises(RuntimeError, match="time-out"):
        sync_world.wait_for_tick(0.4)


def test_an_asynchronous_world_runs_by_itself(client: Any) -> None:
    world = client.get_world()
    first = world.wait_for_tick(2.0)
    second = world.wait_for_tick(2.0)
    assert second.frame > first.frame
    assert 0.0 < second.timestamp.delta_seconds <= 0.2


def test_settings_come_back(client: Any) -> None:
    world = client.get_world()
    settings = world.get_settings()
    settings.max_substeps, settings.no_rendering_mode = 7, True
    world.apply_settings(settings)
    assert world.get_settings().max_substeps == 7
    assert world.get_settings().no_rendering_mode
    settings.no_rendering_mode = False
    world.apply_settings(settings)


def test_weather_comes_back(client: Any) -> None:
    world = client.get_world()
    world.set_weather(carla.WeatherParameters.HardRainSunset)
    assert world.get_weather() == carla.WeatherParameters.HardRainSunset


def test_rays_and_projections_meet_the_ground(client: Any) -> None:
    world = client.get_world()
    start = world.get_map().get_spawn_points()[0].location
    above = carla.Location(start.x, start.y, start.z + 20.0)
    hit = world.ground_projection(above, 100.0)
    assert hit is not None
    assert hit.location.z == pytest.approx(world.get_map().get_waypoint(start).transform.location.z, abs=0.1)
    assert hit.label == carla.CityObjectLabel.Roads
    assert world.cast_ray(above, carla.Location(start.x, start.y, start.z - 5.0))
    assert world.project_point(above, carla.Vector3D(0.0, 0.0, 1.0), 50.0) is None


def test_environment_objects_have_boxes_and_stable_ids(client: Any) -> None:
    world = client.get_world()
    buildings = world.get_environment_objects(carla.CityObjectLabel.Buildings)
    assert buildings
    assert [b.id for b in buildings] == [b.id for b in world.get_environment_objects(carla.CityObjectLabel.Buildings)]
    assert len(world.get_level_bbs(carla.CityObjectLabel.Buildings)) == len(buildings)


def test_traffic_lights_switch_freeze_and_reset(sync_world: Any) -> None:
    lights = sync_world.get_actors().filter("traffic.traffic_light*")
    assert len(lights) > 10
    light = lights[0]
    group = light.get_group_traffic_lights()
    assert light.id in [other.id for other in group]
    light.set_green_time(1.0)
    light.set_state(carla.TrafficLightState.Yellow)
    light.freeze(True)
    for _ in range(3):
        sync_world.tick()
    assert light.state == carla.TrafficLightState.Yellow
    assert light.is_frozen()
    assert light.get_green_time() == pytest.approx(1.0)
    light.freeze(False)
    sync_world.reset_all_traffic_lights()
    seen = set()
    for _ in range(900):
        sync_world.tick()
        seen.add(light.state)
        greens = [other for other in group if other.state == carla.TrafficLightState.Green]
        assert len({g.get_pole_index() for g in greens}) <= 1
    assert seen == {carla.TrafficLightState.Green, carla.TrafficLightState.Yellow, carla.TrafficLightState.Red}
    light.set_green_time(10.0)


def test_lights_belong_to_the_maps_landmarks(client: Any) -> None:
    world = client.get_world()
    lights = world.get_actors().filter("traffic.traffic_light*")
    found = [world.get_traffic_light_from_opendrive_id(light.get_opendrive_id()) for light in lights]
    assert [f.id for f in found] == [light.id for light in lights]
    approached = [w for light in lights for w in light.get_affected_lane_waypoints()]
    assert approached


def test_debug_shapes_are_accepted(client: Any) -> None:
    world = client.get_world()
    world.debug.draw_point(carla.Location(), life_time=0.1)
    world.debug.draw_box(carla.BoundingBox(carla.Location(), carla.Vector3D(1, 1, 1)), carla.Rotation(), life_time=0.1)
    world.debug.draw_string(carla.Location(), "here")
    assert world.get_settings()


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda c: c.load_world("Town99"), "Town99"),
        (lambda c: c.generate_opendrive_world("<OpenDRIVE><road"), "OpenDriveMap"),
    ],
)
def test_what_cannot_be_done_says_so(client: Any, call: Any, what: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(what)):
        call(client)
    assert client.get_world().get_map().name == "Carla/Maps/city_grid"


def test_ai_walkers_exist_and_their_controller_answers(sync_world: Any) -> None:
    library = sync_world.get_blueprint_library()
    assert sync_world.get_random_location_from_navigation() is not None
    place = sync_world.get_map().get_spawn_points()[3]
    walker = sync_world.spawn_actor(library.filter("walker.pedestrian.*")[0], place)
    controller = sync_world.spawn_actor(library.find("controller.ai.walker"), carla.Transform(), attach_to=walker)
    sync_world.tick()
    controller.start()
    controller.stop()
    sync_world.tick()
    assert walker.is_alive
