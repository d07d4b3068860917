"""A replay on a map that nobody has built yet, while another client is served."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest

from embedded_carla import maps
from tests.embedded_carla.conftest import ServerProcess, run_server
from tests.embedded_carla.recorder.recordings import CAR, SPEED_CMPS, STEP_S, drive_bytes

carla = pytest.importorskip("carla")

FRAMES = 20
OFFSET = ((-10.0, 0.0, 5.0), (-25.0, 0.0, 0.0))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """With a recording made on a town that nobody has built yet."""
    text = (Path(maps.__file__).parent / "country_road.xodr").read_text()
    (tmp_path / "elsewhere.xodr").write_text(text + f"<!-- {time.time_ns()} -->")
    (tmp_path / "elsewhere.log").write_bytes(drive_bytes(FRAMES, "Carla/Maps/elsewhere"))
    with run_server("--maps", str(tmp_path), "--recordings", str(tmp_path)) as running:
        yield running


def test_a_replay_begins_when_its_map_is_built_and_others_are_served_meanwhile(server: ServerProcess) -> None:
    other = carla.Client("127.0.0.1", server.port)
    other.set_timeout(20.0)
    world = other.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
    world.apply_settings(settings)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60.0) as replaying:
        call = [0, 1, "replay_file", [[False], "elsewhere.log", 0.0, 0.0, 0, False, OFFSET]]
        replaying.sendall(msgpack.packb(call))
        for _ in range(5):
            world.tick()  # the old world goes on
        assert not select.select([replaying], [], [], 0.0)[0], "the map was built before anybody else was answered"
        answer = str(msgpack.unpackb(replaying.recv(1 << 16))[3])
    assert "Loading map Carla/Maps/elsewhere" in answer
    world = other.get_world()
    assert world.get_map().name == "Carla/Maps/elsewhere"
    assert world.get_settings().synchronous_mode, "a replay leaves the settings as they are"
    for frame in range(FRAMES):
        world.tick()
        x_m = world.get_actor(CAR).get_location().x
        assert x_m == pytest.approx(SPEED_CMPS / 100.0 * frame * STEP_S, abs=1e-3), f"frame {frame}"
