"""What CarlaWorld measures, spawns and refuses, over a server process and the real wheel."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

import carla
import numpy as np
import pytest

from av_core.errors import ConfigError, WorldError
from av_core.frames import geodetic_to_map, wrap_angle
from av_core.types import CameraModel, ControlCommand, Rig
from av_stack.server_process import ServerProcess, embedded_town, free_port_pair
from av_stack.world.carla.actors import actors_in
from av_stack.world.carla.client import Session
from av_stack.world.carla.sensors import SensorRig
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address, WalkerScript, WorldSpec

START = (423.2, -375.5)
CAMERA = CameraModel("front", 160, 90, float(np.radians(60.0)), 2.1, 0.0, 1.6)
GO = ControlCommand(0.7, 0.0, 0.0)
GNSS_SIGMA_M = 0.56


def spec(**changes: object) -> WorldSpec:
    values: dict[str, object] = {
        "map_name": "city_grid",
        "start": START,
        "route": (START, (423.2, -275.0)),
        "rig": Rig((CAMERA,)),
        "seed": 3,
    }
    return WorldSpec(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="class")
def world(city_server: Address) -> Iterator[CarlaWorld]:
    walker = WalkerScript((420.2, -355.0), (420.2, -325.0), 1.4)
    world = CarlaWorld(city_server, spec(traffic_vehicles=3, walkers=(walker,)))
    yield world
    world.close()


class TestOneWorld:
    """One world for all: the next one on the same server replaces its episode."""

    def test_each_tick_gives_every_sensor_of_that_tick(self, world: CarlaWorld) -> None:
        before = world.tick().stamp
        for number in range(1, 6):
            frame = world.tick()
            assert frame.stamp.frame == before.frame + number
            assert frame.stamp.time_s == pytest.approx(before.time_s + 0.05 * number)
            image = frame.cameras["front"]
            assert image.bgr.shape == (90, 160, 3)
            assert image.bgr.std() > 5.0
            assert frame.stamp == image.stamp == frame.gnss.stamp == frame.imu.stamp == world.truth().stamp

    def test_only_vehicles_of_that_role_are_the_background(self, world: CarlaWorld) -> None:
        world.tick()
        before = world.truth()
        assert len(before.objects) == 4
        assert before.background_ids == frozenset()
        carla_world = world.episode.world
        blueprint = carla_world.get_blueprint_library().find("vehicle.audi.tt")
        blueprint.set_attribute("role_name", "background")
        place = carla_world.get_map().get_waypoint(carla.Location(x=423.2, y=-300.0)).transform
        place.location.z += 0.5
        car = carla_world.spawn_actor(blueprint, place)
        try:
            world.tick()
            assert world.truth().background_ids == {car.id}
        finally:
            car.destroy()

    def test_measurements_agree_with_the_truth(self, world: CarlaWorld) -> None:
        gaps = []
        for _ in range(60):
            frame, truth = world.tick(), world.truth()
            at = geodetic_to_map(frame.gnss.latitude_deg, frame.gnss.longitude_deg, world.lane_graph.geo)
            gaps.append(at - (truth.ego.x_m, truth.ego.y_m))
            assert frame.imu.yaw_rad == pytest.approx(truth.ego.yaw_rad, abs=0.02)
            assert frame.wheel_speed_mps == pytest.approx(truth.ego_speed_mps, abs=1e-6)
        assert np.abs(np.mean(gaps, axis=0)).max() < 4 * GNSS_SIGMA_M / np.sqrt(len(gaps))
        assert np.std(gaps, axis=0) == pytest.approx([GNSS_SIGMA_M] * 2, rel=0.5)

    def test_the_ego_stands_on_the_lane_it_was_put_on(self, world: CarlaWorld) -> None:
        ego = world.truth().ego
        lanes = [lane for lane in world.lane_graph.lanes.values() if not lane.is_junction]
        gaps = [float(np.hypot(*(lane.points[:, :2] - (ego.x_m, ego.y_m)).T).min()) for lane in lanes]
        best = lanes[int(np.argmin(gaps))]
        row = int(np.argmin(np.hypot(*(best.points[:, :2] - (ego.x_m, ego.y_m)).T)))
        assert min(gaps) < 0.6
        assert abs(wrap_angle(best.yaw_rad[row] - ego.yaw_rad)) < 0.1

    def test_truth_holds_the_others_and_the_lights(self, world: CarlaWorld) -> None:
        truth = world.truth()
        kinds = sorted(thing.kind.value for thing in truth.objects)
        assert kinds == ["car", "car", "car", "pedestrian"]
        governing = {signal.signal_id for signal in world.lane_graph.signals if signal.kind.value == "traffic light"}
        assert governing == set(truth.lights)

    def test_the_vehicle_is_a_car(self, world: CarlaWorld) -> None:
        vehicle = world.vehicle
        assert 4.0 < vehicle.length_m < 6.0
        assert 2.5 < vehicle.wheelbase_m < 3.3
        assert 1.0 < vehicle.rear_axle_to_centre_m < 2.0
        assert 0.4 < vehicle.steer_max_rad < 1.3


def test_a_server_without_the_town_is_sent_it(city_server: Address) -> None:
    """The way of a CARLA server, which has none of our towns: the map's text travels, and everything stands on it."""
    xodr = embedded_town("city_grid")
    with closing(CarlaWorld(city_server, spec(map_name="not_there", xodr=xodr, traffic_vehicles=2))) as world:
        for _ in range(20):
            world.apply(GO)
            frame = world.tick()
        truth = world.truth()
        assert frame.cameras["front"].bgr.std() > 5.0
        assert truth.ego_speed_mps > 1.0
        assert len(truth.objects) == 2
        assert truth.lights.keys() == {s.signal_id for s in world.lane_graph.signals if s.kind.value == "traffic light"}


