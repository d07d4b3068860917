"""The RPC transport: any split of the bytes gives the same calls, and garbage is told apart."""

from __future__ import annotations

import contextlib
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_carla.errors import ProtocolError
from embedded_carla.wire import rpc

small = st.integers(-(2**63), 2**64 - 1)


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.text(), st.lists(small | st.text() | st.binary())), min_size=1),
    st.data(),
)
def test_calls_survive_any_fragmentation(requests: list[Any], data: st.DataObject) -> None:
    raw = b"".join(msgpack.packb([0, number, name, [[False], *args]]) for number, name, args in requests)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    session = rpc.RpcSession()
    found: list[rpc.Call] = []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        found.extend(session.feed(raw[start:end]))
    assert [(c.message_id, c.method, c.args) for c in found] == requests


def test_the_first_bytes_of_a_real_client() -> None:
    (call,) = rpc.RpcSession().feed(bytes.fromhex("940001a776657273696f6e9191c2"))
    assert call == rpc.Call(1, "version", [])


@pytest.mark.parametrize(
    "bad",
    [b"GET / HTTP/1.1\r\n\r\n", b"\xc1", msgpack.packb({"a": 1}), msgpack.packb([1, 2, "version", [[False]]]),
     msgpack.packb([0, "x", "version", [[False]]]), msgpack.packb([0, 1, "version", []])],
)  # fmt: skip
def test_what_is_no_request_is_a_protocol_error(bad: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(rpc.RpcSession().feed(bad))


@given(st.binary(max_size=200))
def test_random_bytes_after_a_call_raise_nothing_else(noise: bytes) -> None:
    found = []
    with contextlib.suppress(ProtocolError):
        for call in rpc.RpcSession().feed(msgpack.packb([0, 1, "version", [[False]]]) + noise):
            found.append(call)  # extend would lose the calls before the error
    assert found[0] == rpc.Call(1, "version", [])
    assert all(isinstance(call, rpc.Call) for call in found)


def test_answers_are_wrapped_as_carla_wraps_them() -> None:
    assert msgpack.unpackb(rpc.response(3, rpc.success(5))) == [1, 3, None, [[1, 5]]]
    assert msgpack.unpackb(rpc.response(3, rpc.failure("no"))) == [1, 3, None, [[0, ["no"]]]]
    assert msgpack.unpackb(rpc.response(3, rpc.VOID_SUCCESS)) == [1, 3, None, [[False]]]
    assert msgpack.unpackb(rpc.response(3, rpc.void_failure("no"))) == [1, 3, None, [[True, ["no"]]]]
    assert msgpack.unpackb(rpc.error_response(3, "no")) == [1, 3, "no", None]
