"""The server loop: answers clients' calls, serves streams and decides when the world advances.

One thread, one epoll loop. Calls are answered in order of arrival. A tick call is answered before the tick is computed,
so that the client and its TrafficManager can work while the cameras render.
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from embedded_carla import handlers
from embedded_carla.abandonment import AbandonmentWatch
from embedded_carla.changeover import Changeover
from embedded_carla.clients import Client, Clients
from embedded_carla.errors import ProtocolError
from embedded_carla.log import log, log_if_slow
from embedded_carla.maps.build_apart import Build
from embedded_carla.maps.loader import StillBuilding
from embedded_carla.pace import LOST_S, wake
from embedded_carla.simulation import DEFAULT_STEP_S, LISTENER_WAIT_S, Simulation
from embedded_carla.wire import rpc
from embedded_carla.wire.sockets import Sockets
from embedded_carla.wire.streaming import StreamConnection, StreamHub

FREE_RUN_STEP_S = DEFAULT_STEP_S
"""Real time, s, between ticks of an asynchronous world with a variable delta."""

MOST_WAITING = 8
"""Largest number of clients that wait for a map to be built; each may hold a map text of up to 64 MB."""

_HELD_POLL_S = 0.001
_READER_POLL_MS = 100.0
_BUILD_POLL_S = 0.02
_SEND_BUFFER_BYTES = 1 << 22


class Server:
    """Serves one `Simulation` until `stop` is called. Owns both listening sockets."""

    def __init__(self, sockets: tuple[socket.socket, socket.socket], make: Callable[[StreamHub, int], Simulation]):
        self._rpc_socket, self._stream_socket = sockets
        self.port: int = self._rpc_socket.getsockname()[1]
        self._sockets = Sockets()
        self._clients = Clients(self._sockets, self._take)
        self._hub = StreamHub(self._drop_stream)
        self.simulation = make(self._hub, self.port + 1)
        self._changing: list[Client] = []  # clients in a changeover to a new episode
        self._waiting: list[tuple[Client, rpc.Call, Build]] = []  # calls that wait for a map to be built, oldest first
        self.simulation.answers_later = True
        self._is_running = True
        self._abandonment = AbandonmentWatch()
        self._asked_s: deque[float] = deque()  # arrival times of tick calls whose frames are not made yet
        self._last_tick_s = self._frame_s = time.monotonic()
        self._sockets.watch(self._rpc_socket, lambda _: self._clients.accept(self._rpc_socket))
        self._sockets.watch(self._stream_socket, self._accept_stream)

    # ------------------------------------------------------------ loop

    def serve(self) -> None:
        """Run the loop until `stop` is called."""
        while self._is_running:
            self._sockets.serve(self._patience_s())
            self._clients.go_on()
            self._free_abandoned_world()
            if self._changing:
                self._go_on_changing()
            if self._waiting:
                self._go_on_waiting()
            self._tick_if_due()
            self._send_owed()
            if self.simulation.settings.synchronous_mode and self.simulation.traffic_managers:
                self._wake_lost_managers()

    def _send_owed(self) -> None:
        owed_s = self._hub.owed_s()
        if owed_s is not None and time.monotonic() >= owed_s:
            self.simulation.publish_owed_state()
            for connection in self._hub.connections():
                self._sockets.want(connection.sock, connection.outbox)

    def _patience_s(self) -> float:
        """Time, s, to wait for socket events; negative waits without limit."""
        if self._clients.are_behind:
            return 0.0
        if self._changing:
            return _HELD_POLL_S
        if self._waiting:
            patience_s = self._patience_of_frames_s()
            return _BUILD_POLL_S if patience_s < 0.0 else min(patience_s, _BUILD_POLL_S)
        return self._patience_of_frames_s()

    def _patience_of_frames_s(self) -> float:
        owed_s = self._hub.owed_s()
        if owed_s is not None:
            return max(owed_s - time.monotonic(), 0.0)
        if self._frame_due_s() is not None:
            return _HELD_POLL_S
        if self.simulation.settings.synchronous_mode:
            patience_s = LOST_S if self.simulation.traffic_managers else -1.0
            alone_s = self._abandonment.patience_s(time.monotonic())
            return patience_s if alone_s is None else alone_s
        return self._until_free_tick()

    def _free_abandoned_world(self) -> None:
        settings = self.simulation.settings
        if self._abandonment.is_abandoned(self._clients, settings.synchronous_mode, time.monotonic()):
            self.simulation.settings = replace(settings, synchronous_mode=False)

    def _wake_lost_managers(self) -> None:
        """Wake a TrafficManager that slept through its frame. Holding frames back (`pace`) makes this rare."""
        now_s = time.monotonic()
        for client in self._clients:
            if client.manager is not None and client.watch.is_lost(self._frame_s, now_s):
                self._frame_s = now_s
                log(f"TrafficManager at port {client.manager[1]} slept through frame {self.simulation.frame}; woken")
                try:
                    wake(*client.manager)
                except OSError as error:
                    log(f"TrafficManager at port {client.manager[1]} does not answer: {error}")
                    if not isinstance(error, TimeoutError):  # a process on a busy machine may answer the next time
                        client.manager = None

    def _frame_due_s(self) -> float | None:
        """Time since which a frame is due: the oldest unserved tick call, or the next tick of an asynchronous world.

        None when no frame is due.
        """
        if self._asked_s:
            return self._asked_s[0]
        if self.simulation.settings.synchronous_mode or self._until_free_tick() > 0.0:
            return None
        return self._last_tick_s + self._free_interval_s()

    def _tick_if_due(self) -> None:
        """Make the next frame if it is due and nothing holds it back.

        A frame waits while a client's TrafficManager is still working on the last one, and while a sensor whose client
        has called `listen()` has not connected yet. In a synchronous world it also waits for readers of the last frame.
        Calls are answered meanwhile.
        """
        due_s, now_s = self._frame_due_s(), time.monotonic()
        if due_s is None or (self.simulation.awaits_listener() and now_s - due_s < LISTENER_WAIT_S):
            return
        if self.simulation.settings.synchronous_mode and self._hub.awaits_readers(now_s):
            return
        if all(client.watch.may_tick(due_s, now_s) for client in self._clients):
            if self._asked_s:
                self._asked_s.popleft()
            self._tick()

    def stop(self) -> None:
        """Make `serve` return. May be called from a signal handler."""
        self._is_running = False
        self._sockets.wake()

    def close(self) -> None:
        self._sockets.close()
        self.simulation.close()

    def _until_free_tick(self) -> float:
        return max(self._last_tick_s + self._free_interval_s() - time.monotonic(), 0.0)

    def _free_interval_s(self) -> float:
        return self.simulation.settings.fixed_delta_seconds or FREE_RUN_STEP_S

    def _tick(self) -> None:
        """Advance the world, publish the snapshot, then measure, render and publish the sensors."""
        now_s = time.monotonic()
        delta_s = self.simulation.step_s(now_s - self._last_tick_s)
        self._last_tick_s = now_s
        self.simulation.advance(delta_s)
        now_s = log_if_slow(f"frame {self.simulation.frame}", now_s)
        self._let_managers_settle()
        self.simulation.publish_state(delta_s)
        self.simulation.publish_sensors()
        # Calls are not read while the cameras render, so a manager's silence during that time does not count as sleep.
        self._frame_s = log_if_slow(f"sensors of frame {self.simulation.frame}", now_s)
        for connection in self._hub.connections():
            self._sockets.want(connection.sock, connection.outbox)

    def _let_managers_settle(self) -> None:
        now_s = time.monotonic()
        settle_s = max((client.watch.settle_s(now_s) for client in self._clients), default=0.0)
        if settle_s > 0.0:
            time.sleep(settle_s)
        for client in self._clients:
            client.watch.on_frame()

    def _wait_for_readers(self) -> None:
        """Block until every stream reader has taken the last frame or counts as stalled."""
        while self._hub.awaits_readers(time.monotonic()):
            waiting = [c for c in self._hub.connections() if c.outbox.waiting_bytes and not c.is_stalled]
            poll = select.poll()
            for connection in waiting:
                poll.register(connection.sock, select.POLLOUT)
            poll.poll(_READER_POLL_MS)
            for connection in waiting:
                self._flush_stream(connection)

    def _flush_stream(self, connection: StreamConnection) -> None:
        try:
            connection.outbox.flush()
        except OSError:
            self._drop_stream(connection)
            connection.outbox.clear()

    # ------------------------------------------------------------ calls

    def _take(self, client: Client, call: rpc.Call) -> float:
        """Answer one call, or hand it to the client's changeover. Returns the time when that was done, monotonic s."""
        if client.changeover is None:
            return self._carry_out(client, call)
        now_s = time.monotonic()
        self._follow(client, *client.changeover.on_call(call, now_s))
        return now_s

    def _go_on_changing(self) -> None:
        clients = list(self._clients)
        for client in self._changing:
            if client in clients and client.changeover is not None:
                try:
                    self._follow(client, *client.changeover.on_time(time.monotonic()))
                except OSError:
                    client.changeover = None  # the client is gone; its socket event follows
                self._sockets.want(client.sock, client.outbox)
        self._changing = [c for c in self._changing if c in clients and c.changeover is not None]

    def _go_on_waiting(self) -> None:
        """Carry out the oldest call that waits for a map once the map is built, or drop it when its client is gone."""
        client, call, build = self._waiting[0]
        is_there = client in list(self._clients)
        if not is_there or build.is_over():
            del self._waiting[0]
        if is_there and build.is_over():
            client.waits = False
            try:
                self._carry_out(client, call)
            except OSError:
                return  # the client is gone; its socket event follows
            if not client.waits:
                self._clients.resume(client)

    def _follow(self, client: Client, answer: bytes, calls: list[rpc.Call]) -> None:
        if client.changeover is not None and client.changeover.is_over:
            client.changeover = None
        if answer:
            client.outbox.send(answer)
        for call in calls:
            self._carry_out(client, call)

    def _carry_out(self, client: Client, call: rpc.Call) -> float:
        """Answer one call. Returns the time when it was done, monotonic s."""
        now_s = time.monotonic()
        if call.method == "set_episode_settings":
            self._show_new_listeners()
        episode, self.simulation.is_shared = self.simulation.episode, len(self._clients) > 1
        if call.method == "get_episode_info":
            self.simulation.left_episode_id, client.left_episode_id = client.left_episode_id, None
        try:
            answer = handlers.answer(self.simulation, call)
        except StillBuilding as still:
            if len(self._waiting) < MOST_WAITING:
                client.waits = True
                self._waiting.append((client, call, still.build))
                return now_s
            answer = handlers.failure(call, f"{MOST_WAITING} maps wait to be built: try later")
        is_load = call.method == "load_new_episode" and self.simulation.episode is not episode
        if is_load and client.watch.has_manager:
            client.left_episode_id = episode.episode_id
            client.changeover = Changeover(answer, time.monotonic())
            self._changing.append(client)
        else:
            client.outbox.send(answer)
        now_s = log_if_slow(call.method, now_s)
        client.watch.on_call(call.method, now_s)
        if call.method == "set_episode_settings":
            self._abandonment.on_settings(client, self.simulation.settings.synchronous_mode)
        if call.method == "add_traffic_manager_running":
            match call.args:  # the manager lives in the client: use that host, not the call's
                case [[_, int(port), *_], *_] if 0 < port < 1 << 16:
                    client.manager = (client.host, port)
        if self.simulation.tick_requested:
            self.simulation.tick_requested = False
            self._asked_s.append(now_s)
            self._tick_if_due()
            return time.monotonic()
        return now_s

    def _show_new_listeners(self) -> None:
        """Before the settings of a free-running world change, make one more frame for new sensor listeners.

        In CARLA, frames pass between any two calls, and environments rely on it: they call `listen()`, stop the world
        and then read. So the frame is sent before the call is answered. A working TrafficManager does not delay it: in
        a free-running world the TrafficManager waits for no frame.
        """
        if not self.simulation.settings.synchronous_mode and self.simulation.is_heard_anew:
            self._tick()
            self._wait_for_readers()

    # ------------------------------------------------------------ streams

    def _accept_stream(self, _events: int) -> None:
        sock = self._sockets.accept(self._stream_socket)
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
            connection = StreamConnection(sock)
            self._sockets.watch(sock, lambda events: self._serve_stream(connection, events))

    def _serve_stream(self, connection: StreamConnection, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                connection.outbox.flush()
                self._sockets.want(connection.sock, connection.outbox)
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
        self._sockets.forget(connection.sock)