def test_commands_move_it_forward_and_left(city_server: Address) -> None:
    """Positive steering is to the left; the IMU measures it as a positive turn rate."""
    world = CarlaWorld(city_server, spec(rig=Rig(())))
    try:
        world.tick()
        start = world.truth().ego
        for _ in range(40):
            world.apply(GO)
            frame = world.tick()
        ahead = world.truth().ego
        along = np.cos(start.yaw_rad) * (ahead.x_m - start.x_m) + np.sin(start.yaw_rad) * (ahead.y_m - start.y_m)
        assert along > 2.0
        assert frame.imu.accel_mps2[0] > 0.5
        for _ in range(10):
            world.apply(ControlCommand(0.3, 0.0, 0.2))
            frame = world.tick()
        assert wrap_angle(world.truth().ego.yaw_rad - ahead.yaw_rad) > 0.02
        assert frame.imu.gyro_radps[2] > 0.05
    finally:
        world.close()


def test_cars_of_one_model_have_colours_of_their_own(city_server: Address) -> None:
    with closing(CarlaWorld(city_server, spec(rig=Rig(()), traffic_vehicles=25))) as world:
        cars = [(car.type_id, car.attributes.get("color")) for car in actors_in(world.episode.world, "vehicle.*")]
    painted = {car for car in cars if car[1] is not None}
    assert len(painted) > len({model for model, _ in painted})


def test_close_leaves_nothing_behind(city_server: Address) -> None:
    client = carla.Client(city_server.host, city_server.port)
    client.set_timeout(10.0)
    world = CarlaWorld(city_server, spec(traffic_vehicles=4, walkers=(WalkerScript((420.2, -355.0), START, 1.0),)))
    world.tick()
    world.close()
    world.close()
    served = client.get_world()
    assert not served.get_settings().synchronous_mode
    served.wait_for_tick()
    left = [actor.type_id for actor in actors_in(served)]
    assert not [name for name in left if name.startswith(("vehicle.", "walker.", "sensor."))]


