"""Sensors through the real wheel: when they measure and that what comes is of that tick."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

carla = pytest.importorskip("carla")


_mounted: list[Any] = []  # a sensor that is no longer referred to stops listening


def mount(world: Any, type_id: str, parent: Any, **attributes: str) -> tuple[Any, queue.Queue[Any]]:
    blueprint = world.get_blueprint_library().find(type_id)
    for name, value in attributes.items():
        blueprint.set_attribute(name, value)
    sensor = world.spawn_actor(blueprint, carla.Transform(carla.Location(x=1.6, z=1.7)), attach_to=parent)
    measured: queue.Queue[Any] = queue.Queue()
    sensor.listen(measured.put)
    _mounted.append(sensor)
    return sensor, measured


@pytest.fixture
def car(sync_world: Any) -> Iterator[Any]:
    blueprint = sync_world.get_blueprint_library().find("vehicle.tesla.model3")
    spawned = sync_world.spawn_actor(blueprint, sync_world.get_map().get_spawn_points()[0])
    for _ in range(10):
        sync_world.tick()
    yield spawned
    for sensor in _mounted:
        sensor.stop()
    _mounted.clear()


def test_every_tick_gives_one_measurement_of_that_frame(sync_world: Any, car: Any) -> None:
    _, fixes = mount(sync_world, "sensor.other.gnss", car)
    _, samples = mount(sync_world, "sensor.other.imu", car)
    for _ in range(20):
        frame = sync_world.tick()
        fix, sample = fixes.get(timeout=5.0), samples.get(timeout=5.0)
        assert (fix.frame, sample.frame) == (frame, frame)
    assert sample.accelerometer.z == pytest.approx(9.81, abs=0.2)
    where = sync_world.get_map().transform_to_geolocation(fix.transform.location)
    assert fix.latitude == pytest.approx(where.latitude, abs=1e-7)
    assert fix.longitude == pytest.approx(where.longitude, abs=1e-7)


def test_noise_is_drawn_anew_each_time_and_as_set(sync_world: Any, car: Any) -> None:
    _, fixes = mount(sync_world, "sensor.other.gnss", car, noise_lat_stddev="0.001", noise_seed="4")
    latitudes = []
    for _ in range(30):
        sync_world.tick()
        latitudes.append(fixes.get(timeout=5.0).latitude)
    assert len(set(latitudes)) == 30
    assert 0.0004 < (sum((x - sum(latitudes) / 30) ** 2 for x in latitudes) / 30) ** 0.5 < 0.0018


def test_sensor_tick_throttles(sync_world: Any, car: Any) -> None:
    _, fixes = mount(sync_world, "sensor.other.gnss", car, sensor_tick="0.2")
    frames = [sync_world.tick() for _ in range(40)]
    times = []
    while True:
        try:
            times.append(fixes.get(timeout=0.5).frame)
        except queue.Empty:
            break
    assert 9 <= len(times) <= 11
    assert set(np.diff(times).tolist()) == {4}
    assert frames[-1] - times[-1] < 4


def test_a_crash_is_felt_by_both_with_an_impulse(sync_world: Any, car: Any) -> None:
    pose = car.get_transform()
    pose.location += 12.0 * pose.get_forward_vector()
    pose.location.z += 0.2
    other = sync_world.spawn_actor(sync_world.get_blueprint_library().find("vehicle.audi.tt"), pose)
    _, own = mount(sync_world, "sensor.other.collision", car)
    _, others = mount(sync_world, "sensor.other.collision", other)
    for _ in range(5):
        sync_world.tick()
    assert own.empty()
    forward = pose.get_forward_vector()
    car.set_target_velocity(carla.Vector3D(10 * forward.x, 10 * forward.y, 0.0))
    for _ in range(40):
        sync_world.tick()
    hit, felt = own.get(timeout=5.0), others.get(timeout=5.0)
    assert hit.other_actor.id == other.id
    assert felt.other_actor.id == car.id
    assert hit.normal_impulse.length() > 1000.0
    assert hit.normal_impulse.dot(forward) < 0.0


def test_a_crash_into_a_building_names_it(sync_world: Any, car: Any) -> None:
    building = sync_world.get_environment_objects(carla.CityObjectLabel.Buildings)[0].bounding_box
    yaw = building.rotation.yaw
    ahead = carla.Rotation(yaw=yaw).get_forward_vector()
    base = building.location.z - building.extent.z
    start = building.location - (building.extent.x + 4.0) * ahead
    start.z = base + 0.1
    car.set_simulate_physics(True)
    car.set_enable_gravity(False)
    car.set_transform(carla.Transform(start, carla.Rotation(yaw=yaw)))
    _, hits = mount(sync_world, "sensor.other.collision", car)
    sync_world.tick()
    car.set_target_velocity(carla.Vector3D(12 * ahead.x, 12 * ahead.y, 0.0))
    for _ in range(20):
        sync_world.tick()
    assert hits.get(timeout=5.0).other_actor.type_id == "static.building"


def test_an_obstacle_ahead_is_reported_with_its_distance(sync_world: Any, car: Any) -> None:
    pose = car.get_transform()
    pose.location += 15.0 * pose.get_forward_vector()
    pose.location.z += 0.2
    other = sync_world.spawn_actor(sync_world.get_blueprint_library().find("vehicle.audi.tt"), pose)
    _, seen = mount(sync_world, "sensor.other.obstacle", car, distance="30", hit_radius="0.2", only_dynamics="true")
    sync_world.tick()
    event = seen.get(timeout=5.0)
    assert event.other_actor.id == other.id
    assert event.distance == pytest.approx(15.0 - 1.6 - 2.09, abs=0.6)


def test_lane_invasion_is_computed_by_the_client(sync_world: Any, car: Any) -> None:
    _, crossed = mount(sync_world, "sensor.other.lane_invasion", car)
    waypoint = sync_world.get_map().get_waypoint(car.get_location())
    right = waypoint.transform.get_right_vector()
    sync_world.tick()
    for _ in range(25):
        pose = car.get_transform()
        pose.location -= 0.2 * right
        car.set_transform(pose)
        sync_world.tick()
    assert crossed.get(timeout=5.0).crossed_lane_markings


def test_a_camera_nobody_listens_to_costs_nothing_and_one_that_is_listened_to_delivers(
    sync_world: Any, car: Any
) -> None:
    blueprint = sync_world.get_blueprint_library().find("sensor.camera.rgb")
    blueprint.set_attribute("image_size_x", "64")
    blueprint.set_attribute("image_size_y", "36")
    sync_world.spawn_actor(blueprint, carla.Transform(carla.Location(z=2.0)), attach_to=car)
    _, images = mount(sync_world, "sensor.camera.depth", car, image_size_x="64", image_size_y="36")
    frame = sync_world.tick()
    try:
        image = images.get(timeout=30.0)
    except queue.Empty:
        pytest.skip("this machine has no EGL to draw with")
    assert (image.frame, image.width, image.height, image.fov) == (frame, 64, 36, 90.0)
    assert len(set(bytes(image.raw_data))) > 10


@pytest.mark.parametrize(
    ("type_id", "name", "value"),
    [("sensor.camera.rgb", "image_size_x", "0"), ("sensor.camera.depth", "fov", "180"),
     ("sensor.lidar.ray_cast", "upper_fov", "95"), ("sensor.other.radar", "horizontal_fov", "200")],
)  # fmt: skip
def test_a_sensor_that_cannot_measure_as_asked_says_so(
    sync_world: Any, car: Any, type_id: str, name: str, value: str
) -> None:
    blueprint = sync_world.get_blueprint_library().find(type_id)
    blueprint.set_attribute(name, value)
    with pytest.raises(RuntimeError, match=name):
        sync_world.spawn_actor(blueprint, carla.Transform(), attach_to=car)


def test_two_listeners_of_two_clients_get_the_same(server: Any, sync_world: Any, car: Any) -> None:
    sensor, fixes = mount(sync_world, "sensor.other.gnss", car)
    second = carla.Client("127.0.0.1", server.port)
    second.set_timeout(10.0)
    others: queue.Queue[Any] = queue.Queue()
    sync_world.tick()
    same = second.get_world().get_actor(sensor.id)
    fixes.get(timeout=5.0)
    same.listen(others.put)
    frame = sync_world.tick()
    assert fixes.get(timeout=5.0).frame == frame
    assert others.get(timeout=5.0).frame == frame
    same.stop()
