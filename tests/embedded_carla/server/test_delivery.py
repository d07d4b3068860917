"""Nothing that a sensor measured is lost or sent twice in a synchronous world."""

from __future__ import annotations

import itertools
import queue
import time
from typing import Any

import pytest

carla = pytest.importorskip("carla")

SLOW_S = 1.5  # less than a frame waits for a listener that does not come


def test_each_measurement_comes_once_while_sensors_come_and_go(client: Any, server: Any) -> None:
    from tests.embedded_carla.server.delivery import run

    told = run(server.port, seed=4, frames=120, clients=4)
    assert told["changes"] > 10
    assert told["measurements"] > 200


def test_who_listens_again_at_once_misses_nothing_and_holds_nobody_up(sync_world: Any) -> None:
    """The end of the old connection and the news of the coming one reach the server in either order."""
    blueprint = sync_world.get_blueprint_library().find("sensor.other.gnss")
    sensor = sync_world.spawn_actor(blueprint, carla.Transform(carla.Location(z=10.0)))
    slowest_s = 0.0
    for _ in range(30):
        measured: queue.Queue[Any] = queue.Queue()
        sensor.listen(measured.put)
        began_s = time.monotonic()
        frame = sync_world.tick()
        slowest_s = max(slowest_s, time.monotonic() - began_s)
        assert measured.get(timeout=10.0).frame == frame
        sensor.stop()
    assert slowest_s < SLOW_S


def test_sensor_tick_holds_after_a_pause_without_listeners(sync_world: Any) -> None:
    blueprint = sync_world.get_blueprint_library().find("sensor.other.gnss")
    blueprint.set_attribute("sensor_tick", "0.2")
    sensor = sync_world.spawn_actor(blueprint, carla.Transform(carla.Location(z=10.0)))
    for pause in (10, 9, 8, 7, 6):
        measured: queue.Queue[Any] = queue.Queue()
        sensor.listen(measured.put)
        last = [sync_world.tick() for _ in range(13)][-1]
        frames = [measured.get(timeout=10.0).frame]
        while frames[-1] + 4 <= last:
            frames.append(measured.get(timeout=10.0).frame)
        assert {after - before for before, after in itertools.pairwise(frames)} == {4}
        sensor.stop()
        for _ in range(pause):
            sync_world.tick()
