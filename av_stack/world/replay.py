"""`World` over a recording of `av-stack run`: it plays the recorded measurements; its ego obeys no commands."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from av_core.errors import ConfigError, WorldError
from av_core.orders import Order
from av_core.types import CameraImage, ControlCommand, LaneGraph, SensorFrame, Truth, VehicleParameters
from av_stack.recording.exact.reader import DriveReader, RecordedTick
from av_stack.recording.exact.setup import DriveSetup
from av_stack.world.base import PictureWatch
from av_stack.world.carla.map import lane_graph_of_text

TICKS_AHEAD = 8
"""Number of ticks that are read in advance, with their pictures decoded."""

Look = Callable[[CameraImage], None]
"""Function that gets each picture before `tick` returns it, in the thread that reads in advance."""


class ReplayWorld:
    """Plays one recording, which a thread of its own reads in advance.

    `recorded` is the tick that `tick` returned last. A recording without lossless pictures gives frames without
    cameras. If the recording cannot be read to its end, `problem` says why, once `tick` has returned None. Raises
    ConfigError where the file cannot be replayed.
    """

    def __init__(self, path: Path) -> None:
        self.reader = DriveReader(path)
        self.recorded: RecordedTick | None = None
        self._watch: PictureWatch | None = None
        self._ahead: _Ahead | None = None
        self._look: Look | None = None
        try:
            self._graph = lane_graph_of_text(self.setup.map_text, self.setup.map_name)
        except WorldError as error:
            self.close()
            raise ConfigError(f"{path}: {error}") from None

    @property
    def setup(self) -> DriveSetup:
        return self.reader.setup

    @property
    def problem(self) -> str | None:
        return self.reader.problem

    def leave_out_pictures(self) -> None:
        """Give frames without cameras, which is faster; call it before the first tick."""
        self.reader.has_pictures = False

    def look_ahead(self, look: Look) -> None:
        """Pass each picture to `look` as soon as it is read, some ticks in advance; call it before the first tick."""
        self._look = look

    @property
    def server_version(self) -> str:
        return self.setup.server_version

    @property
    def lane_graph(self) -> LaneGraph:
        return self._graph

    @property
    def map_text(self) -> str:
        return self.setup.map_text

    @property
    def vehicle(self) -> VehicleParameters:
        return self.setup.vehicle

    def show_pictures(self, watch: PictureWatch) -> None:
        self._watch = watch

    def tick(self) -> SensorFrame | None:
        if self._ahead is None:
            self._ahead = _Ahead(_shown(self.reader.ticks(), self._look))
        tick = self._ahead.next()
        if tick is None:
            return None
        self.recorded = tick
        if self._watch is not None:
            for name, image in tick.frame.cameras.items():
                self._watch(name, image.bgr)
        return tick.frame

    def apply(self, command: ControlCommand) -> None:
        """A recorded ego does not obey."""

    def direct(self, orders: Sequence[Order]) -> None:
        """Recorded actors do not obey."""

    def truth(self) -> Truth:
        if self.recorded is None:
            raise WorldError("a recorded world knows the truth from its first tick on")
        return self.recorded.truth

    def close(self) -> None:
        self._watch = None
        if self._ahead is not None:
            self._ahead.close()
        self.reader.close()


class _Ahead:
    """Takes ticks from `source` in a thread, at most `TICKS_AHEAD` before they are asked for."""

    def __init__(self, source: Iterator[RecordedTick]) -> None:
        self._source = source
        self._queue: queue.Queue[RecordedTick | BaseException | None] = queue.Queue(TICKS_AHEAD)
        self._is_closed = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="replay ahead", daemon=True)
        self._thread.start()

    def next(self) -> RecordedTick | None:
        """The next tick; None at the end, and from then on."""
        if self._is_over:
            return None
        found = self._queue.get()
        self._is_over = not isinstance(found, RecordedTick)
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """End the thread, and wake a caller that waits in `next`."""
        self._is_closed.set()
        while self._thread.is_alive():
            self._empty()
            self._thread.join(0.01)
        self._empty()
        self._queue.put(None)

    def _empty(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()

    def _work(self) -> None:
        last: BaseException | None = None
        try:
            for tick in self._source:
                self._queue.put(tick)
                if self._is_closed.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - raised again by `next`, in the thread that asks
            last = error
        self._queue.put(last)


def _shown(ticks: Iterator[RecordedTick], look: Look | None) -> Iterator[RecordedTick]:
    """The same ticks; the pictures of each are passed to `look` first, if it is given."""
    for tick in ticks:
        if look is not None:
            for image in tick.frame.cameras.values():
                look(image)
        yield tick
