"""`av-stack attach` drives the ego of another client, which owns the world and its time, and releases it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import carla
import pytest

from av_core.errors import AvStackError, WorldError
from av_stack.cli import main
from av_stack.server_process import ServerProcess
from av_stack.world.carla.actors import actors_in
from av_stack.world.carla.client import connect
from av_stack.world.spec import Address
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.forked import ForkedProcess

STEP_S = 0.05
START = carla.Transform(carla.Location(x=250.0, y=-198.25, z=0.5))
DRIVING_MPS = 2.0
DEAD_S = 10.0
"""Longest time that the command may take to end after its server died."""

SILENT_S = 6.0
"""Silence of a server that only loads; `av-stack run` gives up earlier."""


class OtherClient:
    """Spawns an ego in a synchronous world and ticks it as fast as the sensors' readers come along."""

    def __init__(self, address: Address) -> None:
        self.client = connect(address)
        self.world = self.client.load_world("city_grid")
        self._set_synchronous(True)
        blueprint = self.world.get_blueprint_library().find("vehicle.lincoln.mkz_2020")
        blueprint.set_attribute("role_name", "hero")
        self.ego = self.world.spawn_actor(blueprint, START)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    def wait_until_driving(self) -> float:
        """The ego's greatest speed so far, once it drives; what it is after a minute otherwise."""
        end_s = time.monotonic() + 60.0
        while (speed := self.ego.get_velocity().length()) < DRIVING_MPS and time.monotonic() < end_s:
            time.sleep(0.05)
        return speed

    def sensors(self) -> list[carla.Actor]:
        return list(actors_in(self.world, "sensor.*"))

    def stop(self) -> None:
        """Tick no more."""
        self._is_over.set()
        self._thread.join()

    def close(self) -> None:
        self.stop()
        self._set_synchronous(False)

    def _set_synchronous(self, is_on: bool) -> None:
        settings = self.world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = is_on, STEP_S if is_on else None
        self.world.apply_settings(settings)

    def _tick(self) -> None:
        while not self._is_over.wait(0.04):
            self.world.tick()


@pytest.fixture
def other(city_server: Address) -> Iterator[OtherClient]:
    client = OtherClient(city_server)
    yield client
    client.close()


@contextmanager
def attached(address: Address, *arguments: str) -> Iterator[ForkedProcess]:
    process = ForkedProcess(main, ["attach", "--server", str(address), "--device", "cpu", *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_ctrl_c_releases_the_ego_on_its_brake(city_server: Address, other: OtherClient) -> None:
    with attached(city_server) as process:
        if other.wait_until_driving() < DRIVING_MPS:
            process.kill()
            raise AssertionError(process.communicate())
        assert len(other.sensors()) == 8, "GNSS, IMU, collisions, a camera and four radars"
        process.send_signal(signal.SIGINT)
        said = "".join(process.communicate(timeout=20.0))
    assert process.returncode == 130, said
    assert "Traceback" not in said
    time.sleep(0.5)
    assert other.sensors() == []
    assert other.ego.is_alive
    assert isinstance(other.ego, carla.Vehicle)
    assert other.ego.get_control().brake == 1.0
    assert other.world.get_settings().synchronous_mode, "the other client's settings stay"


def test_an_ego_that_is_destroyed_ends_the_command(city_server: Address, other: OtherClient) -> None:
    with attached(city_server, "--goal", "300,-198.25") as process:
        assert other.wait_until_driving() >= DRIVING_MPS
        other.ego.destroy()
        said = "".join(process.communicate(timeout=20.0))
    assert process.returncode == 0, said
    assert "released: the vehicle is gone" in said
    assert other.sensors() == []


def test_the_ego_stands_at_the_goal(city_server: Address, other: OtherClient) -> None:
    with attached(city_server, "--goal", "264,-198.25") as process:
        said = "".join(process.communicate(timeout=90.0))
    assert process.returncode == 0, said
    assert "released: arrived" in said
    assert other.ego.get_location().x == pytest.approx(264.0, abs=5.0)
    assert other.sensors() == []


def test_a_server_that_is_silent_is_waited_for_and_one_that_dies_ends_the_command() -> None:
    server = ServerProcess(("--map", "city_grid"))
    with server as address:
        other = OtherClient(address)
        with attached(address, "--goal", "400,-198.25") as process:
            assert other.wait_until_driving() >= DRIVING_MPS
            assert server.pid is not None
            os.kill(server.pid, signal.SIGSTOP)
            with pytest.raises(subprocess.TimeoutExpired):
                process.communicate(timeout=SILENT_S)
            os.kill(server.pid, signal.SIGCONT)
            other.stop()
            server.kill()
            said = "".join(process.communicate(timeout=DEAD_S))
    assert process.returncode == WorldError.exit_status, said
    assert "Traceback" not in said
    assert said.count("av-stack: ") == 1, said
    assert said.splitlines()[-1].startswith(f"av-stack: the CARLA server at {address} went away ("), said


def test_a_goal_that_is_none() -> None:
    assert "--goal '5': expected X,Y in metres" in complaint(av_stack("attach", "--goal", "5"))
    assert AvStackError.exit_status != 0
