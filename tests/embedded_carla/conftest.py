"""A real server process for the tests that talk to it through the real wheel."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from embedded_carla.__main__ import main
from tests.embedded_carla.starting import listening_port
from tests.forked import ForkedProcess

HOME = "city_grid"
"""The town in which each test begins."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server on 127.0.0.1."""

    process: subprocess.Popen[str] | ForkedProcess
    port: int


@contextlib.contextmanager
def run_server(*arguments: str, is_new: bool = False) -> Iterator[ServerProcess]:
    """A server on a free pair of ports, ended on leaving: a fork, or `python -m embedded_carla` where `is_new`."""
    options = ["--port", "0", "--until-stdin-ends", *arguments]
    process: subprocess.Popen[str] | ForkedProcess
    if is_new:
        command = [sys.executable, "-m", "embedded_carla", *options]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    else:
        process = ForkedProcess(main, options, is_heard=False)
    try:
        yield ServerProcess(process, listening_port(process))
    finally:
        process.terminate()
        process.wait(10)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    """One server for all tests of a session; use `client` or `sync_world`, which give it back clean."""
    with run_server() as running:
        yield running


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Any]:
    """A connected client; what the test spawned is destroyed and the settings are reset afterwards."""
    import carla

    connected = carla.Client("127.0.0.1", server.port)
    connected.set_timeout(10.0)
    world = _home(connected)
    before = {actor.id for actor in world.get_actors()}
    yield connected
    world = connected.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = False, None
    world.apply_settings(settings)
    world.wait_for_tick()
    actors = cast("Iterable[carla.Actor]", world.get_actors())
    left = [a.id for a in actors if a.id not in before and not a.type_id.startswith(("traffic", "spectator"))]
    connected.apply_batch_sync([carla.command.DestroyActor(i) for i in left], False)
    world.set_weather(carla.WeatherParameters())


_home_ids: set[int] = set()
"""Ids of the shared server's episodes that are known to be of HOME."""


def _home(client: Any) -> Any:
    """The client's world in the town HOME, which is loaded again where an earlier test has left another one."""
    world = client.get_world()
    if world.id not in _home_ids:
        if not world.get_map().name.endswith(HOME):
            world = client.load_world(HOME)
        _home_ids.add(world.id)
    return world


@pytest.fixture
def sync_world(client: Any) -> Any:
    """The world in synchronous mode at 0.05 s."""
    return synchronous(client)


def synchronous(client: Any) -> Any:
    """The client's world, now in synchronous mode at 0.05 s."""
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
    world.tick()
    return world
