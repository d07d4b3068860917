"""Options of a replay, and what happens to files, names and maps that are not as they should be."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from embedded_carla.recorder.format import PACKET_HEAD, pack
from embedded_carla.recorder.packets import PacketId, Rows
from embedded_carla.recorder.reader import RecordingReader
from tests.embedded_carla.conftest import ServerProcess, run_server
from tests.embedded_carla.recorder.recordings import (
    CAR,
    OTHER_CAR,
    PERSON,
    SPEED_CMPS,
    STEP_S,
    drive,
    drive_bytes,
    pack_file,
)

FRAMES = 20
TOTAL_S = (FRAMES - 1) * STEP_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recordings")
    (path / "drive.log").write_bytes(drive_bytes(FRAMES))
    (path / "cut.log").write_bytes(drive_bytes(FRAMES)[:-100])
    (path / "nowhere.log").write_bytes(drive_bytes(FRAMES, "Town99"))
    (path / "text.log").write_text("no recording")
    header, packets = drive(FRAMES)
    damage = PACKET_HEAD.pack(PacketId.POSITIONS, 3) + b"abc"
    damaged = pack_file(header, packets[:12]) + damage + b"".join(map(pack, packets[12:]))
    (path / "damaged.log").write_bytes(damaged)
    return path


@pytest.fixture(scope="module")
def replaying_server(folder: Path) -> Iterator[ServerProcess]:
    with run_server("--recordings", str(folder)) as running:
        yield running


@pytest.fixture
def client(replaying_server: ServerProcess) -> Iterator[Any]:
    import carla

    connected = carla.Client("127.0.0.1", replaying_server.port)
    connected.set_timeout(10.0)
    world = connected.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
    world.apply_settings(settings)
    world.tick()
    yield connected
    connected.stop_replayer(False)
    connected.set_replayer_time_factor(1.0)
    connected.set_replayer_ignore_hero(False)
    connected.set_replayer_ignore_spectator(True)
    left = [a for a in cast("Iterable[carla.Actor]", world.get_actors()) if a.type_id.startswith(("vehicle", "walker"))]
    connected.apply_batch_sync([carla.command.DestroyActor(a) for a in left], True)


def _x(world: Any, number: int = CAR) -> float:
    return float(world.get_actor(number).get_location().x)


def _x_at(time_s: float) -> float:
    return SPEED_CMPS / 100.0 * time_s


def test_every_tick_shows_the_next_frame(client: Any) -> None:
    world = client.get_world()
    client.replay_file("drive.log", 0.0, 0.0, 0)
    for i in range(FRAMES):
        world.tick()
        assert _x(world) == pytest.approx(_x_at(i * STEP_S), abs=1e-3)
        assert (world.get_snapshot().find(PERSON) is not None) == (3 <= i < 9)
    car = world.get_actor(CAR)
    assert car.attributes["role_name"] == "hero"
    assert car.get_velocity().x == pytest.approx(0.0, abs=1e-3)  # the last frame leads nowhere
    assert world.get_actor(OTHER_CAR).get_transform().rotation.yaw == pytest.approx(90.0)


def test_what_comes_with_the_pose(client: Any) -> None:
    import carla

    world = client.get_world()
    client.replay_file("drive.log", 0.0, 0.0, 0)
    for _ in range(3):
        world.tick()
    car = world.get_actor(CAR)
    assert car.get_velocity().x == pytest.approx(SPEED_CMPS / 100.0, abs=1e-3)
    assert car.get_control().steer == pytest.approx(0.25)
    assert car.get_control().throttle == pytest.approx(0.5)
    lit = carla.VehicleLightState(carla.VehicleLightState.LowBeam | carla.VehicleLightState.LeftBlinker)
    assert car.get_light_state() == lit
    assert world.get_actor(OTHER_CAR).get_control().hand_brake


@pytest.mark.parametrize(
    ("start_s", "duration_s", "first_s", "last_s"),
    [(0.5, 0.0, 0.5, TOTAL_S), (0.25, 0.4, 0.25, 0.65), (-0.6, 0.0, TOTAL_S - 0.6, TOTAL_S), (-99.0, 0.3, 0.0, 0.3)],
)
def test_start_and_duration(client: Any, start_s: float, duration_s: float, first_s: float, last_s: float) -> None:
    world = client.get_world()
    answer = client.replay_file("drive.log", start_s, duration_s, 0)
    assert f"Replaying from {first_s:g} s - {last_s:g} s ({TOTAL_S:g} s) at 1.0x\n" in answer
    shown = []
    for _ in range(FRAMES + 3):
        world.tick()
        shown.append(_x(world))
    assert shown[0] == pytest.approx(_x_at(first_s), abs=1e-3)
    assert max(shown) == pytest.approx(_x_at(last_s), abs=1e-3)


def test_time_factor(client: Any) -> None:
    world = client.get_world()
    client.set_replayer_time_factor(0.5)
    assert "at 0.5x" in client.replay_file("drive.log", 0.0, 0.0, 0)
    shown = []
    for _ in range(7):
        world.tick()
        shown.append(_x(world))
    np.testing.assert_allclose(shown, [_x_at(0.5 * STEP_S * i) for i in range(7)], atol=1e-3)


def test_the_camera_follows_an_actor(client: Any) -> None:
    import carla

    world = client.get_world()
    offset = carla.Transform(carla.Location(-10.0, 0.0, 5.0), carla.Rotation(-25.0, 0.0, 0.0))
    client.replay_file("drive.log", 0.0, 0.0, CAR, False, offset)
    for i in range(5):
        world.tick()
        camera = world.get_spectator().get_transform()
        assert camera.location.x == pytest.approx(_x_at(i * STEP_S) - 10.0, abs=1e-3)
        assert camera.location.z == pytest.approx(5.5, abs=1e-3)
        assert camera.rotation.pitch == pytest.approx(-25.0, abs=1e-3)


def test_actors_stay_or_go_when_the_replay_is_stopped(client: Any) -> None:
    world = client.get_world()
    client.replay_file("drive.log", 0.0, 0.0, 0)
    world.tick()
    client.stop_replayer(True)
    world.tick()
    assert world.get_snapshot().find(CAR) is not None
    client.replay_file("drive.log", 0.0, 0.0, 0)
    world.tick()
    assert len(world.get_actors().filter("vehicle.*")) == 2, "who is there already plays again"
    client.stop_replayer(False)
    world.tick()
    assert world.get_snapshot().find(CAR) is None


def test_physics_takes_over_after_the_end(client: Any) -> None:
    import carla

    world = client.get_world()
    client.replay_file("drive.log", 0.0, 0.0, 0)
    for _ in range(FRAMES + 1):
        world.tick()
    car, end = world.get_actor(CAR), _x(world)
    assert end == pytest.approx(_x_at(TOTAL_S), abs=0.1)
    car.apply_control(carla.VehicleControl(throttle=1.0))
    for _ in range(20):
        world.tick()
    assert _x(world) > end + 1.0


def test_an_ignored_hero_is_not_moved(client: Any) -> None:
    world = client.get_world()
    client.set_replayer_ignore_hero(True)
    assert "Ignoring Hero vehicle" in client.replay_file("drive.log", 0.0, 0.0, 0)
    for _ in range(10):
        world.tick()
    assert _x(world) == pytest.approx(0.0, abs=0.05)


def test_a_cut_recording_plays_what_is_whole(client: Any) -> None:
    world = client.get_world()
    client.replay_file("cut.log", 0.0, 0.0, 0)
    for _ in range(FRAMES - 1):
        world.tick()
    assert _x(world) == pytest.approx(_x_at(TOTAL_S - STEP_S), abs=1e-3)


def test_files_that_are_not_as_they_should_be(client: Any, folder: Path) -> None:
    assert client.replay_file("absent.log", 0, 0, 0).endswith(f"File {folder / 'absent.log'} not found on server\n")
    assert client.show_recorder_file_info("/x/absent.log", False).startswith(f"File {folder / 'absent.log'} not found")
    for name, why in (("text.log", "is not a CARLA recording"), ("nowhere.log", "'Town99'.*there are .*city_grid")):
        with pytest.raises(RuntimeError, match=why) as caught:
            client.replay_file(name, 0, 0, 0)
        assert "\n" not in str(caught.value)
    with pytest.raises(RuntimeError, match=r"text.log is not a CARLA recording"):
        client.show_recorder_collisions("text.log", "a", "a")
    with pytest.raises(RuntimeError, match="damaged") as caught:
        client.show_recorder_file_info("damaged.log", True)
    assert "\n" not in str(caught.value)
    with pytest.raises(RuntimeError, match="allowed are o, v, w, t, h and a"):
        client.show_recorder_collisions("drive.log", "q", "a")


def test_recordings_stay_in_their_folder(client: Any, folder: Path, tmp_path: Path) -> None:
    world = client.get_world()
    assert client.start_recorder(str(tmp_path / "mine.log")) == str(folder / "mine.log")
    world.tick()
    client.stop_recorder()
    world.tick()  # the call before is not waited for
    assert not list(tmp_path.iterdir())
    assert (folder / "mine.log").stat().st_size > 1000
    assert client.start_recorder("../up.log") == str(folder / "up.log")
    with pytest.raises(RuntimeError, match="names no recording"):
        client.start_recorder("..")
    client.stop_recorder()


def test_a_killed_server_leaves_a_whole_recording(folder: Path) -> None:
    import carla

    with run_server("--recordings", str(folder)) as server:
        client = carla.Client("127.0.0.1", server.port)
        client.set_timeout(10.0)
        world = client.get_world()
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
        world.apply_settings(settings)
        client.start_recorder("killed.log")
        for _ in range(30):
            world.tick()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
    with RecordingReader(folder / "killed.log") as reader:
        assert len(list(reader.frames())) >= 29
        assert not reader.is_cut


def test_a_real_servers_recording_plays(data_dir: Path, tmp_path: Path) -> None:
    """The Town01 drive of a CARLA server: its map is loaded, its car is where the file has it, its lights match."""
    import carla

    source = data_dir / "recordings" / "DistanceToLaneCenter.log"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    with RecordingReader(source) as reader:
        frames = list(reader.frames())
    times, poses = [], []
    for frame in frames[:-1]:
        (positions,) = frame.packets(PacketId.POSITIONS)
        assert isinstance(positions, Rows)
        for row in positions.rows[positions.rows["actor"] == 234]:
            times.append(frame.start.elapsed_s)
            poses.append(row["location"] / 100.0)
    path = np.array(poses, dtype=np.float64)
    with run_server("--maps", str(data_dir / "maps"), "--recordings", str(tmp_path)) as server:
        client = carla.Client("127.0.0.1", server.port)
        client.set_timeout(60.0)
        world = client.get_world()
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.1
        world.apply_settings(settings)
        assert "Loading map Town01\n" in client.replay_file(source.name, 0.0, 0.0, 0)
        world = client.get_world()
        assert world.get_map().name.endswith("Town01")
        worst = 0.0
        for i in range(125):
            world.tick()
            (car,) = cast("Iterable[carla.Actor]", world.get_actors().filter("vehicle.*"))
            at = car.get_location()
            wanted = [np.interp(i * 0.1, times, path[:, axis]) for axis in range(3)]
            worst = max(worst, float(np.linalg.norm(np.array([at.x, at.y, at.z]) - wanted)))
        assert car.type_id == "vehicle.lincoln.mkz_2017"
        assert car.attributes["role_name"] == "hero"
        assert worst < 0.01
        assert len(world.get_actors().filter("static.prop.*")) == 118
        lights = cast("Iterable[carla.TrafficLight]", world.get_actors().filter("traffic.traffic_light"))
        (states,) = frames[-1].packets(PacketId.LIGHT_STATES)
        assert isinstance(states, Rows)
        assert sorted(int(light.state) for light in lights) == sorted(states.rows["colour"].tolist())
