"""Copies on several threads bring the same bytes, and send each part once, after it was copied."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from cuda_ops import staging
from cuda_ops.staging import PART_BYTES, PARTS_MAX, Carrier, Way

Bytes = NDArray[np.uint8]
SEND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(scope="module", params=[1, 3])
def carrier(request: pytest.FixtureRequest) -> Iterator[Carrier]:
    made = Carrier(request.param)
    yield made
    made.close()


class Sent:
    """Which parts were sent, where to, on which stream, and whether they were there."""

    def __init__(self, source: Bytes, pinned: Bytes, answer: int = 0) -> None:
        self.parts: list[tuple[int, int]] = []
        self.were_there: list[bool] = []
        self._source, self._pinned, self._answer = source, pinned, answer
        self._function, self._entered = SEND(self._send), SEND(self._enter)
        self.contexts: list[int] = []
        send, enter = (ctypes.cast(one, ctypes.c_void_p).value or 0 for one in (self._function, self._entered))
        self.way = Way(send, 1000, 77, enter, 55)

    def _enter(self, context: int, *_: int) -> int:
        self.contexts.append(context)
        return 0

    def _send(self, to: int, place: int, count: int, stream: int) -> int:
        begin = place - self._pinned.ctypes.data
        here = slice(begin, begin + count)
        self.parts.append((begin, count))
        self.were_there.append(
            bool((self._pinned[here] == self._source[here]).all()) and to == 1000 + begin and stream == 77
        )
        return self._answer


@pytest.mark.parametrize("size", [1, 4097, PART_BYTES, PART_BYTES + 1, 7 * PART_BYTES - 13, 300 * PART_BYTES + 5])
def test_all_bytes_come_and_each_part_is_sent_when_it_is_there(carrier: Carrier, size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(3):
        source, pinned = rng.integers(0, 256, size, dtype=np.uint8), np.zeros(size, np.uint8)
        sent = Sent(source, pinned)
        assert carrier.carry(source, pinned, sent.way) == (0, False)
        np.testing.assert_array_equal(pinned, source)
        assert all(sent.were_there)
        assert 1 <= len(sent.parts) <= PARTS_MAX
        assert set(sent.contexts) == {55}
        ends = [begin + count for begin, count in sorted(sent.parts)]
        assert [begin for begin, _ in sorted(sent.parts)] == [0, *ends[:-1]]
        assert ends[-1] == size


def test_what_comes_after_another_is_not_mixed_with_it(carrier: Carrier) -> None:
    """Sizes change from call to call, so that a worker which wakes late meets a later job."""
    copy = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value or 0
    rng = np.random.default_rng(0)
    given = rng.integers(0, 256, 5 * PART_BYTES, dtype=np.uint8)
    for _ in range(400):
        begin, end = sorted(rng.integers(0, len(given) + 1, 2).tolist())
        source = given[begin:end]
        pinned, sent = np.zeros(len(source), np.uint8), np.zeros(len(source), np.uint8)
        carrier.carry(source, pinned, Way(copy, sent.ctypes.data))
        assert (pinned == source).all()
        assert (sent == source).all()


def test_an_error_of_the_driver_comes_back(carrier: Carrier) -> None:
    source = np.ones(2 * PART_BYTES, np.uint8)
    pinned = np.zeros_like(source)
    assert carrier.carry(source, pinned, Sent(source, pinned, answer=201).way) == (201, False)
    assert carrier.carry(source, pinned, Sent(source, pinned).way) == (0, False)


def test_nothing_is_sent_of_nothing(carrier: Carrier) -> None:
    nothing = np.zeros(0, np.uint8)
    assert carrier.carry(nothing, nothing, Sent(nothing, nothing, answer=1).way) == (0, False)


def test_pinned_bytes_are_sent_from_where_they_lie(carrier: Carrier) -> None:
    source = np.ones(3 * PART_BYTES, np.uint8)
    pinned = np.zeros_like(source)
    asked: list[tuple[int, int]] = []

    def kind(answer: int, attribute: int, pointer: int, _: int) -> int:
        asked.append((attribute, pointer))
        ctypes.c_int.from_address(answer).value = staging.HOST_MEMORY
        return 0

    function = SEND(kind)
    copy = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value or 0
    sent = np.zeros_like(source)
    sending = Sent(source, source)
    way = replace(sending.way, kind=ctypes.cast(function, ctypes.c_void_p).value or 0)
    assert carrier.carry(source, pinned, way) == (0, True)
    assert asked == [(staging.MEMORY_TYPE, source.ctypes.data)]
    assert sending.parts == [(0, source.nbytes)]
    assert not pinned.any()
    assert not carrier.carry(source, pinned, Way(copy, sent.ctypes.data))[1]
    assert sent.all()


def test_a_settling_error_copies_nothing(carrier: Carrier) -> None:
    source = np.ones(2 * PART_BYTES, np.uint8)
    pinned = np.zeros_like(source)
    sent = Sent(source, pinned)
    failing = SEND(lambda *_: 700)
    way = replace(sent.way, settle=ctypes.cast(failing, ctypes.c_void_p).value or 0)
    assert carrier.carry(source, pinned, way) == (700, False)
    assert sent.parts == []


def test_its_threads_end() -> None:
    made = Carrier(2)
    workers = list(made._workers)
    made.close()
    assert not any(worker.is_alive() for worker in workers)


def test_a_process_has_one_or_none() -> None:
    assert staging.carrier() is staging.carrier()
