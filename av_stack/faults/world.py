"""A world with injected faults of its sensors, control and server."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from av_core.orders import Order
from av_core.types import ControlCommand, LaneGraph, SensorFrame, Truth, VehicleParameters
from av_stack.faults.fault import SERVER_FREEZE, SERVER_KILL, Fault
from av_stack.faults.inject import EARLY_S, CommandDelay, FrameFaults
from av_stack.world.base import PictureWatch, World

_SIGNALS = {SERVER_KILL: signal.SIGKILL, SERVER_FREEZE: signal.SIGSTOP}
"""The signal that is sent to the server's process, by kind of fault."""

SendSignal = Callable[[int], None]
"""Sends a signal to the server's process."""


class FaultyWorld:
    """`world` with `faults`; its `truth` is not changed.

    Pictures are not passed on before their frame, because faults are injected into whole frames. Faults of the server
    need `send_signal`. `close` closes `world`.
    """

    def __init__(
        self, world: World, faults: Sequence[Fault], camera: str, seed: int, send_signal: SendSignal | None
    ) -> None:
        self._world, self._send_signal = world, send_signal
        self._frames, self._commands = FrameFaults(faults, camera, seed), CommandDelay(faults)
        self._of_server = [fault for fault in faults if fault.kind in _SIGNALS]
        self._time_s = 0.0

    @property
    def server_version(self) -> str:
        return self._world.server_version

    @property
    def lane_graph(self) -> LaneGraph:
        return self._world.lane_graph

    @property
    def map_text(self) -> str:
        return self._world.map_text

    @property
    def vehicle(self) -> VehicleParameters:
        return self._world.vehicle

    def show_pictures(self, watch: PictureWatch) -> None:
        """Pass no picture on early."""

    def tick(self) -> SensorFrame | None:
        self._harm_server()
        frame = self._world.tick()
        if frame is None:
            return None
        self._time_s = frame.stamp.time_s
        return self._frames.alter(frame)

    def apply(self, command: ControlCommand) -> None:
        due = self._commands.due(command, self._time_s)
        if due is not None:
            self._world.apply(due)

    def direct(self, orders: Sequence[Order]) -> None:
        self._world.direct(orders)

    def truth(self) -> Truth:
        return self._world.truth()

    def close(self) -> None:
        self._world.close()

    def _harm_server(self) -> None:
        while self._of_server and self._of_server[0].from_s <= self._time_s + EARLY_S:
            fault = self._of_server.pop(0)
            assert self._send_signal is not None
            self._send_signal(_SIGNALS[fault.kind])
