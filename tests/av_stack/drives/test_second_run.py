"""Two programs on one server: the second one is refused, or the first one says what happened."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from dataclasses import replace

import carla
import pytest

from av_core.errors import WorldError
from av_core.types import Rig
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address, WorldSpec

START = (423.2, -375.5)
SPEC = WorldSpec("city_grid", START, (START, (423.2, -275.0)), Rig(()), seed=1)


def test_a_server_on_which_somebody_drives_is_refused(city_server: Address) -> None:
    with closing(CarlaWorld(city_server, SPEC)) as first:
        ended = threading.Event()
        ticks: list[int] = []

        def drive() -> None:
            while not ended.wait(0.05):
                ticks.append(first.tick().stamp.frame)

        driver = threading.Thread(target=drive)
        driver.start()
        try:
            with pytest.raises(WorldError, match="another program is driving with the ego"):
                CarlaWorld(city_server, SPEC)
        finally:
            ended.set()
            driver.join()
        count = len(ticks)
        assert ticks == list(range(ticks[0], ticks[0] + count))
        assert first.tick().stamp.frame == ticks[-1] + 1  # it drives on unharmed


def test_a_run_whose_world_is_taken_says_so_and_leaves_the_other_alone(city_server: Address) -> None:
    """A run that does not tick, while a first picture is drawn for example, looks like one that ended."""
    with closing(CarlaWorld(city_server, SPEC)) as first:
        first.tick()
        with closing(CarlaWorld(city_server, SPEC)) as second:
            second.tick()
            with pytest.raises(WorldError, match="another program loaded a new world"):
                first.tick()
            first.close()
            before = second.tick().stamp.frame
            assert second.tick().stamp.frame == before + 1
            assert second.truth().ego_speed_mps == pytest.approx(0.0, abs=0.1)


def test_a_run_whose_world_is_taken_ends_its_traffic_manager(city_server: Address) -> None:
    """Or it would go on in this process, and drive vehicles of the other program that have the same ids."""
    with closing(CarlaWorld(city_server, replace(SPEC, traffic_vehicles=1))) as first:
        port = first.traffic.port if first.traffic is not None else 0
        assert _listens(port)
        with closing(CarlaWorld(city_server, SPEC)) as second:
            first.close()
            assert not _listens(port)
            before = second.tick().stamp.frame
            assert second.tick().stamp.frame == before + 1


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_run_whose_ego_is_destroyed_says_so(city_server: Address) -> None:
    with closing(CarlaWorld(city_server, SPEC)) as world:
        world.tick()
        other = carla.Client(city_server.host, city_server.port)
        other.set_timeout(10.0)
        other.apply_batch_sync([carla.command.DestroyActor(world.episode.ego.id)], False)
        with pytest.raises(WorldError, match="destroyed the ego"):
            world.tick()
