"""Work aside is done in order, to the end, and its errors are told."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from av_stack.errors import AvStackError
from av_stack.recording.aside import JOBS_WAITING_MAX, Aside


def test_all_jobs_are_done_in_order_by_another_thread() -> None:
    done: list[tuple[int, int]] = []

    def job(number: int) -> None:
        done.append((number, threading.get_ident()))

    aside = Aside("test")
    for number in range(3 * JOBS_WAITING_MAX):
        aside.do(partial(job, number))
    aside.close()
    aside.close()
    assert [number for number, _ in done] == list(range(3 * JOBS_WAITING_MAX))
    assert {thread for _, thread in done} != {threading.get_ident()}


def test_an_error_is_told_once_and_ends_the_work() -> None:
    done: list[int] = []

    def fail() -> None:
        raise AvStackError("the disk is full")

    aside = Aside("test")
    aside.do(fail)
    aside.do(lambda: done.append(1))
    with pytest.raises(AvStackError, match="the disk is full"):
        aside.close()
    aside.close()
    assert not done
