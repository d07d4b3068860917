"""Finds out what listens at an address, without CARLA's wheel: a CARLA server, something else, or nothing."""

from __future__ import annotations

import socket
import time

from av_core.errors import WorldError
from av_stack.world.spec import Address

VERSION_CALL = b"\x94\x00\x01\xa7version\x91\x91\xc2"
"""msgpack of [0, 1, "version", [[false]]], the first call of every CARLA client."""
ANSWER_START = 0x94
"""msgpack of an array of four, with which every answer to a call begins."""
PROBE_TIMEOUT_S = 5.0
NUDGE_AFTER_S = 2.0
"""After this silence a line end is sent: a server of a line-based protocol (HTTP) waits for one."""


def check_server(address: Address, timeout_s: float = PROBE_TIMEOUT_S) -> None:
    """Return if a CARLA server answers at `address`; otherwise raise WorldError that says what is there instead."""
    try:
        with socket.create_connection((address.host, address.port), timeout_s) as connection:
            answer = _first_answer(connection, timeout_s)
    except socket.gaierror:
        raise WorldError(f"no CARLA server answers at {address}: the host name {address.host} is not known") from None
    except ConnectionRefusedError:
        raise WorldError(f"no CARLA server answers at {address}: nothing listens at port {address.port}") from None
    except TimeoutError:
        raise WorldError(f"no CARLA server answers at {address}: no connection within {timeout_s:g} s") from None
    except OSError as error:
        raise WorldError(f"no CARLA server answers at {address}: {error.strerror or error}") from None
    if answer is None:
        raise WorldError(
            f"no CARLA server answers at {address}: something listens there, but did not answer within {timeout_s:g} s"
        )
    if not answer:
        raise WorldError(f"no CARLA server answers at {address}: the connection was closed without an answer")
    if answer[0] != ANSWER_START:
        line = "".join(c for c in answer.decode("latin-1").splitlines()[0] if c.isprintable())[:40]
        raise WorldError(f"what listens at {address} is not a CARLA server; it answered {line!r}")


def _first_answer(connection: socket.socket, timeout_s: float) -> bytes | None:
    """The answer to a version call; empty when the connection is closed, None after `timeout_s` of silence."""
    deadline_s = time.monotonic() + timeout_s
    connection.sendall(VERSION_CALL)
    connection.settimeout(min(NUDGE_AFTER_S, timeout_s))
    try:
        return connection.recv(256)
    except TimeoutError:
        pass
    left_s = deadline_s - time.monotonic()
    if left_s <= 0.0:
        return None
    connection.sendall(b"\r\n\r\n")
    connection.settimeout(left_s)
    try:
        return connection.recv(256)
    except TimeoutError:
        return None
