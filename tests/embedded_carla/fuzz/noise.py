"""Bytes that are no calls at all, and connections that come to nothing."""

from __future__ import annotations

import random
import socket
import struct

import msgpack

from tests.embedded_carla.fuzz.values import nested

REPLY_S = 20.0


def noise(rng: random.Random) -> bytes:
    """For the RPC port: not one complete honest call."""
    call = msgpack.packb([0, 7, "get_actors_by_id", [[False], list(range(50))]])
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400))
    if kind == 1:
        return bytes(call[: rng.randrange(1, len(call))])
    if kind == 2:  # headers that claim more than will come
        return rng.choice(
            (b"\xdd\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x01")
        )
    if kind == 3:
        return b"\x94\x00\x01\xa7version" + b"\x91" * rng.choice((10, 900, 5000, 300_000))
    if kind == 4:
        return bytes(msgpack.packb(nested(rng)))
    if kind == 5:
        flipped = bytearray(call * 3)
        for _ in range(rng.randrange(1, 6)):
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if kind == 6:
        return b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return b"\x94\x00\x01\xa1x\x91" + b"\xdc\xff\xff" + b"\x90" * rng.choice((100, 70_000, 500_000))


def stream_noise(rng: random.Random) -> bytes:
    """For the streaming port."""
    kind = rng.randrange(5)
    if kind == 0:
        return struct.pack("<I", rng.choice((0, 2**32 - 1, 2**31, rng.randrange(10_000, 2**32))))
    if kind == 1:
        return rng.randbytes(rng.randrange(1, 4))
    if kind == 2:
        return struct.pack("<I", 1) + rng.randbytes(rng.randrange(1, 60))
    if kind == 3:
        return struct.pack("<I", 1)
    return rng.randbytes(rng.randrange(1, 200))


def throw(port: int, data: bytes, rng: random.Random) -> socket.socket | None:
    """Send `data` on a connection of its own; the connection where it stays half open, None where it is over."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=REPLY_S)
    try:
        sock.sendall(data)
        ending = rng.randrange(4)
        if ending == 0:
            return sock
        if ending == 1:  # end with a reset
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif ending == 2:
            sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # closed in the middle, as it should be
    sock.close()
    return None
