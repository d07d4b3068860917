"""Loading a map that is new: who waits for it."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from embedded_carla import maps
from tests.embedded_carla.conftest import ServerProcess, run_server
from tests.embedded_carla.fuzz.maps import road, town

carla = pytest.importorskip("carla")


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with two towns that nobody has built yet, and three small maps."""
    folder, text = tmp_path_factory.mktemp("towns"), (Path(maps.__file__).parent / "country_road.xodr").read_text()
    for name in ("first", "second"):
        (folder / f"{name}.xodr").write_text(text + f"<!-- {name} {time.time_ns()} -->")
    late_offset = '<lanes><laneOffset s="5" a="nan" b="0" c="0" d="0"/>'
    (folder / "refused.xodr").write_text(town(road(1), road(2, y=50).replace("<lanes>", late_offset)))
    far_lane = road(2, y=50).replace('id="1" type="sidewalk"', 'id="7" type="driving"')
    (folder / "crashing.xodr").write_text(town(road(1), far_lane))
    sliver = '<planView><geometry s="0" x="0" y="0" hdg="0" length="0"><line/></geometry>'
    (folder / "sliver.xodr").write_text(town(road(1).replace("<planView>", sliver)))
    with run_server("--maps", str(folder)) as running:
        yield running


def load(sock: socket.socket, name: str) -> None:
    sock.sendall(msgpack.packb([0, 1, "load_new_episode", [[False], name, True, 0xFFFF]]))


def answer_of(sock: socket.socket) -> Any:
    return msgpack.unpackb(sock.recv(1 << 16))[3]


def test_only_who_loads_a_new_town_waits_for_it(towns: ServerProcess) -> None:
    other = carla.Client("127.0.0.1", towns.port)
    other.set_timeout(5.0)
    world = other.get_world()
    before = world.get_snapshot().frame
    with socket.create_connection(("127.0.0.1", towns.port), timeout=60.0) as loading:
        load(loading, "first")
        for _ in range(5):
            assert other.get_server_version() == "0.9.16"
        world.wait_for_tick()  # the old world goes on
        assert not select.select([loading], [], [], 0.0)[0], "the town was built before anybody else was answered"
        assert world.get_snapshot().frame > before
        assert answer_of(loading) == [[False]]
    assert other.get_world().get_map().name == "Carla/Maps/first"


def test_a_client_alone_is_answered_when_its_town_is_built(towns: ServerProcess) -> None:
    with socket.create_connection(("127.0.0.1", towns.port), timeout=60.0) as loading:
        load(loading, "second")
        assert answer_of(loading) == [[False]]
        load(loading, "nowhere")
        assert "unknown map" in str(answer_of(loading))


def test_a_map_that_the_wheel_cannot_read_is_refused_and_harms_nobody(towns: ServerProcess) -> None:
    client = carla.Client("127.0.0.1", towns.port)
    client.set_timeout(60.0)
    before = client.get_world().get_map().name
    with pytest.raises(RuntimeError, match=r"map crashing: road 2 is refused by CARLA's map parser \(map::at\)"):
        client.load_world("crashing")
    with pytest.raises(RuntimeError, match=r"map refused: <laneOffset> in line 1: a='nan' is not a number"):
        client.load_world("refused")
    assert client.get_world().get_map().name == before
    assert client.load_world("sliver").get_map().generate_waypoints(5.0)
