"""Clients that stop reading or leave: what becomes of the others and of a synchronous world."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from embedded_carla.abandonment import GRACE_S, AbandonmentWatch
from tests.embedded_carla.conftest import run_server

carla = pytest.importorskip("carla")

LOOK = """
import sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(20.0)
world = client.get_world()
blueprint = world.get_blueprint_library().find("sensor.camera.semantic_segmentation")
for name, value in (("image_size_x", "1600"), ("image_size_y", "900")):
    blueprint.set_attribute(name, value)
camera = world.spawn_actor(blueprint, carla.Transform(carla.Location(z=200.0), carla.Rotation(pitch=90.0)))
camera.listen(lambda picture: print(picture.frame, flush=True))
sys.stdin.read()
"""

LEAVE = """
import os, sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(20.0)
world = client.get_world()
settings = world.get_settings()
settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
world.apply_settings(settings)
world.tick()
os._exit(0)
"""


def ticks_until_seen(world: Any, seen: list[int], after: int) -> int:
    """Tick until the other client has seen a picture of a frame later than `after`; the last frame."""
    until_s, frame = time.monotonic() + 60.0, 0
    while not seen or seen[-1] <= after:
        assert time.monotonic() < until_s, f"no picture after frame {after}"
        frame = world.tick()
        time.sleep(0.05)
    return frame


def test_a_client_that_stops_reading_does_not_stall_the_others(server: Any, client: Any, sync_world: Any) -> None:
    """With full sockets each tick still comes within the client's 8 s; the reader goes on with new pictures."""
    client.set_timeout(8.0)
    seen: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", LOOK, str(server.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        output = other.stdout
        assert output is not None
        reader = threading.Thread(target=lambda: seen.extend(map(int, output)), daemon=True)
        reader.start()
        try:
            ticks_until_seen(sync_world, seen, 0)
            other.send_signal(signal.SIGSTOP)
            for _ in range(25):
                stopped_at = sync_world.tick()
            other.send_signal(signal.SIGCONT)
            last = ticks_until_seen(sync_world, seen, stopped_at)
            assert seen == sorted(set(seen))
            assert seen[-1] <= last
        finally:
            other.kill()
    reader.join(10.0)


def test_a_world_that_a_client_left_synchronous_runs_on() -> None:
    with run_server() as server:
        subprocess.run([sys.executable, "-c", LEAVE, str(server.port)], timeout=60, check=True)
        time.sleep(GRACE_S + 1.0)
        client = carla.Client("127.0.0.1", server.port)
        client.set_timeout(10.0)
        world = client.get_world()
        assert not world.get_settings().synchronous_mode
        assert world.get_settings().fixed_delta_seconds == pytest.approx(0.05)
        first = world.wait_for_tick().frame
        assert world.wait_for_tick().frame > first


def test_the_next_client_may_come_a_moment_later(capsys: pytest.CaptureFixture[str]) -> None:
    setter, driver = object(), object()
    watch = AbandonmentWatch()
    watch.on_settings(setter, True)  # type: ignore[arg-type]
    assert not watch.is_abandoned([setter], True, 0.0)  # type: ignore[list-item]
    assert watch.patience_s(0.0) is None
    assert not watch.is_abandoned([], True, 10.0)
    assert watch.patience_s(11.0) == pytest.approx(GRACE_S - 1.0)
    assert "left" in capsys.readouterr().err
    assert not watch.is_abandoned([driver], True, 10.0 + GRACE_S)  # type: ignore[list-item]
    assert not watch.is_abandoned([], True, 50.0)
    assert not watch.is_abandoned([], True, 50.0 + GRACE_S - 0.1)
    assert watch.is_abandoned([], True, 50.0 + GRACE_S)
    assert "asynchronous" in capsys.readouterr().err
