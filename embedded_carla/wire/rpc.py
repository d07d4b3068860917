"""CARLA's RPC transport, msgpack-rpc over TCP: parsing and packing only, no sockets and no event loop.

`RpcSession` parses received bytes into calls; `success`, `failure` and their relatives build CARLA's `Response<T>`
wrappers, and `response` packs an answer into bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgpack

from embedded_carla.errors import ProtocolError

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Largest message. The OpenDRIVE text of a large city has some 20 MB, and no other legitimate message is as long."""

MAX_ITEMS = 1 << 17
"""Largest number of items of one array.

A five-byte header may claim four thousand million items, and the parser allocates room for them at once.
"""

LONG_METHODS = frozenset({"copy_opendrive_to_file"})
SKIPPED_METHODS = frozenset({"apply_color_texture_to_objects", "apply_float_color_texture_to_objects"})
"""Methods that are always refused. Their arguments are pictures of millions of values and are skipped unparsed."""

MAX_CALL_BYTES = 8 << 20
"""Largest size of a call that is in neither `LONG_METHODS` nor `SKIPPED_METHODS`."""

_BYTES_PER_BYTE = 64  # an empty array takes one byte on the wire and this many when parsed

_WHOLE_BYTES = 1 << 16
"""Received data up to this size is first tried as one whole call, which it nearly always is."""

_RENEW_BYTES = 1 << 20
"""After a message larger than this the parser is replaced, because it never releases its buffer."""


class Call(NamedTuple):
    """One request; `args` excludes CARLA's metadata argument."""

    message_id: int
    method: str
    args: list[Any]


def success(value: Any) -> Any:
    """A `Response<T>` with a value."""
    return ((1, value),)


def failure(message: str) -> Any:
    """A `Response<T>` with an error."""
    return ((0, (message,)),)


VOID_SUCCESS: Any = ((False,),)


def void_failure(message: str) -> Any:
    """A `Response<void>` with an error."""
    return ((True, (message,)),)


_FORMAT: dict[str, Any] = {
    "raw": False, "strict_map_key": False, "unicode_errors": "surrogateescape",
    "max_array_len": MAX_ITEMS, "max_map_len": 0, "max_ext_len": 0,
}  # fmt: skip


def _unpacker() -> Any:
    return msgpack.Unpacker(**_FORMAT, max_buffer_size=MAX_MESSAGE_BYTES)


def _whole(data: bytes) -> Call | None:
    """Parse `data` as one whole call; None when it is anything else, which the session's parser then diagnoses."""
    try:
        message = msgpack.unpackb(data, **_FORMAT)
    except (ValueError, msgpack.exceptions.UnpackException):
        return None
    if type(message) is not list or len(message) != 4:
        return None
    kind, number, method, params = message
    plain = type(kind) is int and type(number) is int and type(method) is str and type(params) is list
    if not plain or kind != 0 or not params or method in SKIPPED_METHODS:
        return None
    return Call(number, method, params[1:])


class RpcSession:
    """The parser of one connection. `held_bytes` is an upper bound on the memory of the incomplete call."""

    def __init__(self) -> None:
        self._unpacker = _unpacker()
        self._head: list[Any] = []  # type, id and method of the call being parsed
        self._begun = False
        self._call_start = self._fed = 0  # byte positions in this unpacker's stream
        self.held_bytes = 0

    def feed(self, data: bytes) -> Iterator[Call]:
        """Take in `data` at once and iterate over the complete calls, in order; calls not consumed stay queued.

        Raises ProtocolError when the bytes are not RPC requests.
        """
        if self._fed == self._call_start and len(data) <= _WHOLE_BYTES:
            call = _whole(data)
            if call is not None:
                return iter((call,))
        try:
            self._fed += len(data)
            self._unpacker.feed(data)
        except (ValueError, msgpack.exceptions.UnpackException) as error:
            raise ProtocolError(f"not msgpack: {error}") from error
        return self.calls()

    def calls(self) -> Iterator[Call]:
        """Iterate over the complete calls that were fed and not consumed. Raises ProtocolError as `feed` does."""
        while True:
            try:
                call = self._next()
            except msgpack.exceptions.OutOfData:
                self._check_length()
                return
            except (ValueError, msgpack.exceptions.UnpackException) as error:
                raise ProtocolError(f"not msgpack: {error!s:.80} ({type(error).__name__})") from error
            yield call

    def _next(self) -> Call:
        """Parse the next call. Raises OutOfData when it is incomplete; the parsed part is kept for the next attempt."""
        unpacker, head = self._unpacker, self._head
        if not self._begun:
            if unpacker.read_array_header() != 4:
                raise ProtocolError("not an RPC request: expected an array of four")
            self._begun = True
        while len(head) < 3:
            head.append(unpacker.unpack())
            if type(head[-1]) is not (str if len(head) == 3 else int) or head[0] != 0:
                raise ProtocolError("not an RPC request: expected 0, a number and a name")
        _, message_id, method = head
        if method in SKIPPED_METHODS:
            unpacker.skip()
            params: Any = [None]
        else:
            params = unpacker.unpack()
        if type(params) is not list or not params:
            raise ProtocolError("not an RPC request: expected an array of arguments")
        self._head, self._begun = [], False
        self._finish()
        return Call(message_id, method, params[1:])

    def _finish(self) -> None:
        position = self._unpacker.tell()
        size, self._call_start = position - self._call_start, position
        if size > _RENEW_BYTES:
            rest = self._unpacker.read_bytes(self._fed - position)
            self._unpacker = _unpacker()
            self._call_start, self._fed = 0, len(rest)
            self._unpacker.feed(rest)

    def _check_length(self) -> None:
        """Raise ProtocolError when the incomplete call is longer than its method allows; update `held_bytes`."""
        held = self._fed - self._call_start
        is_plain = len(self._head) == 3 and self._head[2] in LONG_METHODS | SKIPPED_METHODS
        if held > (MAX_MESSAGE_BYTES if is_plain else MAX_CALL_BYTES):
            raise ProtocolError(f"a call of more than {held >> 20} MB")
        self.held_bytes = held if is_plain else held * _BYTES_PER_BYTE


_packer = msgpack.Packer(use_bin_type=True, unicode_errors="surrogateescape")


def response(message_id: int, result: Any) -> bytes:
    return bytes(_packer.pack((1, message_id, None, result)))


def error_response(message_id: int, message: str) -> bytes:
    """An RPC error; the client raises `rpc::rpc_error during call in function ...`."""
    return bytes(_packer.pack((1, message_id, message, None)))
