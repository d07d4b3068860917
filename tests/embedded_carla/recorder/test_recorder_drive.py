"""What the server records, it replays, as the real wheel sees it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedded_carla.recorder.packets import PacketId, Rows
from embedded_carla.recorder.reader import RecordingReader
from tests.embedded_carla.conftest import ServerProcess, run_server

STEP_S = 0.05
FRAMES = 100
CARS, PEOPLE = 8, 2
LARGEST_ERROR_M = 0.01
LARGEST_TURN_DEG = 0.01
_GREEN = 2

Drive = dict[int, list[np.ndarray[Any, Any]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def recording_server(folder: Path) -> Iterator[ServerProcess]:
    with run_server("--recordings", str(folder)) as running:
        yield running


def _connect(server: ServerProcess) -> tuple[Any, Any]:
    """A client, and its world in synchronous mode."""
    import carla

    client = carla.Client("127.0.0.1", server.port)
    client.set_timeout(20.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
    world.apply_settings(settings)
    return client, world


def _pose(actor: Any) -> np.ndarray[Any, Any]:
    t = actor.get_transform()
    return np.array([t.location.x, t.location.y, t.location.z, t.rotation.pitch, t.rotation.yaw, t.rotation.roll])


def _spawn_traffic(world: Any, manager: Any) -> tuple[list[Any], list[Any]]:
    import carla

    library, points = world.get_blueprint_library(), world.get_map().get_spawn_points()
    random.Random(4).shuffle(points)
    models = sorted(library.filter("vehicle.*"), key=lambda b: b.id)
    cars = []
    for i, point in enumerate(points[:CARS]):
        model = models[(5 * i) % len(models)]
        model.set_attribute("role_name", f"car {i}")
        cars.append(world.spawn_actor(model, point))
        cars[-1].set_autopilot(True, manager.get_port())
    people = []
    for i, model in enumerate(sorted(library.filter("walker.*"), key=lambda b: b.id)[:PEOPLE]):
        place = carla.Transform(points[CARS + i].location + carla.Location(z=1.2))
        people.append(world.spawn_actor(model, place))
        people[-1].apply_control(carla.WalkerControl(carla.Vector3D(0.6, 0.8, 0.0), 1.5))
    return cars, people


def _record_drive(client: Any, world: Any, tm_port: int, name: str) -> tuple[Drive, dict[int, list[int]], list[Any]]:
    """Record a drive; poses and light states of each frame as the client saw them."""
    import carla

    manager = client.get_trafficmanager(tm_port)
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(1)
    cars, people = _spawn_traffic(world, manager)
    for _ in range(10):
        world.tick()
    client.start_recorder(name, True)
    seen: Drive = {actor.id: [] for actor in cars + people}
    lights = list(world.get_actors().filter("traffic.traffic_light"))
    colours: dict[int, list[int]] = {light.id: [] for light in lights}
    for i in range(FRAMES):
        if i == FRAMES // 2:
            cars[0].set_light_state(carla.VehicleLightState.LeftBlinker)
        world.tick()
        for actor in cars + people:
            seen[actor.id].append(_pose(actor))
        for light in lights:
            colours[light.id].append(int(light.state))
    for car in cars:
        car.set_autopilot(False, tm_port)
    manager.set_synchronous_mode(False)
    manager.shut_down()  # its thread would outlive the server, and abort this process
    client.stop_recorder()
    return seen, colours, [*cars, *people]


def _errors(world: Any, seen: Drive) -> tuple[float, float]:
    """Replay ticks against what was seen: largest distance (m) and angle (deg)."""
    distance = turn = 0.0
    for i in range(FRAMES):
        world.tick()
        for number, poses in seen.items():
            difference = _pose(world.get_actor(number)) - poses[i]
            distance = max(distance, float(np.linalg.norm(difference[:3])))
            turn = max(turn, float(np.abs((difference[3:] + 180.0) % 360.0 - 180.0).max()))
    return distance, turn


def test_a_drive_is_replayed_to_the_centimetre(recording_server: ServerProcess) -> None:
    """In the same server, under the same ids, and then in another server."""
    import carla

    client, world = _connect(recording_server)
    seen, colours, actors = _record_drive(client, world, recording_server.port + 700, "drive.log")
    moved = [float(np.linalg.norm(p[-1][:3] - p[0][:3])) for p in seen.values()]
    assert sum(m > 5.0 for m in moved) >= CARS // 2, f"the traffic hardly moved: {moved}"
    types = {actor.id: actor.type_id for actor in actors}
    client.apply_batch_sync([carla.command.DestroyActor(actor) for actor in actors], True)
    assert not set(seen) & {actor.id for actor in world.get_actors()}

    answer = client.replay_file("drive.log", 0.0, 0.0, 0)
    assert f"Total time recorded: {STEP_S * (FRAMES - 1):g}\n" in answer
    assert {i: world.get_actor(i).type_id for i in seen} == types
    distance, turn = _errors(world, seen)
    assert distance < LARGEST_ERROR_M
    assert turn < LARGEST_TURN_DEG
    assert {i: int(world.get_actor(i).state) for i in colours} == {i: c[-1] for i, c in colours.items()}
    assert world.get_actor(actors[0].id).get_light_state() == carla.VehicleLightState.LeftBlinker
    client.stop_replayer(False)

    with run_server("--recordings", str(Path(answer.split("File: ")[1].split("\n")[0]).parent)) as other:
        client, world = _connect(other)
        client.replay_file("drive.log", 0.0, 0.0, 0)
        distance, turn = _errors(world, seen)
        assert distance < LARGEST_ERROR_M
        assert turn < LARGEST_TURN_DEG


def test_lights_show_what_was_recorded(recording_server: ServerProcess) -> None:
    client, world = _connect(recording_server)
    light = next(a for a in world.get_actors().filter("traffic.traffic_light") if int(a.state) == _GREEN)
    light.set_green_time(light.get_elapsed_time() + 0.3)
    client.start_recorder("lights.log")
    seen = []
    for _ in range(60):
        world.tick()
        seen.append((int(light.state), light.get_elapsed_time(), light.is_frozen()))
    client.stop_recorder()
    assert len({state for state, _, _ in seen}) > 1, "the light never changed: nothing is tested"
    light.set_state(type(light.state).Off)
    client.replay_file("lights.log", 0.0, 0.0, 0)
    for state, elapsed_s, frozen in seen:
        world.tick()
        assert int(light.state) == state
        assert light.get_elapsed_time() == pytest.approx(elapsed_s, abs=1e-4)
        assert light.is_frozen() == frozen
    client.stop_replayer(False)


def _recorded_path(path: Path, number: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Times and locations (m) of an actor in a file."""
    times, places = [], []
    with RecordingReader(path) as reader:
        for frame in reader.frames():
            for packet in frame.packets(PacketId.POSITIONS):
                assert isinstance(packet, Rows)
                for row in packet.rows[packet.rows["actor"] == number]:
                    times.append(frame.start.elapsed_s)
                    places.append(row["location"] / 100.0)
    return np.array(times), np.array(places, dtype=np.float64)


