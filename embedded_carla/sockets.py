"""Sockets: the two that listen, and all that are open, in one epoll."""

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
from embedded_carla.outbox import Outbox

CONNECTIONS_MAX = 4096
"""Connections at a time; more are turned away. The server asks the system for as many descriptors."""

_SPIN_S = 100e-6
"""How long to look for the next call without sleeping: a client in mid conversation calls again sooner than a sleeping
process wakes. The core is offered to others all the while, and a silent server sleeps."""


def listen(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """Listening sockets for RPC (`port`) and streams (`port` + 1); with port 0, any free pair.

    Raises StartupError when they cannot be had.
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
    """Ask the system for that many descriptors, as far as it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Sockets:
    """The open sockets, what each is waited for, and who is called with its epoll events."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._on_ready: dict[int, Callable[[int], None]] = {}
        self._open: dict[int, socket.socket] = {}
        self._wanted: dict[int, int] = {}
        self._wake_reader, self._wake_writer = os.pipe()
        _allow_descriptors(CONNECTIONS_MAX + 64)
        self._spare = os.open(os.devnull, os.O_RDONLY)  # given up to turn connections away when there are too many
        self._epoll.register(self._wake_reader, select.EPOLLIN)

    def serve(self, patience_s: float) -> None:
        """Wait so long for events (for ever when negative) and hand them on."""
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
        """Call `ready` when something can be read from `sock`."""
        self._on_ready[sock.fileno()] = ready
        self._open[sock.fileno()] = sock
        self._wanted[sock.fileno()] = select.EPOLLIN
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def forget(self, sock: socket.socket) -> None:
        """Close it; a second time does nothing."""
        descriptor = sock.fileno()
        if descriptor in self._open:
            self._epoll.unregister(descriptor)
            del self._on_ready[descriptor], self._open[descriptor], self._wanted[descriptor]
        sock.close()

    def want(self, sock: socket.socket, outbox: Outbox, *, reading: bool = True, going: bool = False) -> None:
        """Say what to be woken for: what can be read, or else that the peer is `going`; and room for what waits.
        Asks the system only when that changes."""
        events = select.EPOLLIN if reading else select.EPOLLRDHUP if going else 0
        events |= select.EPOLLOUT if outbox.waiting_bytes else 0
        descriptor = sock.fileno()
        if self._wanted.get(descriptor, events) != events:
            self._wanted[descriptor] = events
            self._epoll.modify(descriptor, events)

    def accept(self, listener: socket.socket) -> socket.socket | None:
        """The connection that is to be taken; None where it has gone again or there are too many."""
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._turn_away(listener)
            return None  # else the peer has gone again
        if len(self._open) >= CONNECTIONS_MAX:
            log(f"{CONNECTIONS_MAX} connections are open: one more is turned away")
            sock.close()
            return None
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def _turn_away(self, listener: socket.socket) -> None:
        """Close a connection that there is no descriptor for: left waiting, it would keep the loop awake for ever."""
        log(f"{len(self._open)} connections are open and the system allows no more: one is turned away")
        os.close(self._spare)
        try:
            sock, _ = listener.accept()
            sock.close()
        except OSError:
            pass  # it has gone by itself
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def close(self) -> None:
        """Close all of them."""
        for sock in tuple(self._open.values()):
            sock.close()
        self._epoll.close()
        for descriptor in (self._wake_reader, self._wake_writer, self._spare):
            os.close(descriptor)
