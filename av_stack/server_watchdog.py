"""Watchdog of the CARLA server: notices that it died or hangs while CARLA's Python wheel still waits for it.

The wheel's TrafficManager runs in a C++ thread of this process. When one of its calls times out, it ends the process
without giving Python a chance, so results must be saved before that time-out, from a separate thread. While a map is
loaded the wheel waits for up to two minutes, even for a server that has died.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable

from av_stack.world.probe import VERSION_CALL
from av_stack.world.spec import Address

LATE_S = 0.5  # a step that takes longer makes the watchdog probe the server
LOOK_EVERY_S = 0.1
ANSWER_TIMEOUT_S = 2.0  # together with LATE_S less than the wheel's time-out in the loop


class ServerWatchdog:
    """Calls `on_lost` once, from its own thread, when the server at `address` is lost.

    The server is lost in three cases: it closes an idle connection and accepts no new one; `is_lost`, which may know
    the server's process, returns True; or, from the first `beat` on, a step is late and the server answers no call.
    """

    def __init__(
        self, address: Address, on_lost: Callable[[], None], is_lost: Callable[[], bool] = lambda: False
    ) -> None:
        self._address = address
        self._on_lost = on_lost
        self._knows_lost = is_lost
        self._beat_s: float | None = None
        self._ended = threading.Event()
        self._telling = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="server watchdog", daemon=True)
        self._thread.start()

    def beat(self) -> None:
        """Report that a step is done."""
        self._beat_s = time.monotonic()

    def close(self) -> None:
        """End the watch. Waits for a running `on_lost`: where that ends the process, no second end begins."""
        self._ended.set()
        with self._telling:
            pass

    def _watch(self) -> None:
        connection = self._connect()  # if the server never answered, the first call to it reports that
        while not self._ended.wait(LOOK_EVERY_S):
            is_lost = self._knows_lost() or (self._is_late() and not self._is_answering())
            if connection is not None and _is_closed(connection):
                connection.close()
                connection = self._connect()
                is_lost = is_lost or connection is None
            if is_lost:
                self._tell()
                break
        if connection is not None:
            connection.close()

    def _tell(self) -> None:
        with self._telling:
            if not self._ended.is_set():
                self._on_lost()

    def _is_late(self) -> bool:
        return self._beat_s is not None and time.monotonic() - self._beat_s > LATE_S

    def _connect(self) -> socket.socket | None:
        try:
            return socket.create_connection((self._address.host, self._address.port), ANSWER_TIMEOUT_S)
        except OSError:
            return None

    def _is_answering(self) -> bool:
        """Whether the server still answers a call; merely connecting works with a frozen server too."""
        try:
            with socket.create_connection((self._address.host, self._address.port), ANSWER_TIMEOUT_S) as probe:
                probe.sendall(VERSION_CALL)
                return bool(probe.recv(64))
        except OSError:
            return False


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other end has closed this connection, over which nothing is ever sent."""
    readable, _, _ = select.select([connection], [], [], 0.0)
    if not readable:
        return False
    try:
        return not connection.recv(64)
    except OSError:
        return True