def test_an_asynchronous_world_replays_along_the_recorded_path(recording_server: ServerProcess, folder: Path) -> None:
    """Its ticks come when they come: each pose lies on the recorded path, at the time that has passed."""
    import carla

    client, world = _connect(recording_server)
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = False, None
    world.apply_settings(settings)
    car = world.spawn_actor(
        world.get_blueprint_library().find("vehicle.audi.tt"), world.get_map().get_spawn_points()[20]
    )
    car.apply_control(carla.VehicleControl(throttle=0.7))
    world.wait_for_tick()
    client.start_recorder("free.log")
    start_s = world.wait_for_tick().timestamp.elapsed_seconds
    while world.wait_for_tick().timestamp.elapsed_seconds < start_s + 3.0:
        pass
    client.stop_recorder()
    number = car.id
    car.destroy()
    times, places = _recorded_path(folder / "free.log", number)
    assert np.linalg.norm(places[-1] - places[0]) > 5.0
    client.replay_file("free.log", 0.5, 2.0, 0)
    snapshots: list[tuple[float, np.ndarray]] = []
    while len(snapshots) < 25:
        snapshot = world.wait_for_tick()
        found = snapshot.find(number)
        if found is not None:
            at = found.get_transform().location
            snapshots.append((snapshot.timestamp.elapsed_seconds, np.array([at.x, at.y, at.z])))
    client.stop_replayer(False)
    fine_s = np.linspace(0.0, times[-1], 20001)
    fine = np.stack([np.interp(fine_s, times, places[:, i]) for i in range(3)], axis=1)
    nearest = [np.linalg.norm(fine - place, axis=1) for _, place in snapshots]
    assert max(float(d.min()) for d in nearest) < LARGEST_ERROR_M
    shown_s = np.array([fine_s[d.argmin()] for d in nearest])
    real_s = np.array([s for s, _ in snapshots])
    assert shown_s[0] >= 0.5 - 1e-3
    np.testing.assert_allclose(np.diff(shown_s), np.diff(real_s), atol=2e-3)
