"""CARLA's sensor and episode streams: subscriptions and the messages sent to them.

A client opens one TCP connection per subscription, sends the stream's id (u32) and then only reads messages `size u32,
payload`. Stream 1 is the episode's state; sensors have 2, 3, ...
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence

from embedded_carla.errors import ProtocolError
from embedded_carla.log import log
from embedded_carla.types import Part
from embedded_carla.wire.outbox import Outbox

EPISODE_STREAM = 1
QUIET_AFTER_LOAD_S = 0.2
"""Time, s, for which connections of the old episode get no data after a map was loaded.

The client crashes now and then (bad_weak_ptr, "close: Bad file descriptor") if data arrives on its old episode stream
while it swaps episodes.
"""

STALLED_S = 2.0
"""Time, s, that a synchronous world waits for a reader that takes no data; it is less than clients' usual time-outs.

After it, the world goes on without this reader until the reader has taken what was sent.
"""

_LENGTH = struct.Struct("<I")


class StreamConnection:
    """One subscription; `stream_id` is 0 until the client has sent the id."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.outbox = Outbox(sock)
        self.stream_id = 0
        self.quiet_until_s = 0.0
        self.missed_map_change = False
        self.missed_frame = False  # a snapshot was skipped during the quiet time
        self.is_stalled = False  # the reader takes no data: frames neither wait for it nor are sent to it
        self._left_bytes = 0  # bytes that waited at the last check
        self._progress_s = 0.0
        self._hello = b""

    @property
    def is_full(self) -> bool:
        """Whether the reader has stalled before the end of a message."""
        return self.is_stalled and self.outbox.waiting_bytes > 0

    def is_awaited(self, now_s: float) -> bool:
        """Whether the next frame should wait for this reader: it has not taken all of the last one, nor stalled."""
        left, before = self.outbox.waiting_bytes, self._left_bytes
        self._left_bytes = left
        if not left:
            if self.is_stalled:
                log(f"stream {self.stream_id}: its reader reads again")
            self.is_stalled = False
            return False
        if left != before:
            self._progress_s = now_s
        elif not self.is_stalled and now_s - self._progress_s >= STALLED_S:
            self.is_stalled = True
            log(f"stream {self.stream_id}: its reader took nothing for {STALLED_S:g} s; frames are left out for it")
        return not self.is_stalled

    def receive(self, data: bytes) -> bool:
        """Take the client's bytes; True when they complete the stream's id. Raises ProtocolError on further bytes."""
        if self.stream_id:
            raise ProtocolError("a subscriber sends nothing but the stream's id")
        self._hello += data
        if len(self._hello) > _LENGTH.size:
            raise ProtocolError("a subscriber sends nothing but the stream's id")
        if len(self._hello) < _LENGTH.size:
            return False
        (self.stream_id,) = _LENGTH.unpack(self._hello)
        if not self.stream_id:
            raise ProtocolError("there is no stream 0")
        return True


class StreamHub:
    """All subscriptions by stream. `on_broken` is called for a connection whose peer is gone."""

    def __init__(self, on_broken: Callable[[StreamConnection], None]) -> None:
        self._by_stream: dict[int, list[StreamConnection]] = {}
        self._on_broken = on_broken

    def subscribe(self, connection: StreamConnection) -> None:
        self._by_stream.setdefault(connection.stream_id, []).append(connection)

    def unsubscribe(self, connection: StreamConnection) -> None:
        listeners = self._by_stream.get(connection.stream_id, [])
        if connection in listeners:
            listeners.remove(connection)
        if not listeners:
            self._by_stream.pop(connection.stream_id, None)

    def has_listener(self, stream_id: int) -> bool:
        return stream_id in self._by_stream

    def connections(self) -> Iterator[StreamConnection]:
        for listeners in self._by_stream.values():
            yield from listeners

    def awaits_readers(self, now_s: float) -> bool:
        """Whether the next frame of a synchronous world must wait, so that no active reader loses a frame."""
        awaited = [connection for connection in self.connections() if connection.is_awaited(now_s)]
        return bool(awaited)

    def send(self, stream_id: int, *payload: Part, may_drop: bool) -> None:
        """Send the concatenated parts of `payload` to every listener.

        With `may_drop`, listeners that have not yet taken the previous message are skipped.
        """
        message = (_LENGTH.pack(sum(map(len, payload))), *payload)
        for connection in tuple(self._by_stream.get(stream_id, ())):
            self._deliver(connection, message, may_drop)

    def send_episode(self, plain: bytes, map_changed: Callable[[], bytes], now_s: float, *, may_drop: bool) -> None:
        """Send the episode's state; listeners connected before a map change get the `map_changed` form once."""
        message = (_LENGTH.pack(len(plain)), plain)
        for connection in tuple(self._by_stream.get(EPISODE_STREAM, ())):
            if connection.is_full:
                continue
            if now_s < connection.quiet_until_s:
                connection.missed_frame = True
                continue
            connection.missed_frame = False
            if connection.missed_map_change:
                connection.missed_map_change = False
                changed = map_changed()
                self._deliver(connection, (_LENGTH.pack(len(changed)), changed), may_drop=False)
            else:
                self._deliver(connection, message, may_drop)

    def quiet_old_episode(self, now_s: float, quiet_s: float = QUIET_AFTER_LOAD_S) -> None:
        """After a map load, send nothing to existing episode connections for `quiet_s`; then tell them of the map."""
        for connection in self._by_stream.get(EPISODE_STREAM, ()):
            connection.quiet_until_s = now_s + quiet_s
            connection.missed_map_change = True

    def owed_s(self) -> float | None:
        """Earliest time at which a connection that missed a snapshot may receive one; None if none missed one."""
        waiting = [c.quiet_until_s for c in self._by_stream.get(EPISODE_STREAM, ()) if c.missed_frame and not c.is_full]
        return min(waiting, default=None)

    def send_owed(self, map_changed: bytes, now_s: float) -> None:
        """Send the missed snapshot to connections whose quiet time is over.

        In a synchronous world the next regular snapshot may be far away.
        """
        message = (_LENGTH.pack(len(map_changed)), map_changed)
        for connection in tuple(self._by_stream.get(EPISODE_STREAM, ())):
            if connection.missed_frame and now_s >= connection.quiet_until_s and not connection.is_full:
                connection.missed_frame = connection.missed_map_change = False
                self._deliver(connection, message, may_drop=False)

    def _deliver(self, connection: StreamConnection, message: Sequence[Part], may_drop: bool) -> None:
        if connection.is_full or (may_drop and connection.outbox.waiting_bytes):
            return
        try:
            connection.outbox.send(*message)
        except OSError:
            self._on_broken(connection)
