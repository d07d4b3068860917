"""Non-blocking sockets in one epoll: the two listening sockets and all open connections."""

from __future__ import annotations

import errno
import os
import resource
import select
import socket
import time
from collections.abc import Callable

from embedded_carla.errors import StartupError
from embedded_carla.log import log
from embedded_carla.wire.outbox import Outbox

CONNECTIONS_MAX = 4096
"""Largest number of open connections; more are refused. The server raises its descriptor limit to match."""

_SPIN_S = 100e-6
"""Time, s, to poll for the next event before sleeping.

A client in mid conversation calls again sooner than a sleeping process wakes. While polling, the core is yielded to
other processes; a server without traffic sleeps.
"""


def listen(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """Listening sockets for RPC (`port`) and streams (`port` + 1); port 0 takes any free pair.

    Raises StartupError when the ports are not available.
    """
    attempts = 50 if port == 0 else 1
    for _ in range(attempts):
        first = _bind(host, port)
        try:
            return first, _bind(host, first.getsockname()[1] + 1)
        except StartupError:
            first.close()
            if attempts == 1:
                raise
    raise StartupError(f"no two free ports beside each other on {host}")


def _bind(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(128)
    except (OSError, OverflowError) as error:
        sock.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "it is in use; choose another with --port" if taken else str(error)
        raise StartupError(f"cannot listen on {host}:{port}: {why}") from error
    sock.setblocking(False)
    return sock


def _allow_descriptors(count: int) -> None:
    """Raise the limit on file descriptors to `count`, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Sockets:
    """The open sockets, the epoll events that each waits for, and the callback for each."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._on_ready: dict[int, Callable[[int], None]] = {}
        self._open: dict[int, socket.socket] = {}
        self._wanted: dict[int, int] = {}
        self._wake_reader, self._wake_writer = os.pipe()
        _allow_descriptors(CONNECTIONS_MAX + 64)
        self._spare = os.open(os.devnull, os.O_RDONLY)  # spare descriptor, closed to refuse a connection at the limit
        self._epoll.register(self._wake_reader, select.EPOLLIN)

    def serve(self, patience_s: float) -> None:
        """Wait up to `patience_s` for events (without limit when negative) and pass them to the callbacks."""
        for descriptor, events in self._events(patience_s):
            ready = self._on_ready.get(descriptor)
            if ready is not None:
                ready(events)

    def _events(self, patience_s: float) -> list[tuple[int, int]]:
        spin_s = _SPIN_S if patience_s < 0.0 else min(_SPIN_S, patience_s)
        end_s = time.monotonic() + spin_s
        while not (events := self._epoll.poll(0.0)):
            if time.monotonic() >= end_s:
                return self._epoll.poll(patience_s if patience_s < 0.0 else patience_s - spin_s)
            os.sched_yield()
        return events

    def wake(self) -> None:
        """Let `serve` return at once from now on. May be called from a signal handler."""
        os.write(self._wake_writer, b"x")

    def watch(self, sock: socket.socket, ready: Callable[[int], None]) -> None:
        """Call `ready` with the epoll events whenever `sock` is readable."""
        self._on_ready[sock.fileno()] = ready
        self._open[sock.fileno()] = sock
        self._wanted[sock.fileno()] = select.EPOLLIN
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def forget(self, sock: socket.socket) -> None:
        """Close `sock`; a second call does nothing."""
        descriptor = sock.fileno()
        if descriptor in self._open:
            self._epoll.unregister(descriptor)
            del self._on_ready[descriptor], self._open[descriptor], self._wanted[descriptor]
        sock.close()

    def want(self, sock: socket.socket, outbox: Outbox, *, reading: bool = True, going: bool = False) -> None:
        """Set the events that `sock` waits for. Calls into the system only when the events change.

        The events are readable data (`reading`), or else the peer's hang-up (`going`); and room to send while the
        outbox is not empty.
        """
        events = select.EPOLLIN if reading else select.EPOLLRDHUP if going else 0
        events |= select.EPOLLOUT if outbox.waiting_bytes else 0
        descriptor = sock.fileno()
        if self._wanted.get(descriptor, events) != events:
            self._wanted[descriptor] = events
            self._epoll.modify(descriptor, events)

    def accept(self, listener: socket.socket) -> socket.socket | None:
        """Accept a connection; None when the peer is gone again or there are too many connections."""
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._turn_away(listener)
            return None  # other errors: the peer is gone again
        if len(self._open) >= CONNECTIONS_MAX:
            log(f"{CONNECTIONS_MAX} connections are open: one more is turned away")
            sock.close()
            return None
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def _turn_away(self, listener: socket.socket) -> None:
        """Close a pending connection when no descriptor is left: while it is pending, the loop could not sleep."""
        log(f"{len(self._open)} connections are open and the system allows no more: one is turned away")
        os.close(self._spare)
        try:
            sock, _ = listener.accept()
            sock.close()
        except OSError:
            pass  # the peer is gone already
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def close(self) -> None:
        """Close all sockets and the epoll."""
        for sock in tuple(self._open.values()):
            sock.close()
        self._epoll.close()
        for descriptor in (self._wake_reader, self._wake_writer, self._spare):
            os.close(descriptor)
