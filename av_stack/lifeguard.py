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
SILENT_S = 2.5  # less than the wheel's time-out in the loop: a step that takes longer is lost whoever listens
LOOK_EVERY_S = 0.1
PROBE_TIMEOUT_S = 0.5


class Lifeguard:
    """Calls `on_lost` once, from its own thread, when a step is late and nobody listens at `address` any more, or when
    it is so late that the wheel is about to give up.
    """

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
            late_s = time.monotonic() - self._beat_s
            is_lost = late_s > SILENT_S or (late_s > LATE_S and not self._is_listening())
            if is_lost and not self._ended.is_set():
                self._on_lost()
                return

    def _is_listening(self) -> bool:
        try:
            with socket.create_connection((self._address.host, self._address.port), PROBE_TIMEOUT_S):
                return True
        except ConnectionRefusedError:
            return False
        except OSError:  # slow or unreachable for the moment: the tick's own time-out decides
            return True
