"""The same seed and the same client calls give the same world: two servers started anew, each with a client process.

    python -m tests.embedded_carla.server.test_determinism --ticks 2000

drives the longer run by hand and prints both hashes of every stream.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tests.embedded_carla.conftest import run_server

ROOT = Path(__file__).parents[3]
MODULE = "tests.embedded_carla.server.test_determinism"
TICKS = 80
VEHICLES, WALKERS = 12, 8
SEED = 7
BEGIN_S = 2.0
SENSORS: tuple[tuple[str, dict[str, str]], ...] = (
    ("sensor.camera.rgb", {"image_size_x": "160", "image_size_y": "120", "sensor_tick": "0.5"}),
    ("sensor.lidar.ray_cast", {"points_per_second": "20000", "range": "40", "noise_stddev": "0.02"}),
    ("sensor.other.radar", {}),
    ("sensor.other.imu", {"noise_accel_stddev_x": "0.1", "noise_gyro_stddev_z": "0.01"}),
    ("sensor.other.gnss", {"noise_lat_stddev": "0.00001"}),
    ("sensor.other.collision", {}),
)  # fmt: skip


class Digest:
    """A hash of each stream's messages in order of frames, and how many there were."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[int, bytes]]] = {}

    def add(self, stream: str, frame: int, content: bytes) -> None:
        self._rows.setdefault(stream, []).append((frame, content))

    def count(self, stream: str) -> int:
        return len(self._rows.get(stream, ()))

    def hexes(self, first_frame: int) -> dict[str, list[Any]]:
        told: dict[str, list[Any]] = {}
        for stream, rows in sorted(self._rows.items()):
            digest = hashlib.sha256()
            for frame, content in sorted(rows, key=lambda row: row[0]):
                digest.update(f"{frame - first_frame}:".encode())
                digest.update(content)
            told[stream] = [len(rows), digest.hexdigest()]
        return told


def snapshot_bytes(snapshot: Any) -> bytes:
    rows = []
    for state in sorted(snapshot, key=lambda s: s.id):
        t, v, w, a = state.get_transform(), state.get_velocity(), state.get_angular_velocity(), state.get_acceleration()
        rows.append((
            state.id, t.location.x, t.location.y, t.location.z, t.rotation.pitch, t.rotation.yaw, t.rotation.roll,
            v.x, v.y, v.z, w.x, w.y, w.z, a.x, a.y, a.z,
        ))  # fmt: skip
    return np.array(rows, dtype=np.float64).tobytes()


def measured_bytes(data: Any) -> bytes:
    if hasattr(data, "raw_data"):
        return bytes(data.raw_data)
    if hasattr(data, "normal_impulse"):
        i = data.normal_impulse
        return f"{data.actor.id} {data.other_actor.id} {data.other_actor.type_id} {i.x} {i.y} {i.z}".encode()
    if hasattr(data, "latitude"):
        return np.array([data.latitude, data.longitude, data.altitude]).tobytes()
    a, g = data.accelerometer, data.gyroscope
    return np.array([a.x, a.y, a.z, g.x, g.y, g.z, data.compass]).tobytes()


