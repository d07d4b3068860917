"""A background writer does its jobs in order, to the end, and reports their first error."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from av_core.errors import AvStackError
from av_stack.recording.background import JOBS_WAITING_MAX, BackgroundWriter


def test_all_jobs_are_done_in_order_by_another_thread() -> None:
    done: list[tuple[int, int]] = []

    def job(number: int) -> None:
        done.append((number, threading.get_ident()))

    writer = BackgroundWriter("test")
    for number in range(JOBS_WAITING_MAX):
        writer.submit(partial(job, number))
    writer.close()
    writer.close()
    assert [number for number, _ in done] == list(range(JOBS_WAITING_MAX))
    assert {thread for _, thread in done} != {threading.get_ident()}
    assert writer.dropped == 0


def test_nobody_waits_for_a_thread_that_is_behind_and_what_is_dropped_is_counted() -> None:
    """The first job waits for the last `submit`, so a writer that made the drive wait would never end."""
    done: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait()

    writer = BackgroundWriter("test", jobs_max=3)
    writer.submit(wait)
    begun.wait()
    for number in range(10):
        writer.submit(partial(done.append, number))
    assert writer.dropped == 7
    go_on.set()
    writer.close()
    assert done == [0, 1, 2]


def test_an_error_is_told_once_and_ends_the_work() -> None:
    done: list[int] = []

    def fail() -> None:
        raise AvStackError("the disk is full")

    writer = BackgroundWriter("test")
    writer.submit(fail)
    writer.submit(lambda: done.append(1))
    with pytest.raises(AvStackError, match="the disk is full"):
        writer.close()
    writer.close()
    assert not done


def test_a_panic_does_not_leave_a_queue_that_nobody_empties() -> None:
    """Rust libraries raise panics that are no Exception; the thread must live on, or `submit` waits for ever."""

    class Panic(BaseException):
        pass

    def panic() -> None:
        raise Panic

    writer = BackgroundWriter("test")
    writer.submit(panic)
    with pytest.raises(Panic):
        submit_many_and_close(writer)
    writer.close()


def submit_many_and_close(writer: BackgroundWriter) -> None:
    """More jobs than the queue holds."""
    for _ in range(3 * JOBS_WAITING_MAX):
        writer.submit(lambda: time.sleep(0.001))
    writer.close()
