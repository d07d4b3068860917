"""The server: sockets, and when the world advances.

One thread, one epoll loop. Calls are answered in the order in which they arrive; a tick is answered before it is
made, so that the client and its TrafficManager go on while cameras render.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from embedded_carla import handlers, rpc
from embedded_carla.errors import ProtocolError, StartupError
from embedded_carla.log import log
from embedded_carla.outbox import Outbox
from embedded_carla.pace import TrafficManagerWatch
from embedded_carla.simulation import DEFAULT_STEP_S, Simulation
from embedded_carla.streaming import StreamConnection, StreamHub

FREE_RUN_STEP_S = DEFAULT_STEP_S
"""Real time between ticks of an asynchronous world with a variable delta."""

SLOW_READER_S = 10.0
"""A synchronous world waits this long for a reader that takes nothing, then drops its connection."""

_HELD_POLL_S = 0.001
_READ_BYTES = 1 << 18
_SEND_BUFFER_BYTES = 1 << 22


@dataclass(slots=True)
class _Client:
    """One RPC connection."""

    sock: socket.socket
    outbox: Outbox
    session: rpc.RpcSession = field(default_factory=rpc.RpcSession)
    watch: TrafficManagerWatch = field(default_factory=TrafficManagerWatch)
    asked_s: float = 0.0  # when it asked for a frame last


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


class Server:
    """Serves one `Simulation` until `stop` is called. Owns both listening sockets."""

    def __init__(self, sockets: tuple[socket.socket, socket.socket], make: Callable[[StreamHub, int], Simulation]):
        self._rpc_socket, self._stream_socket = sockets
        self.port: int = self._rpc_socket.getsockname()[1]
        self._epoll = select.epoll()
        self._on_ready: dict[int, Callable[[int], None]] = {}
        self._open: dict[int, socket.socket] = {}
        self._hub = StreamHub(self._drop_stream)
        self.simulation = make(self._hub, self.port + 1)
        self._is_running = True
        self._asking: deque[_Client] = deque()
        self._wake_reader, self._wake_writer = os.pipe()
        self._epoll.register(self._wake_reader, select.EPOLLIN)
        self._last_tick_s = time.monotonic()
        self._watch(self._rpc_socket, self._accept_client)
        self._watch(self._stream_socket, self._accept_stream)

    # ------------------------------------------------------------ loop

    def serve(self) -> None:
        """Returns after `stop`."""
        while self._is_running:
            for descriptor, events in self._epoll.poll(self._patience_s()):
                ready = self._on_ready.get(descriptor)
                if ready is not None:
                    ready(events)
            if self._asking:
                self._tick_if_asked()
            elif not self.simulation.settings.synchronous_mode and self._until_free_tick() <= 0.0:
                self._tick()

    def _patience_s(self) -> float:
        """How long to wait for events."""
        if self._asking:
            return _HELD_POLL_S
        return -1.0 if self.simulation.settings.synchronous_mode else self._until_free_tick()

    def _tick_if_asked(self) -> None:
        """Make the oldest frame asked for.

        It waits while its client's TrafficManager is still at work on the last one, and for sensors whose client has
        called `listen()` and is about to connect.
        """
        client = self._asking[0]
        if self.simulation.awaits_listener():
            return
        if client.watch.may_tick(client.asked_s, time.monotonic()):
            self._asking.popleft()
            self._tick(client.watch)

    def stop(self) -> None:
        """May be called from a signal handler."""
        self._is_running = False
        os.write(self._wake_writer, b"x")

    def close(self) -> None:
        for sock in tuple(self._open.values()):
            sock.close()
        self._epoll.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)
        self.simulation.close()

    def _until_free_tick(self) -> float:
        interval = self.simulation.settings.fixed_delta_seconds or FREE_RUN_STEP_S
        return max(self._last_tick_s + interval - time.monotonic(), 0.0)

    def _tick(self, watch: TrafficManagerWatch | None = None) -> None:
        """Advance the world, tell everyone, then render."""
        now_s = time.monotonic()
        delta_s = self.simulation.step_s(now_s - self._last_tick_s)
        self._last_tick_s = now_s
        if self.simulation.settings.synchronous_mode:
            self._wait_for_readers()
        self.simulation.advance(delta_s)
        if watch is not None:
            time.sleep(watch.settle_s(time.monotonic()))
            watch.on_frame(time.monotonic())
        self.simulation.publish_state(delta_s)
        self.simulation.publish_sensors()

    def _wait_for_readers(self) -> None:
        """No frame of a synchronous world is lost: wait until all have taken the last one, or seem dead."""
        for connection in tuple(self._hub.connections()):
            deadline_s = time.monotonic() + SLOW_READER_S
            while connection.outbox.waiting_bytes:
                before = connection.outbox.waiting_bytes
                select.select([], [connection.sock], [], 0.1)
                try:
                    connection.outbox.flush()
                except OSError:
                    self._drop_stream(connection)
                    break
                if connection.outbox.waiting_bytes < before:
                    deadline_s = time.monotonic() + SLOW_READER_S
                elif time.monotonic() > deadline_s:
                    log(f"stream {connection.stream_id}: its reader took nothing for {SLOW_READER_S:g} s; dropped")
                    self._drop_stream(connection)
                    break

    # ------------------------------------------------------------ connections

    def _watch(self, sock: socket.socket, ready: Callable[[int], None]) -> None:
        self._on_ready[sock.fileno()] = ready
        self._open[sock.fileno()] = sock
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _forget(self, sock: socket.socket) -> None:
        descriptor = sock.fileno()
        if descriptor in self._open:
            self._epoll.unregister(descriptor)
            del self._on_ready[descriptor], self._open[descriptor]
        sock.close()

    def _want_write(self, sock: socket.socket, outbox: Outbox) -> None:
        if sock.fileno() in self._open:
            self._epoll.modify(sock.fileno(), select.EPOLLIN | (select.EPOLLOUT if outbox.waiting_bytes else 0))

    def _accept(self, listener: socket.socket) -> socket.socket | None:
        try:
            sock, _ = listener.accept()
        except OSError:  # the peer has gone again, or there are no descriptors left
            return None
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    # ------------------------------------------------------------ RPC

    def _accept_client(self, _events: int) -> None:
        sock = self._accept(self._rpc_socket)
        if sock is not None:
            client = _Client(sock, Outbox(sock))
            self._watch(sock, lambda events: self._serve_client(client, events))

    def _serve_client(self, client: _Client, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                client.outbox.flush()
                self._want_write(client.sock, client.outbox)
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                data = client.sock.recv(_READ_BYTES)
                if not data:
                    self._forget(client.sock)
                    return
                for call in client.session.feed(data):
                    self._serve_call(client, call)
        except BlockingIOError:
            return
        except ProtocolError as error:
            log(f"closed a client's connection: {error}")
            self._forget(client.sock)
        except OSError:
            self._forget(client.sock)

    def _serve_call(self, client: _Client, call: rpc.Call) -> None:
        client.outbox.send(handlers.answer(self.simulation, call))
        if client.outbox.waiting_bytes:
            self._want_write(client.sock, client.outbox)
        now_s = time.monotonic()
        client.watch.on_call(call.method, now_s)
        if self.simulation.tick_requested:
            self.simulation.tick_requested = False
            client.asked_s = now_s
            self._asking.append(client)
            self._tick_if_asked()

    # ------------------------------------------------------------ streams

    def _accept_stream(self, _events: int) -> None:
        sock = self._accept(self._stream_socket)
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
            connection = StreamConnection(sock)
            self._watch(sock, lambda events: self._serve_stream(connection, events))

    def _serve_stream(self, connection: StreamConnection, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                connection.outbox.flush()
                self._want_write(connection.sock, connection.outbox)
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                data = connection.sock.recv(64)
                if not data:
                    self._drop_stream(connection)
                elif connection.receive(data):
                    self._hub.subscribe(connection)
        except BlockingIOError:
            return
        except ProtocolError as error:
            log(f"closed a stream's connection: {error}")
            self._drop_stream(connection)
        except OSError:
            self._drop_stream(connection)

    def _drop_stream(self, connection: StreamConnection) -> None:
        self._hub.unsubscribe(connection)
        self._forget(connection.sock)
