"""The pool of control words, without a GPU: sets are lent until the driver gives notice."""

from __future__ import annotations

import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
if not sys.platform.startswith("linux"):
    pytest.skip("sem_post of another C library than Linux's", allow_module_level=True)

from cuda_ops.runtime.control import SLAB_SETS, Notice, Pool, _c_library  # noqa: E402


def slab() -> Any:
    return torch.zeros((SLAB_SETS, 2), dtype=torch.int32)


def test_a_notice_comes_once() -> None:
    notice = Notice()
    assert not notice.has_come()
    _c_library().sem_post(notice.address)
    assert notice.has_come()
    assert not notice.has_come()


def test_a_set_is_lent_again_after_its_notice_and_not_before() -> None:
    made: list[Any] = []

    def allocate() -> Any:
        made.append(slab())
        return made[-1]

    pool = Pool(allocate)
    lent = [pool.lend() for _ in range(SLAB_SETS)]
    assert len({one.words.data_ptr() for one in lent}) == SLAB_SETS
    back = lent[7]
    _c_library().sem_post(back.is_back.address)
    assert pool.lend() is back
    assert len(made) == 1
    more = pool.lend()
    assert len(made) == 2
    assert all(more is not one for one in lent)


def test_a_streams_set_is_never_lent_again() -> None:
    pool = Pool(slab)
    kept = pool.take()
    _c_library().sem_post(kept.is_back.address)
    assert all(pool.lend() is not kept for _ in range(2 * SLAB_SETS))
