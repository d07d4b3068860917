"""What is sent on a socket arrives whole and in order, however little the system takes at a time."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.wire.outbox import Outbox

MESSAGES = st.lists(st.lists(st.integers(0, 30_000), min_size=1, max_size=4), min_size=1, max_size=6)


@settings(max_examples=25, deadline=None)
@given(MESSAGES, st.integers(1, 20_000))
def test_parts_of_messages_arrive_in_order(sizes: list[list[int]], read_bytes: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        outbox, sent, got = Outbox(ours), b"", b""
        for n, message in enumerate(sizes):
            parts = [bytes([(7 * n + k) % 256]) * size for k, size in enumerate(message)]
            outbox.send(parts[0], *(memoryview(part) for part in parts[1:]))
            sent += b"".join(parts)
        while len(got) < len(sent):
            got += theirs.recv(read_bytes)
            outbox.flush()
            assert outbox.waiting_bytes <= len(sent) - len(got)
        assert got == sent
        assert outbox.waiting_bytes == 0


def test_a_peer_that_is_gone_is_told() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(OSError, match=r"."):
        Outbox(ours).send(b"12", memoryview(b"34"))
