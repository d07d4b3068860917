"""Copies on several threads bring the same bytes, each part sent once, in order, after it was copied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from cuda_ops.staging import PART_BYTES, Carrier

Bytes = NDArray[np.uint8]


@pytest.fixture(scope="module", params=[1, 3])
def carrier(request: pytest.FixtureRequest) -> Iterator[Carrier]:
    made = Carrier(request.param)
    yield made
    made.close()


def note(sent: list[tuple[int, int, bool]], source: Bytes, to: Bytes, begin: int, count: int) -> None:
    """Which part is sent, and whether it is there."""
    sent.append((begin, count, bool((to[begin : begin + count] == source[begin : begin + count]).all())))


@pytest.mark.parametrize("size", [1, 4097, PART_BYTES, PART_BYTES + 1, 7 * PART_BYTES - 13, 70 * PART_BYTES + 5])
def test_all_bytes_come_and_each_part_is_sent_when_it_is_there(carrier: Carrier, size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(3):
        source, to = rng.integers(0, 256, size, dtype=np.uint8), np.zeros(size, np.uint8)
        sent: list[tuple[int, int, bool]] = []
        carrier.carry(source, to, partial(note, sent, source, to))
        np.testing.assert_array_equal(to, source)
        counts = [count for _, count, _ in sent]
        assert all(was_there for *_, was_there in sent)
        assert [begin for begin, *_ in sent] == np.cumsum([0, *counts[:-1]]).tolist()
        assert sum(counts) == size


def test_its_threads_end() -> None:
    made = Carrier(2)
    workers = list(made._workers)
    made.close()
    assert not any(worker.is_alive() for worker in workers)
