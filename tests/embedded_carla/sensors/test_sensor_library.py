"""Every sensor of the library at once, through the real wheel."""

from __future__ import annotations

import queue
from typing import Any

import pytest

carla = pytest.importorskip("carla")

SMALL = {"image_size_x": "96", "image_size_y": "54", "points_per_second": "4000"}
EVERY_TICK = (
    "camera.rgb", "camera.depth", "camera.semantic_segmentation", "camera.instance_segmentation", "camera.normals",
    "camera.cosmos_visualization",
    "camera.optical_flow", "lidar.ray_cast", "lidar.ray_cast_semantic", "other.gnss", "other.imu", "other.radar",
)  # fmt: skip
TICKS = 20


def test_all_sensors_at_once(sync_world: Any) -> None:
    library = sync_world.get_blueprint_library()
    start = sync_world.get_map().get_spawn_points()[0]
    car = sync_world.spawn_actor(library.find("vehicle.tesla.model3"), start)
    ahead = start.location + 12.0 * start.get_forward_vector()
    other = sync_world.spawn_actor(library.find("vehicle.audi.tt"), carla.Transform(ahead, start.rotation))
    heard: dict[str, queue.Queue[Any]] = {}
    sensors = []
    for blueprint in library.filter("sensor.*"):
        for name, value in SMALL.items():
            if blueprint.has_attribute(name):
                blueprint.set_attribute(name, value)
        if blueprint.id == "sensor.other.obstacle":
            blueprint.set_attribute("distance", "30")
        sensor = sync_world.spawn_actor(blueprint, carla.Transform(carla.Location(x=1.6, z=1.7)), attach_to=car)
        heard[blueprint.id] = queue.Queue()
        sensor.listen(heard[blueprint.id].put)
        sensors.append(sensor)
    talker = _radio(sync_world, other, "sensor.other.v2x_custom")
    beacon = _radio(sync_world, other, "sensor.other.v2x", fixed_rate="true")
    forward = start.get_forward_vector()
    car.set_target_velocity(carla.Vector3D(15.0 * forward.x, 15.0 * forward.y, 0.0))
    frames = []
    for k in range(TICKS):
        talker.send(f"tick {k}")
        frames.append(sync_world.tick())
    counts = {}
    for type_id, measured in heard.items():
        if type_id.removeprefix("sensor.") in EVERY_TICK:
            assert [measured.get(timeout=10.0).frame for _ in frames] == frames, type_id
            assert measured.empty()
        counts[type_id] = measured.qsize()
    assert counts["sensor.camera.dvs"] >= TICKS - 2  # the first picture has none before it
    assert counts["sensor.other.obstacle"] > 0
    assert counts["sensor.other.collision"] > 0
    assert counts["sensor.other.v2x"] > 0
    assert counts["sensor.other.v2x_custom"] >= TICKS - 1
    for sensor in (*sensors, talker, beacon):
        sensor.stop()
        sensor.destroy()


def _radio(world: Any, parent: Any, type_id: str, **attributes: str) -> Any:
    blueprint = world.get_blueprint_library().find(type_id)
    for name, value in attributes.items():
        blueprint.set_attribute(name, value)
    return world.spawn_actor(blueprint, carla.Transform(carla.Location(z=1.8)), attach_to=parent)