def drive(port: int, ticks: int) -> dict[str, list[Any]]:
    """All the client does; the hashes of what came back."""
    import carla

    client = carla.Client("127.0.0.1", port)
    client.set_timeout(30.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
    world = client.reload_world(False)  # what went before, the server's own pace, is forgotten
    while world.get_snapshot().timestamp.elapsed_seconds < BEGIN_S - 0.01:
        world.tick()  # the wheel ticks until it sees the new episode, sooner or later
    world.set_pedestrians_seed(SEED)
    manager = client.get_trafficmanager(_free_port())
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(SEED)
    library, rng = world.get_blueprint_library(), np.random.default_rng(SEED)
    models = sorted(library.filter("vehicle.*"), key=lambda b: b.id)
    starts = world.get_map().get_spawn_points()
    cars = []
    for k in rng.permutation(len(starts))[:VEHICLES]:
        model = models[int(rng.integers(len(models)))]
        car = cast("carla.Vehicle | None", world.try_spawn_actor(model, starts[int(k)]))
        if car is not None:
            car.set_autopilot(True, manager.get_port())
            cars.append(car)
    people = _people(carla, world, rng)  # an actor that nobody refers to any more is no longer steered
    digest = Digest()
    sensors = _mount(carla, world, cars, digest)
    first_frame = world.get_snapshot().frame
    for k in range(ticks):
        if k == 40:  # a crash, so that there are collisions to compare
            _crash(carla, cars)
        frame = world.tick()
        digest.add("snapshot", frame, snapshot_bytes(world.get_snapshot()))
    _wait(digest, "sensor.other.imu", ticks)
    _wait(digest, "sensor.other.radar", ticks)
    _wait(digest, "sensor.lidar.ray_cast", ticks)
    for sensor in sensors:
        sensor.stop()
    assert len(people) == 2 * WALKERS
    return digest.hexes(first_frame)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _people(carla: Any, world: Any, rng: np.random.Generator) -> list[Any]:
    library = world.get_blueprint_library()
    models = sorted(library.filter("walker.pedestrian.*"), key=lambda b: b.id)
    pairs = []
    for _ in range(WALKERS):
        place = world.get_random_location_from_navigation()
        if place is None:
            continue
        walker = world.try_spawn_actor(models[int(rng.integers(len(models)))], carla.Transform(place))
        if walker is not None:
            pairs.append((walker, world.spawn_actor(library.find("controller.ai.walker"), carla.Transform(), walker)))
    world.tick()
    for _, controller in pairs:
        controller.start()
        controller.go_to_location(world.get_random_location_from_navigation())
        controller.set_max_speed(1.4)
    return [actor for walker, controller in pairs for actor in (controller, walker)]


def _mount(carla: Any, world: Any, cars: list[Any], digest: Digest) -> list[Any]:
    mounted = []
    for type_id, attributes in SENSORS:
        blueprint = world.get_blueprint_library().find(type_id)
        for name, value in attributes.items():
            blueprint.set_attribute(name, value)
        sensor = world.spawn_actor(blueprint, carla.Transform(carla.Location(x=1.5, z=1.8)), attach_to=cars[0])
        sensor.listen(lambda data, name=type_id: digest.add(name, data.frame, measured_bytes(data)))
        mounted.append(sensor)
    return mounted


def _crash(carla: Any, cars: list[Any]) -> None:
    """Put the second car before the first one, and push that into it."""
    pose = cars[0].get_transform()
    forward = pose.get_forward_vector()
    cars[1].set_transform(carla.Transform(pose.location + forward * 6.5 + carla.Location(z=0.3), pose.rotation))
    cars[0].set_target_velocity(carla.Vector3D(15.0 * forward.x, 15.0 * forward.y, 0.0))


def _wait(digest: Digest, stream: str, count: int) -> None:
    until = time.monotonic() + 30.0
    while digest.count(stream) < count and time.monotonic() < until:
        time.sleep(0.02)


def once(ticks: int) -> dict[str, list[Any]]:
    """A new server and a new client process."""
    with run_server("--seed", str(SEED)) as server:
        command = [sys.executable, "-m", MODULE, "--port", str(server.port), "--ticks", str(ticks)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800.0, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_two_servers_give_the_same_world() -> None:
    pytest.importorskip("carla")
    first, second = once(TICKS), once(TICKS)
    assert first == second
    assert {name: row[0] for name, row in first.items() if name != "sensor.other.collision"} == {
        "snapshot": TICKS, "sensor.camera.rgb": TICKS // 10, "sensor.lidar.ray_cast": TICKS,
        "sensor.other.radar": TICKS, "sensor.other.imu": TICKS, "sensor.other.gnss": TICKS,
    }  # fmt: skip
    assert first["sensor.other.collision"][0] > 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="drive this server; 0: compare two new ones")
    parser.add_argument("--ticks", type=int, default=2000)
    arguments = parser.parse_args()
    if arguments.port:
        print(json.dumps(drive(arguments.port, arguments.ticks)), flush=True)
        os._exit(0)  # the server is thrown away; the wheel's threads would still step on what is gone
    began = time.monotonic()
    first, second = once(arguments.ticks), once(arguments.ticks)
    print(json.dumps({"same": first == second, "seconds": round(time.monotonic() - began, 1)}))
    for name in sorted({*first, *second}):
        print(name, first.get(name), second.get(name))


if __name__ == "__main__":
    main()
