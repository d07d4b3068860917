"""Programs as strangers write them: a learner's environment, a data collector, a game loop, a second client."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

carla = pytest.importorskip("carla")

STRAIGHT = """<?xml version="1.0" standalone="yes"?>
<OpenDRIVE><header revMajor="1" revMinor="4" name="lane" version="1" date="" north="0" south="0" east="0" west="0"/>
<road name="r" length="300" id="1" junction="-1"><link/><planView>
<geometry s="0" x="0" y="0" hdg="0" length="300"><line/></geometry></planView>
<elevationProfile><elevation s="0" a="0" b="0.02" c="0" d="0"/></elevationProfile><lateralProfile/>
<lanes><laneSection s="0"><center><lane id="0" type="none" level="false"><roadMark sOffset="0" type="broken"
 weight="standard" color="standard" width="0.12"/></lane></center><right><lane id="-1" type="driving" level="false">
<width sOffset="0" a="3.5" b="0" c="0" d="0"/><roadMark sOffset="0" type="solid" weight="standard" color="standard"
 width="0.12"/></lane></right></laneSection></lanes></road></OpenDRIVE>"""


class DrivingEnv:
    """A gym-like environment: pictures in, pedals out, an episode ends with a collision."""

    def __init__(self, client: Any) -> None:
        self._world = client.get_world()
        self._library = self._world.get_blueprint_library()
        self._spawn_points = self._world.get_map().get_spawn_points()
        self._actors: list[Any] = []

    def reset(self, seed: int) -> Any:
        self.close()
        rng = np.random.default_rng(seed)
        place = self._spawn_points[rng.integers(len(self._spawn_points))]
        self._car = self._spawn("vehicle.tesla.model3", place)
        self._pictures: queue.Queue[Any] = queue.Queue()
        self._hits: queue.Queue[Any] = queue.Queue()
        eye = carla.Transform(carla.Location(x=1.5, z=2.0))
        camera = self._spawn("sensor.camera.rgb", eye, image_size_x="84", image_size_y="84")
        camera.listen(self._pictures.put)
        self._spawn("sensor.other.collision", carla.Transform()).listen(self._hits.put)
        return self._observation(self._world.tick())

    def step(self, throttle: float, steer: float) -> tuple[Any, float, bool]:
        self._car.apply_control(carla.VehicleControl(throttle=throttle, steer=steer))
        frame = self._world.tick()
        return self._observation(frame), self._car.get_velocity().length(), not self._hits.empty()

    def close(self) -> None:
        for actor in reversed(self._actors):
            assert actor.destroy()
        self._actors = []

    def _spawn(self, type_id: str, place: Any, **attributes: str) -> Any:
        blueprint = self._library.find(type_id)
        for name, value in attributes.items():
            blueprint.set_attribute(name, value)
        parent = self._car if type_id.startswith("sensor") else None
        actor = self._world.spawn_actor(blueprint, place, attach_to=parent)
        self._actors.append(actor)
        return actor

    def _observation(self, frame: int) -> Any:
        picture = self._pictures.get(timeout=30.0)
        assert picture.frame == frame
        return np.frombuffer(picture.raw_data, dtype=np.uint8).reshape(84, 84, 4)[:, :, 2::-1]


@pytest.fixture
def env(client: Any, sync_world: Any) -> Iterator[DrivingEnv]:
    environment = DrivingEnv(client)
    yield environment
    environment.close()


def test_a_learners_environment_resets_steps_and_ends(env: DrivingEnv) -> None:
    for seed in (1, 2, 1):
        first = env.reset(seed)
        assert first.std() > 5.0
        speeds = [env.step(0.8, 0.0)[1] for _ in range(40)]
        assert speeds[-1] > speeds[10] > 0.1
    done = False
    for _ in range(400):  # flat out with the wheel turned: something is hit before long
        _, _, done = env.step(1.0, 0.35)
        if done:
            break
    assert done


def test_six_sensors_give_one_set_a_tick_beside_traffic(client: Any, sync_world: Any) -> None:
    world, library = sync_world, sync_world.get_blueprint_library()
    cars = library.filter("vehicle.*")
    batch = [
        carla.command.SpawnActor(cars[i % len(cars)], place)
        for i, place in enumerate(world.get_map().get_spawn_points()[:12])
    ]
    answers = client.apply_batch_sync(batch, True)
    assert all(answer.error == "" for answer in answers)
    ego = world.get_actor(answers[0].actor_id)
    queues: dict[str, queue.Queue[Any]] = {}
    sensors = []  # a sensor that Python forgets stops listening
    for kind in ("camera.rgb", "camera.depth", "camera.semantic_segmentation", "lidar.ray_cast", "other.imu",
                 "other.gnss"):  # fmt: skip
        blueprint = library.find(f"sensor.{kind}")
        if kind.startswith("camera"):
            blueprint.set_attribute("image_size_x", "160")
            blueprint.set_attribute("image_size_y", "90")
        place = carla.Transform(carla.Location(z=2.5))
        queues[kind] = queue.Queue()
        sensors.append(world.spawn_actor(blueprint, place, attach_to=ego))
        sensors[-1].listen(queues[kind].put)
    for _ in range(15):
        frame = world.tick()
        got = {kind: data.get(timeout=30.0) for kind, data in queues.items()}
        assert {data.frame for data in got.values()} == {frame}
        assert all(data.empty() for data in queues.values())


def test_a_game_loop_in_real_time_drives(client: Any) -> None:
    world = client.get_world()
    car = world.spawn_actor(
        world.get_blueprint_library().find("vehicle.audi.tt"), world.get_map().get_spawn_points()[4]
    )
    # Snapshots from before the spawn may still be on their way.
    assert any(world.wait_for_tick().find(car.id) is not None for _ in range(5))
    frames = set()
    start = None
    end_s = time.monotonic() + 3.0
    while time.monotonic() < end_s:
        snapshot = world.wait_for_tick()
        start = start or snapshot.timestamp.elapsed_seconds
        frames.add(snapshot.frame)
        car.apply_control(carla.VehicleControl(throttle=0.7))
        assert snapshot.find(car.id) is not None
    elapsed_s = snapshot.timestamp.elapsed_seconds - start
    assert len(frames) > 10
    assert 1.5 < elapsed_s < 3.5  # the simulated clock keeps to the real one, or behind it on a slow machine
    assert car.get_velocity().length() > 1.0


def test_one_queue_takes_a_whole_rig_frame_by_frame(sync_world: Any) -> None:
    world, library = sync_world, sync_world.get_blueprint_library()
    ego = world.spawn_actor(library.find("vehicle.lincoln.mkz_2020"), world.get_map().get_spawn_points()[0])
    ego.apply_control(carla.VehicleControl(throttle=0.6))
    arrived: queue.Queue[Any] = queue.Queue()
    sensors = []

    def mount(name: str, type_id: str, place: Any, **attributes: str) -> None:
        blueprint = library.find(type_id)
        for attribute, value in attributes.items():
            blueprint.set_attribute(attribute, value)
        sensors.append(world.spawn_actor(blueprint, place, attach_to=ego))
        sensors[-1].listen(lambda data: arrived.put((name, data)))

    for yaw_deg in (0, 90, 180, 270):
        eye = carla.Transform(carla.Location(z=2.2), carla.Rotation(yaw=yaw_deg))
        mount(f"camera {yaw_deg}", "sensor.camera.rgb", eye, image_size_x="200", image_size_y="150", fov="100")
    roof, bumper = carla.Transform(carla.Location(z=2.5)), carla.Transform(carla.Location(x=2.4, z=1.0))
    mount("lidar", "sensor.lidar.ray_cast", roof, points_per_second="100000", rotation_frequency="20", range="50")
    mount("labels", "sensor.lidar.ray_cast_semantic", roof, points_per_second="100000", rotation_frequency="20")
    mount("radar", "sensor.other.radar", bumper)
    for _ in range(8):
        frame = world.tick()
        got = dict(arrived.get(timeout=30.0) for _ in sensors)
        assert len(got) == len(sensors)
        assert {data.frame for data in got.values()} == {frame}
        here = ego.get_transform()
        for name, data in got.items():
            there = carla.Location(x=2.4, z=1.0) if name == "radar" else carla.Location(z=2.5)
            assert data.transform.location.distance(here.transform(there)) < 0.35, name
    points = np.frombuffer(got["lidar"].raw_data, dtype=np.float32).reshape(-1, 4)
    near = points[np.hypot(points[:, 0], points[:, 1]) < 8.0]
    assert near[:, 2].min() == pytest.approx(-2.5, abs=0.15)  # the road below the roof
    for sensor in sensors:
        sensor.stop()


def test_what_is_listened_to_before_the_world_is_stopped_has_something_to_show(client: Any) -> None:
    """As environments reset: all is spawned in a free-running world, which then stands still, and the first look."""
    world, library = client.get_world(), client.get_world().get_blueprint_library()
    car = world.spawn_actor(library.find("vehicle.lincoln.mkz_2017"), world.get_map().get_spawn_points()[7])
    seen: list[Any] = []
    lidar = world.spawn_actor(library.find("sensor.lidar.ray_cast"), carla.Transform(carla.Location(z=2.1)), car)
    lidar.listen(seen.append)
    camera = world.spawn_actor(library.find("sensor.camera.rgb"), carla.Transform(carla.Location(z=1.7)), car)
    camera.listen(lambda _: None)
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, None
    world.apply_settings(settings)
    end_s = time.monotonic() + 10.0
    while not seen and time.monotonic() < end_s:
        time.sleep(0.01)
    assert seen
    lidar.stop()
    camera.stop()


def test_callbacks_hear_every_tick_until_they_are_removed(client: Any) -> None:
    world = client.get_world()
    car = world.spawn_actor(world.get_blueprint_library().find("vehicle.mini.cooper_s"),
                            world.get_map().get_spawn_points()[3])  # fmt: skip
    heard: dict[str, list[int]] = {"first": [], "second": []}

    def drive(snapshot: Any) -> None:
        heard["first"].append(snapshot.frame)
        car.apply_control(carla.VehicleControl(throttle=0.5))

    first = world.on_tick(drive)
    second = world.on_tick(lambda snapshot: heard["second"].append(snapshot.frame))
    time.sleep(1.0)
    world.remove_on_tick(second)
    until = len(heard["second"])
    time.sleep(1.0)
    world.remove_on_tick(first)
    frames = list(heard["first"])
    assert until > 5
    assert len(heard["second"]) <= until + 1  # one may have been on its way
    assert len(frames) > until
    assert frames == sorted(set(frames))
    assert car.get_velocity().length() > 0.5


def test_a_planner_of_waypoints_keeps_to_its_lanes(sync_world: Any) -> None:
    """What agents do: ask the map for the way ahead, steer towards it, stop for nobody."""
    world, roads = sync_world, sync_world.get_map()
    car = world.spawn_actor(world.get_blueprint_library().find("vehicle.tesla.model3"), roads.get_spawn_points()[10])
    world.tick()
    way = [roads.get_waypoint(car.get_location())]
    aside_m, driven_m, before = [], 0.0, car.get_location()
    for _ in range(400):
        here = car.get_transform()
        while way[0].transform.location.distance(here.location) < 6.0:
            way.insert(0, way[0].next(2.0)[0])
        along = here.inverse_transform(way[0].transform.location)
        steer = float(np.arctan2(2.0 * 2.9 * along.y, along.x**2 + along.y**2)) / np.radians(70.0)
        throttle = 0.6 if car.get_velocity().length() < 7.0 else 0.0
        car.apply_control(carla.VehicleControl(throttle=throttle, steer=float(np.clip(steer, -1.0, 1.0))))
        world.tick()
        after = car.get_location()
        driven_m += after.distance(before)
        before = after
        lane = min(way[:12], key=lambda w: w.transform.location.distance(after)).transform
        aside_m.append(abs(lane.inverse_transform(car.get_location()).y))  # which changes what it is given
        del way[40:]
    assert driven_m > 80.0
    assert np.mean(aside_m) < 0.3
    assert max(aside_m) < 1.2


def test_an_opendrive_text_becomes_a_world_for_every_client(server: Any, client: Any) -> None:
    other = carla.Client("127.0.0.1", server.port)
    other.set_timeout(10.0)
    before = other.get_world()
    assert before.get_map().name.endswith("city_grid")
    try:
        parameters = carla.OpendriveGenerationParameters(2.0, 50.0, 1.0, 0.6, True, True)
        world = client.generate_opendrive_world(STRAIGHT, parameters)
        assert world.get_map().name.endswith("OpenDriveMap")
        end_s = time.monotonic() + 10.0
        while other.get_world().id == before.id and time.monotonic() < end_s:
            time.sleep(0.05)
        seen = other.get_world()
        assert seen.id == world.id
        assert seen.get_map().name.endswith("OpenDriveMap")
        lane = seen.get_map().get_waypoint(carla.Location(50.0, 1.75, 1.0))
        place = carla.Transform(lane.transform.location + carla.Location(z=0.5), lane.transform.rotation)
        car = seen.spawn_actor(seen.get_blueprint_library().find("vehicle.tesla.model3"), place)
        for _ in range(40):
            seen.wait_for_tick()
        assert car.get_location().z == pytest.approx(lane.transform.location.z, abs=0.1)
        assert world.get_actor(car.id).destroy()
    finally:
        client.load_world("city_grid")


def test_a_map_of_ones_own_is_built_beside_everybody_else(server: Any, client: Any) -> None:
    """Two clients send one each, new to the server, at the same time; a third goes on."""
    senders = [carla.Client("127.0.0.1", server.port) for _ in range(2)]
    texts = [STRAIGHT.replace('name="lane"', f'name="{server.port} {time.time_ns()} {k}"') for k in range(2)]
    found: list[str] = []

    def send(sender: Any, text: str) -> None:
        sender.set_timeout(60.0)
        found.append(sender.generate_opendrive_world(text, carla.OpendriveGenerationParameters()).get_map().name)

    threads = [threading.Thread(target=send, args=pair) for pair in zip(senders, texts, strict=True)]
    try:
        begun_s = asked_s = time.monotonic()
        gaps_s = []
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            client.get_server_version()
            gaps_s.append(time.monotonic() - asked_s)
            asked_s = time.monotonic()
        assert [name.rsplit("/", 1)[-1] for name in found] == ["OpenDriveMap"] * 2
        assert max(gaps_s) < 0.35 * (time.monotonic() - begun_s)
    finally:
        client.load_world("city_grid")


def test_ten_reloads_leave_nothing_but_the_map(client: Any) -> None:
    world = client.get_world()
    own = {actor.type_id for actor in world.get_actors()}
    seen: set[int] = set()
    for _ in range(10):
        world = client.reload_world()
        assert {actor.type_id for actor in world.get_actors()} == own
        car = world.spawn_actor(world.get_blueprint_library().find("vehicle.mini.cooper_s"),
                                world.get_map().get_spawn_points()[0])  # fmt: skip
        camera = world.spawn_actor(world.get_blueprint_library().find("sensor.camera.depth"), carla.Transform(),
                                   attach_to=car)  # fmt: skip
        pictures: queue.Queue[Any] = queue.Queue()
        camera.listen(pictures.put)
        assert pictures.get(timeout=30.0).width == 800
        camera.stop()
        assert not {car.id, camera.id} & seen
        seen |= {car.id, camera.id}
    client.reload_world()