def test_what_listens_to_sensors_keeps_no_closed_world(city_server: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the client's lets go of it last, and the client must not end there."""
    listeners, made = [], SensorRig._picture_listener

    def keep(rig: SensorRig, camera: str) -> Callable[[Any], None]:
        listeners.append(made(rig, camera))
        return listeners[-1]

    monkeypatch.setattr(SensorRig, "_picture_listener", keep)
    world = CarlaWorld(city_server, spec())
    shown: list[CarlaWorld] = []
    world.show_pictures(lambda *_, own=world: shown.append(own))
    world.tick()
    assert shown
    shown.clear()
    world.close()
    left = weakref.ref(world)
    del world
    gc.collect()
    assert listeners
    assert left() is None


def test_an_unknown_map_lists_what_there_is(city_server: Address) -> None:
    with pytest.raises(WorldError, match=r"no map Atlantis; it has .*city_grid"):
        CarlaWorld(city_server, spec(map_name="Atlantis"))


def test_an_unknown_blueprint_names_near_ones(city_server: Address) -> None:
    with pytest.raises(ConfigError, match=r"vehicle\.lincoln\.mkz_2021; similar are .*vehicle\.lincoln\.mkz_2020"):
        CarlaWorld(city_server, spec(blueprint="vehicle.lincoln.mkz_2021"))


def test_nobody_answers() -> None:
    started = time.monotonic()
    with pytest.raises(WorldError, match=r"no CARLA server answers at 127\.0\.0\.1:"):
        CarlaWorld(Address("127.0.0.1", free_port_pair()), spec())
    assert time.monotonic() - started < 8.0


OTHER_VERSION = textwrap.dedent(
    """
    import socket, sys, msgpack
    server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    print("ready", flush=True)
    while True:
        unpacker, (peer, _) = msgpack.Unpacker(), server.accept()
        while data := peer.recv(4096):
            unpacker.feed(data)
            for _, number, method, _ in unpacker:
                peer.sendall(msgpack.packb([1, number, None, [[1, "0.9.13"]] if method == "version" else None]))
    """
)


def test_another_version_is_refused_by_name() -> None:
    """A process that answers the wire's first call as CARLA 0.9.13 does."""
    port = free_port_pair()
    with subprocess.Popen([sys.executable, "-c", OTHER_VERSION, str(port)], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            with pytest.raises(WorldError, match=r"is CARLA 0\.9\.13; expected 0\.9\.16"):
                CarlaWorld(Address("127.0.0.1", port), spec())
        finally:
            other.kill()


def test_a_server_that_dies_ends_the_world_soon() -> None:
    """Killed without a word: the next tick says so, and closing does not wait for each actor in turn.

    Without traffic: the wheel's TrafficManager would abort the process of these tests. The command line is tested
    against a killed server with traffic, in a process of its own.
    """
    server = ServerProcess(("--map", "city_grid"))
    with server as address:
        world = CarlaWorld(address, spec(rig=Rig(())))
        world.tick()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        started = time.monotonic()
        with pytest.raises(WorldError, match="went away"):
            world.tick()
        world.close()
        assert time.monotonic() - started < 5.0


def test_other_threads_run_while_listening_to_a_dead_servers_sensor() -> None:
    """The wheel holds Python's lock while it waits, and the watchdog of the server needs it."""
    server = ServerProcess(("--map", "city_grid"))
    looks_s: list[float] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            looks_s.append(time.monotonic())

    with server as address:
        session = Session(address)
        world = session.client.get_world()
        gnss = world.get_blueprint_library().find("sensor.other.gnss")
        sensor = cast("carla.Sensor", world.spawn_actor(gnss, carla.Transform()))
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            with pytest.raises(RuntimeError, match="time-out"):
                session.listen(sensor, looks_s.append, timeout_s=4.0)
        finally:
            ended.set()
            watcher.join()
    assert len(looks_s) > 20
    assert np.diff(looks_s).max() < 2.0
