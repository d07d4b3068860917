"""Send queue of a non-blocking socket."""

from __future__ import annotations

import socket
from collections import deque

from embedded_carla.types import Part


class Outbox:
    """Sends at once what the kernel accepts and queues the rest in order. `waiting_bytes` is the size of the queue."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._queue: deque[memoryview] = deque()
        self.waiting_bytes = 0

    def send(self, *parts: Part) -> None:
        """Send `parts` in order; they must not change afterwards. Raises OSError when the peer is gone."""
        sent = 0
        if not self._queue:
            try:
                sent = self._sock.sendmsg(parts)
            except BlockingIOError:
                sent = 0
        for part in parts:
            if sent < len(part):
                self._queue.append(memoryview(part)[sent:])
                self.waiting_bytes += len(part) - sent
            sent = max(sent - len(part), 0)

    def flush(self) -> None:
        """Send as much of the queue as the kernel accepts now. Raises OSError when the peer is gone."""
        while self._queue:
            head = self._queue[0]
            try:
                sent = self._sock.send(head)
            except BlockingIOError:
                return
            self.waiting_bytes -= sent
            if sent < len(head):
                self._queue[0] = head[sent:]
                return
            self._queue.popleft()

    def clear(self) -> None:
        """Discard the queue."""
        self._queue.clear()
        self.waiting_bytes = 0
