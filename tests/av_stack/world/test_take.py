"""`take` waits for the data of one tick, and no longer than it makes sense."""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass

import pytest

from av_core.errors import WorldError
from av_stack.world.carla.sensors import ASK_EVERY_S, take


@dataclass(frozen=True, slots=True)
class Data:
    """What a sensor measured in a tick."""

    frame: int


def waiting(*frames: int) -> queue.SimpleQueue[Data]:
    found: queue.SimpleQueue[Data] = queue.SimpleQueue()
    for frame in frames:
        found.put(Data(frame))
    return found


def test_older_data_are_discarded() -> None:
    assert take("gnss", waiting(3, 4, 5), 5, time.monotonic()) == Data(5)


def test_a_skipped_frame_is_an_error() -> None:
    with pytest.raises(WorldError, match="skipped frame 5: its next data are of frame 6"):
        take("gnss", waiting(4, 6), 5, time.monotonic())


def test_a_silent_sensor_is_waited_for_until_the_deadline() -> None:
    begun_s = time.monotonic()
    with pytest.raises(WorldError, match="sensor gnss stays silent at frame 5"):
        take("gnss", waiting(), 5, begun_s + ASK_EVERY_S + 0.5)
    assert time.monotonic() - begun_s >= ASK_EVERY_S + 0.5


def test_a_sensor_that_is_gone_is_not_waited_for() -> None:
    begun_s = time.monotonic()
    with pytest.raises(WorldError, match="stays silent"):
        take("gnss", waiting(), 5, begun_s + 60.0, lambda: True)
    assert time.monotonic() - begun_s < 10.0
