"""What is still to be sent on a non-blocking socket."""

from __future__ import annotations

import socket
from collections import deque


class Outbox:
    """Sends at once what the kernel takes and keeps the rest in order. `waiting_bytes` is what is kept."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._queue: deque[memoryview] = deque()
        self.waiting_bytes = 0

    def send(self, data: bytes) -> None:
        """Raises OSError when the peer is gone."""
        sent = 0
        if not self._queue:
            try:
                sent = self._sock.send(data)
            except BlockingIOError:
                sent = 0
            if sent == len(data):
                return
        self._queue.append(memoryview(data)[sent:])
        self.waiting_bytes += len(data) - sent

    def flush(self) -> None:
        """Send what the kernel takes now. Raises OSError when the peer is gone."""
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
        """Forget what is kept."""
        self._queue.clear()
        self.waiting_bytes = 0
