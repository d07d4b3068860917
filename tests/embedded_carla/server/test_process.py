"""The server as a process: starting, ending, bad input, several clients, clients that vanish."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from embedded_carla.__main__ import main
from tests.embedded_carla.conftest import run_server
from tests.forked import forked

carla = pytest.importorskip("carla")


def refused(*arguments: str) -> str:
    """Standard error of a server that does not start."""
    run = forked(main, arguments, timeout_s=60.0)
    assert run.returncode == 2, run
    assert run.stderr.count("\n") == 1, run.stderr
    return run.stderr


def test_an_unknown_map_lists_what_there_is() -> None:
    message = refused("--port", "0", "--map", "Atlantis")
    assert "Atlantis" in message
    assert "city_grid" in message


def test_a_wrong_argument_is_named_in_one_line() -> None:
    assert "--port" in refused("--port", "abc")
    assert "--towns" in refused("--towns", "x")


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}" in refused("--port", str(port))


@pytest.mark.parametrize("text", ["", "no xml", "<OpenDRIVE><road id='1'", "<OpenDRIVE></OpenDRIVE>"])
def test_a_broken_map_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.xodr"
    path.write_text(text)
    assert "broken" in refused("--port", "0", "--map", str(path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0(number: signal.Signals) -> None:
    with run_server(is_new=True) as server:
        carla.Client("127.0.0.1", server.port).get_server_version()
        server.process.send_signal(number)
        assert server.process.wait(10) == 0


def test_a_killed_server_leaves_the_client_an_error() -> None:
    with run_server(is_new=True) as server:
        client = carla.Client("127.0.0.1", server.port)
        client.set_timeout(1.0)
        assert client.get_server_version()
        server.process.kill()
        server.process.wait(10)
        with pytest.raises(RuntimeError, match="time-out"):
            client.get_world()


@pytest.mark.parametrize(
    "noise",
    [b"GET / HTTP/1.1\r\n\r\n", random.Random(1).randbytes(64), b"\xdd\xff\xff\xff\xff", b""],
    ids=["HTTP", "noise", "msgpack", "nothing"],
)
def test_garbage_closes_that_connection_only(server: Any, client: Any, noise: bytes) -> None:
    for port in (server.port, server.port + 1):
        with socket.create_connection(("127.0.0.1", port), timeout=5.0) as other:
            other.sendall(noise)
            other.shutdown(socket.SHUT_WR)
            assert other.recv(100) == b""
    assert client.get_server_version() == "0.9.16"


def test_bad_arguments_are_answered_and_survived(server: Any, client: Any) -> None:
    import msgpack

    with socket.create_connection(("127.0.0.1", server.port), timeout=5.0) as other:
        unpacker = msgpack.Unpacker()
        calls: list[tuple[str, list[Any]]] = [
            ("no_such_method", []), ("spawn_actor", [1]), ("set_episode_settings", [[]]), ("destroy_actor", []),
            ("get_actors_by_id", [7]), ("apply_batch", [[[[99, []]]], False]), ("tick_cue", [1, 2, 3]),
        ]  # fmt: skip
        for number, (method, args) in enumerate(calls):
            other.sendall(msgpack.packb([0, number, method, [[False], *args]]))
            while (answer := next(iter(unpacker), None)) is None:
                unpacker.feed(other.recv(65536))
            assert answer[:2] == [1, number]
            assert answer[2] is not None or answer[3] is not None
    assert client.get_world().get_map().name


def test_several_clients_see_one_world(server: Any, sync_world: Any) -> None:
    others = [carla.Client("127.0.0.1", server.port) for _ in range(3)]
    for other in others:
        other.set_timeout(10.0)
    worlds = [other.get_world() for other in others]
    car = sync_world.spawn_actor(
        sync_world.get_blueprint_library().find("vehicle.audi.tt"), sync_world.get_map().get_spawn_points()[0]
    )
    frame = sync_world.tick()
    for world in worlds:
        deadline = time.monotonic() + 5.0
        while world.get_snapshot().frame < frame and time.monotonic() < deadline:
            time.sleep(0.01)
        assert world.get_snapshot().frame == frame
        assert world.get_actor(car.id).type_id == "vehicle.audi.tt"


VANISH = """
import os, sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(10.0)
world = client.get_world()
car = world.spawn_actor(world.get_blueprint_library().find("vehicle.audi.tt"), world.get_map().get_spawn_points()[30])
gnss = world.spawn_actor(world.get_blueprint_library().find("sensor.other.gnss"), carla.Transform(), attach_to=car)
gnss.listen(lambda fix: None)
world.wait_for_tick()
print(car.id, flush=True)
os._exit(0)
"""


def test_a_client_that_vanishes_leaves_its_actors_and_no_harm(server: Any, client: Any) -> None:
    run = subprocess.run(
        [sys.executable, "-c", VANISH, str(server.port)], capture_output=True, text=True, timeout=60, check=True
    )
    world = client.get_world()
    for _ in range(3):
        world.wait_for_tick()
    assert world.get_actor(int(run.stdout.split()[-1])).is_alive


LOADS = """
import sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(20.0)
text = client.get_world().get_map().to_opendrive()
ids = set()
for i in range(50):
    if i % 10 == 4:
        world = client.generate_opendrive_world(text)
        assert world.get_map().name.endswith("OpenDriveMap"), world.get_map().name
    elif i % 10 == 7:
        settings = client.get_world().get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
        client.get_world().apply_settings(settings)
        world = client.reload_world(False)
        assert world.get_settings().synchronous_mode
        world.tick()
        client.get_world().apply_settings(carla.WorldSettings())
    else:
        world = client.load_world("city_grid")
    point = world.get_map().get_spawn_points()[i]
    car = world.spawn_actor(world.get_blueprint_library().find("vehicle.audi.tt"), point)
    assert car.id not in ids
    ids.add(car.id)
    world.wait_for_tick()
    world.wait_for_tick()  # the first may have been made before the car
    assert world.get_actors().filter("vehicle.*")[0].id == car.id
print("done", flush=True)
"""


def test_fifty_loads_in_a_row_with_one_client() -> None:
    """About 0.2 s each: the time for which old connections are left in peace."""
    with run_server() as server:
        run = subprocess.run(
            [sys.executable, "-c", LOADS, str(server.port)], capture_output=True, text=True, timeout=110, check=False
        )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.endswith("done\n")
