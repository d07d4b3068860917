"""CARLA's RPC transport: msgpack-rpc over plain TCP, without sockets or an event loop.

`RpcSession` turns received bytes into calls and answers into bytes; `Answer` builds the result wrappers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgpack

from embedded_carla.errors import ProtocolError

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""An OpenDRIVE text of a large city has some 20 MB, and nothing else that is honest is as long."""

MAX_ITEMS = 1 << 17
"""Of one array. A header of five bytes may claim four thousand million items, and room for them is taken at once."""


class Call(NamedTuple):
    """One request; `args` excludes CARLA's metadata."""

    message_id: int
    method: str
    args: list[Any]


def success(value: Any) -> Any:
    """Response<T> with a value."""
    return ((1, value),)


def failure(message: str) -> Any:
    """Response<T> with an error."""
    return ((0, (message,)),)


VOID_SUCCESS: Any = ((False,),)


def void_failure(message: str) -> Any:
    """Response<void> with an error."""
    return ((True, (message,)),)


class RpcSession:
    """The parser of one connection."""

    def __init__(self) -> None:
        self._unpacker = msgpack.Unpacker(
            raw=False, strict_map_key=False, unicode_errors="surrogateescape", max_buffer_size=MAX_MESSAGE_BYTES,
            max_array_len=MAX_ITEMS, max_map_len=0, max_ext_len=0,
        )  # fmt: skip

    def feed(self, data: bytes) -> Iterator[Call]:
        """Take `data` at once, and give the calls that are complete, in order; those not asked for stay for later.

        Raises ProtocolError when the bytes are not RPC requests.
        """
        try:
            self._unpacker.feed(data)
        except (ValueError, msgpack.exceptions.UnpackException) as error:
            raise ProtocolError(f"not msgpack: {error}") from error
        return self.calls()

    def calls(self) -> Iterator[Call]:
        """What is complete of what was fed. Raises ProtocolError as `feed` does."""
        try:
            for message in self._unpacker:
                yield _call(message)
        except ProtocolError:
            raise
        except (ValueError, msgpack.exceptions.UnpackException) as error:
            raise ProtocolError(f"not msgpack: {error!s:.80} ({type(error).__name__})") from error


def _call(message: Any) -> Call:
    if not isinstance(message, list) or len(message) != 4 or message[0] != 0:
        raise ProtocolError(f"not an RPC request: {message!r:.80}")
    _, message_id, method, params = message
    if not isinstance(message_id, int) or not isinstance(method, str) or not isinstance(params, list) or not params:
        raise ProtocolError(f"not an RPC request: {message!r:.80}")
    return Call(message_id, method, params[1:])


_packer = msgpack.Packer(use_bin_type=True, unicode_errors="surrogateescape")


def response(message_id: int, result: Any) -> bytes:
    return bytes(_packer.pack((1, message_id, None, result)))


def error_response(message_id: int, message: str) -> bytes:
    """The client raises `rpc::rpc_error during call in function ...`."""
    return bytes(_packer.pack((1, message_id, message, None)))
