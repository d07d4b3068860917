"""RPC connections of all clients: scheduling of their calls and limits on buffered data."""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from embedded_carla.changeover import Changeover
from embedded_carla.errors import ProtocolError
from embedded_carla.log import log
from embedded_carla.pace import TrafficManagerWatch
from embedded_carla.wire import rpc
from embedded_carla.wire.outbox import Outbox
from embedded_carla.wire.sockets import Sockets

UNREAD_BYTES = 32 << 20
"""A client with this many bytes of unread answers gets no further calls carried out until it reads."""

HELD_BYTES = 1 << 30
"""Limit on unread answers plus incomplete calls of all clients; beyond it the client that holds the most is dropped."""

_NOTABLE_BYTES = 1 << 20  # below this for one client, the sum over all clients is not computed

TURN_S = 0.02
"""Longest turn, s, of one client with queued calls before other clients get their turn."""

_READ_BYTES = 1 << 18


@dataclass(slots=True, eq=False)
class Client:
    """One RPC connection."""

    sock: socket.socket
    outbox: Outbox
    host: str = ""
    session: rpc.RpcSession = field(default_factory=rpc.RpcSession)
    manager: tuple[str, int] | None = None  # host and port of its TrafficManager
    watch: TrafficManagerWatch = field(default_factory=TrafficManagerWatch)
    changeover: Changeover | None = None
    left_episode_id: int | None = None  # the episode it left by a load, until it asks which one there is
    waits: bool = False  # a slow call is not answered yet; the client's further calls wait too


class Clients:
    """All RPC connections. `carry_out` answers one call of a client and returns its completion time, monotonic s."""

    def __init__(self, sockets: Sockets, carry_out: Callable[[Client, rpc.Call], float]) -> None:
        self._sockets = sockets
        self._carry_out = carry_out
        self._clients: list[Client] = []
        self._behind: deque[Client] = deque()  # clients with calls left when their turn ended

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[Client]:
        return iter(self._clients)

    def __contains__(self, client: object) -> bool:
        return client in self._clients

    @property
    def are_behind(self) -> bool:
        """Whether received calls wait for their client's next turn."""
        return bool(self._behind)

    def accept(self, listener: socket.socket) -> None:
        sock = self._sockets.accept(listener)
        if sock is not None:
            try:
                host = sock.getpeername()[0]
            except OSError:
                sock.close()
                return
            client = Client(sock, Outbox(sock), host)
            self._clients.append(client)
            self._sockets.watch(sock, lambda events: self._serve(client, events))

    def resume(self, client: Client) -> None:
        """Schedule a client again whose slow call has been answered."""
        client.waits = False
        if client not in self._behind:
            self._behind.append(client)

    def go_on(self) -> None:
        """Give another turn to each client with queued calls."""
        for _ in range(len(self._behind)):
            client = self._behind.popleft()
            if client in self._clients:
                try:
                    self._serve_calls(client, client.session.calls())
                except (ProtocolError, OSError) as error:
                    self._end(client, error)

    def _serve(self, client: Client, events: int) -> None:
        try:
            if events & select.EPOLLRDHUP:
                self._drop(client)
            elif events & select.EPOLLOUT:
                client.outbox.flush()
                is_free = not client.waits and client not in self._behind
                if client.outbox.waiting_bytes < UNREAD_BYTES and is_free:
                    self._serve_calls(client, client.session.calls())
            elif events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                data = client.sock.recv(_READ_BYTES)
                if data:
                    self._serve_calls(client, client.session.feed(data))
                else:
                    self._drop(client)
        except BlockingIOError:
            return
        except (ProtocolError, OSError) as error:
            self._end(client, error)

    def _serve_calls(self, client: Client, calls: Iterator[rpc.Call]) -> None:
        """Carry out calls until the client has too many unread answers or its turn is over; the rest stays queued."""
        turn_ends_s, is_behind = time.monotonic() + TURN_S, False
        for call in calls:
            is_behind = self._carry_out(client, call) > turn_ends_s
            if is_behind or client.waits or client.outbox.waiting_bytes >= UNREAD_BYTES:
                break
        is_full = client.outbox.waiting_bytes >= UNREAD_BYTES
        if is_behind and not (is_full or client.waits) and client not in self._behind:
            self._behind.append(client)
        self._sockets.want(client.sock, client.outbox, reading=not (is_behind or is_full or client.waits),
                           going=client.waits)  # fmt: skip
        if client.outbox.waiting_bytes + client.session.held_bytes > _NOTABLE_BYTES:
            self._drop_greediest()

    def _drop_greediest(self) -> None:
        """Drop the client that holds the most data when all clients together hold more than HELD_BYTES."""
        held = {id(c): c.outbox.waiting_bytes + c.session.held_bytes for c in self._clients}
        if sum(held.values()) > HELD_BYTES:
            greediest = max(self._clients, key=lambda c: held[id(c)])
            log(f"closed a client's connection: clients hold {HELD_BYTES >> 20} MB, this one the most")
            self._drop(greediest)

    def _end(self, client: Client, error: ProtocolError | OSError) -> None:
        if isinstance(error, ProtocolError):
            log(f"closed a client's connection: {error}")
        self._drop(client)

    def _drop(self, client: Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
        self._sockets.forget(client.sock)
