"""The server: sockets, and when the world advances.

One thread, one epoll loop. Calls are answered in the order in which they arrive; a tick is answered before it is
made, so that the client and its TrafficManager go on while cameras render.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from embedded_carla import handlers, rpc
from embedded_carla.errors import ProtocolError, StartupError
from embedded_carla.log import log, log_if_slow
from embedded_carla.outbox import Outbox
from embedded_carla.pace import LOST_S, TrafficManagerWatch, wake
from embedded_carla.simulation import DEFAULT_STEP_S, LISTENER_WAIT_S, Simulation
from embedded_carla.streaming import StreamConnection, StreamHub

FREE_RUN_STEP_S = DEFAULT_STEP_S
"""Real time between ticks of an asynchronous world with a variable delta."""

SLOW_READER_S = 10.0
"""A synchronous world waits this long for a reader that takes nothing, then drops its connection."""

UNREAD_BYTES = 32 << 20
"""A client that leaves this much of its answers unread gets none of its further calls carried out until it reads."""

HELD_BYTES = 1 << 30
"""What unread answers and incomplete calls of all clients may take together; then the greediest client goes."""

_NOTABLE_BYTES = 1 << 20  # less than this of one client is not worth counting everyone's

CONNECTIONS_MAX = 4096
"""Connections at a time; more are turned away. The server asks the system for as many descriptors."""

TURN_S = 0.02
"""For how long the calls that one client has sent in advance are carried out before others have their turn."""

_SPIN_S = 100e-6
"""How long to look for the next call without sleeping: a client in mid conversation calls again sooner than a sleeping
process wakes. The core is offered to others all the while, and a silent server sleeps."""

_HELD_POLL_S = 0.001
_READ_BYTES = 1 << 18
_SEND_BUFFER_BYTES = 1 << 22


@dataclass(slots=True)
class _Client:
    """One RPC connection."""

    sock: socket.socket
    outbox: Outbox
    host: str = ""
    session: rpc.RpcSession = field(default_factory=rpc.RpcSession)
    manager: tuple[str, int] | None = None  # where its TrafficManager listens
    watch: TrafficManagerWatch = field(default_factory=TrafficManagerWatch)


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


class Server:
    """Serves one `Simulation` until `stop` is called. Owns both listening sockets."""

    def __init__(self, sockets: tuple[socket.socket, socket.socket], make: Callable[[StreamHub, int], Simulation]):
        self._rpc_socket, self._stream_socket = sockets
        self.port: int = self._rpc_socket.getsockname()[1]
        self._epoll = select.epoll()
        self._on_ready: dict[int, Callable[[int], None]] = {}
        self._open: dict[int, socket.socket] = {}
        self._wanted: dict[int, int] = {}
        self._hub = StreamHub(self._drop_stream)
        self.simulation = make(self._hub, self.port + 1)
        self._is_running = True
        self._asked_s: deque[float] = deque()  # when frames were asked for that are still to be made
        self._clients: list[_Client] = []
        self._behind: deque[_Client] = deque()  # clients whose turn ended before their calls did
        self._wake_reader, self._wake_writer = os.pipe()
        _allow_descriptors(CONNECTIONS_MAX + 64)
        self._spare = os.open(os.devnull, os.O_RDONLY)  # given up to turn connections away when there are too many
        self._epoll.register(self._wake_reader, select.EPOLLIN)
        self._last_tick_s = self._frame_s = time.monotonic()
        self._watch(self._rpc_socket, self._accept_client)
        self._watch(self._stream_socket, self._accept_stream)

    # ------------------------------------------------------------ loop

    def serve(self) -> None:
        """Returns after `stop`."""
        while self._is_running:
            for descriptor, events in self._events():
                ready = self._on_ready.get(descriptor)
                if ready is not None:
                    ready(events)
            for _ in range(len(self._behind)):
                self._go_on_serving(self._behind.popleft())
            self._tick_if_due()
            self._send_owed()
            if self.simulation.settings.synchronous_mode and self.simulation.traffic_managers:
                self._wake_lost_managers()

    def _events(self) -> list[tuple[int, int]]:
        """What has happened on the sockets, or nothing when it is time for something else."""
        patience_s = self._patience_s()
        spin_s = _SPIN_S if patience_s < 0.0 else min(_SPIN_S, patience_s)
        end_s = time.monotonic() + spin_s
        while not (events := self._epoll.poll(0.0)):
            if time.monotonic() >= end_s:
                return self._epoll.poll(patience_s if patience_s < 0.0 else patience_s - spin_s)
            os.sched_yield()
        return events

    def _send_owed(self) -> None:
        owed_s = self._hub.owed_s()
        if owed_s is not None and time.monotonic() >= owed_s:
            self.simulation.publish_owed_state()
            for connection in self._hub.connections():
                self._want(connection.sock, connection.outbox)

    def _patience_s(self) -> float:
        """How long to wait for events."""
        if self._behind:
            return 0.0
        owed_s = self._hub.owed_s()
        if owed_s is not None:
            return max(owed_s - time.monotonic(), 0.0)
        if self._frame_due_s() is not None:
            return _HELD_POLL_S
        if self.simulation.settings.synchronous_mode:
            return LOST_S if self.simulation.traffic_managers else -1.0
        return self._until_free_tick()

    def _wake_lost_managers(self) -> None:
        """What the hold of frames makes rare, this heals: a TrafficManager that sleeps through its frame."""
        now_s = time.monotonic()
        for client in self._clients:
            if client.manager is not None and client.watch.is_lost(self._frame_s, now_s):
                self._frame_s = now_s
                log(f"TrafficManager at port {client.manager[1]} slept through frame {self.simulation.frame}; woken")
                try:
                    wake(*client.manager)
                except OSError as error:
                    log(f"TrafficManager at port {client.manager[1]} does not answer: {error}")
                    client.manager = None

    def _frame_due_s(self) -> float | None:
        """Since when a frame is due: the oldest that was asked for, or the next one of an asynchronous world."""
        if self._asked_s:
            return self._asked_s[0]
        if self.simulation.settings.synchronous_mode or self._until_free_tick() > 0.0:
            return None
        return self._last_tick_s + self._free_interval_s()

    def _tick_if_due(self) -> None:
        """Make a frame that is due.

        It waits while a client's TrafficManager is still at work on the last one, and for sensors whose client has
        called `listen()` and is about to connect.
        """
        due_s, now_s = self._frame_due_s(), time.monotonic()
        if due_s is None or (self.simulation.awaits_listener() and now_s - due_s < LISTENER_WAIT_S):
            return
        if all(client.watch.may_tick(due_s, now_s) for client in self._clients):
            if self._asked_s:
                self._asked_s.popleft()
            self._tick()

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
        os.close(self._spare)
        self.simulation.close()

    def _until_free_tick(self) -> float:
        return max(self._last_tick_s + self._free_interval_s() - time.monotonic(), 0.0)

    def _free_interval_s(self) -> float:
        return self.simulation.settings.fixed_delta_seconds or FREE_RUN_STEP_S

    def _tick(self) -> None:
        """Advance the world, tell everyone, then render."""
        now_s = time.monotonic()
        delta_s = self.simulation.step_s(now_s - self._last_tick_s)
        self._last_tick_s = now_s
        if self.simulation.settings.synchronous_mode:
            self._wait_for_readers()
            now_s = log_if_slow("waiting for clients to read the last frame", now_s)
        self.simulation.advance(delta_s)
        now_s = log_if_slow(f"frame {self.simulation.frame}", now_s)
        self._let_managers_settle()
        self.simulation.publish_state(delta_s)
        self.simulation.publish_sensors()
        # Nobody is heard while pictures are drawn: that is no sleep of theirs.
        self._frame_s = log_if_slow(f"sensors of frame {self.simulation.frame}", now_s)
        for connection in self._hub.connections():
            self._want(connection.sock, connection.outbox)

    def _let_managers_settle(self) -> None:
        now_s = time.monotonic()
        settle_s = max((client.watch.settle_s(now_s) for client in self._clients), default=0.0)
        if settle_s > 0.0:
            time.sleep(settle_s)
        for client in self._clients:
            client.watch.on_frame()

    def _wait_for_readers(self) -> None:
        """No frame of a synchronous world is lost: wait until all have taken the last one, or seem dead."""
        waiting = [c for c in self._hub.connections() if c.outbox.waiting_bytes]
        deadline_s = time.monotonic() + SLOW_READER_S
        while waiting:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0.0:
                for connection in waiting:
                    log(f"stream {connection.stream_id}: its reader lags by {SLOW_READER_S:g} s; dropped")
                    self._drop_stream(connection)
                return
            poll = select.poll()
            for connection in waiting:
                poll.register(connection.sock, select.POLLOUT)
            poll.poll(1e3 * left_s)
            for connection in waiting:
                self._flush_stream(connection)
            waiting = [c for c in waiting if c.outbox.waiting_bytes]

    def _flush_stream(self, connection: StreamConnection) -> None:
        try:
            connection.outbox.flush()
        except OSError:
            self._drop_stream(connection)
            connection.outbox.clear()

    # ------------------------------------------------------------ connections

    def _watch(self, sock: socket.socket, ready: Callable[[int], None]) -> None:
        self._on_ready[sock.fileno()] = ready
        self._open[sock.fileno()] = sock
        self._wanted[sock.fileno()] = select.EPOLLIN
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _forget(self, sock: socket.socket) -> None:
        descriptor = sock.fileno()
        if descriptor in self._open:
            self._epoll.unregister(descriptor)
            del self._on_ready[descriptor], self._open[descriptor], self._wanted[descriptor]
        sock.close()

    def _want(self, sock: socket.socket, outbox: Outbox, *, reading: bool = True) -> None:
        """Say what to be woken for; asks the system only when that changes."""
        events = (select.EPOLLIN if reading else 0) | (select.EPOLLOUT if outbox.waiting_bytes else 0)
        descriptor = sock.fileno()
        if self._wanted.get(descriptor, events) != events:
            self._wanted[descriptor] = events
            self._epoll.modify(descriptor, events)

    def _accept(self, listener: socket.socket) -> socket.socket | None:
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

    # ------------------------------------------------------------ RPC

    def _accept_client(self, _events: int) -> None:
        sock = self._accept(self._rpc_socket)
        if sock is not None:
            try:
                host = sock.getpeername()[0]
            except OSError:
                sock.close()
                return
            client = _Client(sock, Outbox(sock), host)
            self._clients.append(client)
            self._watch(sock, lambda events: self._serve_client(client, events))

    def _serve_client(self, client: _Client, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                client.outbox.flush()
                if client.outbox.waiting_bytes < UNREAD_BYTES and client not in self._behind:
                    self._serve_calls(client, client.session.calls())
            elif events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                data = client.sock.recv(_READ_BYTES)
                if not data:
                    self._drop_client(client)
                    return
                self._serve_calls(client, client.session.feed(data))
        except BlockingIOError:
            return
        except ProtocolError as error:
            log(f"closed a client's connection: {error}")
            self._drop_client(client)
        except OSError:
            self._drop_client(client)

    def _serve_calls(self, client: _Client, calls: Iterator[rpc.Call]) -> None:
        """Carry out calls until the client has too much to read or its turn is over; the rest waits, unread."""
        turn_ends_s, is_behind = time.monotonic() + TURN_S, False
        for call in calls:
            is_behind = self._serve_call(client, call) > turn_ends_s
            if is_behind or client.outbox.waiting_bytes >= UNREAD_BYTES:
                break
        is_full = client.outbox.waiting_bytes >= UNREAD_BYTES
        if is_behind and not is_full and client not in self._behind:
            self._behind.append(client)
        self._want(client.sock, client.outbox, reading=not (is_behind or is_full))
        if client.outbox.waiting_bytes + client.session.held_bytes > _NOTABLE_BYTES:
            self._drop_greediest()

    def _go_on_serving(self, client: _Client) -> None:
        """Another turn for a client that has sent calls in advance."""
        if client in self._clients:
            try:
                self._serve_calls(client, client.session.calls())
            except ProtocolError as error:
                log(f"closed a client's connection: {error}")
                self._drop_client(client)
            except OSError:
                self._drop_client(client)

    def _drop_greediest(self) -> None:
        """Keep what all clients leave lying within bounds."""
        held = {id(c): c.outbox.waiting_bytes + c.session.held_bytes for c in self._clients}
        if sum(held.values()) > HELD_BYTES:
            greediest = max(self._clients, key=lambda c: held[id(c)])
            log(f"closed a client's connection: clients hold {HELD_BYTES >> 20} MB, this one the most")
            self._drop_client(greediest)

    def _drop_client(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
        self._forget(client.sock)

    def _serve_call(self, client: _Client, call: rpc.Call) -> float:
        """Carry out one call; when it was done, in monotonic seconds."""
        now_s = time.monotonic()
        if call.method == "set_episode_settings":
            self._show_new_listeners()
        client.outbox.send(handlers.answer(self.simulation, call))
        now_s = log_if_slow(call.method, now_s)
        client.watch.on_call(call.method, now_s)
        if call.method == "add_traffic_manager_running":
            match call.args:  # the manager lives in the client: whatever host the call names, none other is spoken to
                case [[_, int(port), *_], *_] if 0 < port < 1 << 16:
                    client.manager = (client.host, port)
        if self.simulation.tick_requested:
            self.simulation.tick_requested = False
            self._asked_s.append(now_s)
            self._tick_if_due()
            return time.monotonic()
        return now_s

    def _show_new_listeners(self) -> None:
        """One more frame of a free-running world before its settings change, for those who have just begun to listen.

        Between any two calls to CARLA frames pass. Environments rely on it: they listen, stop the world and look.
        """
        now_s = time.monotonic()
        if self.simulation.settings.synchronous_mode or not self.simulation.is_heard_anew:
            return
        if all(client.watch.may_tick(now_s, now_s) for client in self._clients):
            self._tick()

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
                self._want(connection.sock, connection.outbox)
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                data = connection.sock.recv(64)
                if not data:
                    self._drop_stream(connection)
                elif connection.receive(data):
                    if not self.simulation.has_stream(connection.stream_id):
                        raise ProtocolError(f"there is no stream {connection.stream_id}")
                    self._hub.subscribe(connection)
                    self.simulation.listener_came(connection.stream_id)
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
