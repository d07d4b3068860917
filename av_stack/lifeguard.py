"""Notices a server that died or fell silent while the wheel still waits for it.

The wheel's TrafficManager runs in a C++ thread of this process, and when its call times out, it ends the process
without asking Python. So what is to be saved must be saved before that time-out, from a thread of our own.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from av_stack.world.spec import Address

LATE_S = 0.5  # a step that takes longer makes the guard look
LOOK_EVERY_S = 0.1
ANSWER_TIMEOUT_S = 2.0  # with LATE_S less than the wheel's time-out in the loop
VERSION_CALL = b"\x94\x00\x01\xa7version\x91\x91\xc2"  # msgpack of [0, 1, "version", [[false]]], every client's first


class Lifeguard:
    """Calls `on_lost` once, from its own thread, when a step is late and the server at `address` answers no more."""

    def __init__(self, address: Address, on_lost: Callable[[], None]) -> None:
        self._address = address
        self._on_lost = on_lost
        self._beat_s = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._guard, name="lifeguard", daemon=True)
        self._thread.start()

    def beat(self) -> None:
        """A step is done."""
        self._beat_s = time.monotonic()

    def close(self) -> None:
        self._ended.set()

    def _guard(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            is_late = time.monotonic() - self._beat_s > LATE_S
            if is_late and not self._is_answering() and not self._ended.is_set():
                self._on_lost()
                return

    def _is_answering(self) -> bool:
        """Whether the server still answers a call; a connection alone would be made for a frozen one too."""
        try:
            with socket.create_connection((self._address.host, self._address.port), ANSWER_TIMEOUT_S) as probe:
                probe.sendall(VERSION_CALL)
                return bool(probe.recv(64))
        except OSError:
            return False
