"""Bytes from wherever they lie into pinned memory on several cores, each part sent on while the next are copied.

One core copies a picture more slowly than PCI Express takes it. Waiting threads sleep in the kernel: neither do they
spin, as OpenMP's do, nor do they need Python's lock to wake up.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

PART_BYTES = 1 << 19
PARTS_MAX = 64
THREADS_MAX = 4
SEMAPHORE_WORDS = 4  # a sem_t of Linux has 32 bytes
IS_ENDING, FROM, TO, BYTES, PART = range(5)

types: Any = numba.types
_sem_init = types.ExternalFunction("sem_init", types.int32(types.intp, types.int32, types.uint32))
_sem_wait = types.ExternalFunction("sem_wait", types.int32(types.intp))
_sem_post = types.ExternalFunction("sem_post", types.int32(types.intp))
_memcpy = types.ExternalFunction("memcpy", types.intp(types.intp, types.intp, types.intp))


@numba.njit("void(int64[:, ::1])", cache=True)
def _make(semaphores: NDArray[np.int64]) -> None:
    for row in range(len(semaphores)):
        _sem_init(semaphores[row].ctypes.data, 0, 0)


@numba.njit("void(int64[:, ::1], int64)", cache=True, nogil=True)
def _wait(semaphores: NDArray[np.int64], row: int) -> None:
    while _sem_wait(semaphores[row].ctypes.data) != 0:  # a signal may end it early
        pass


@numba.njit("void(int64[:, ::1], int64)", cache=True, nogil=True)
def _post(semaphores: NDArray[np.int64], row: int) -> None:
    _sem_post(semaphores[row].ctypes.data)


@numba.njit("void(int64[::1], int64)", cache=True, nogil=True)
def _copy(job: NDArray[np.int64], part: int) -> None:
    begin = part * job[PART]
    _memcpy(job[TO] + begin, job[FROM] + begin, min(job[PART], job[BYTES] - begin))


@numba.njit("void(int64[::1], int64[:, ::1], int64[:, ::1], int64, int64)", cache=True, nogil=True)
def _work(
    job: NDArray[np.int64], starts: NDArray[np.int64], dones: NDArray[np.int64], number: int, threads: int
) -> None:
    while True:
        _wait(starts, number)
        if job[IS_ENDING]:
            return
        parts = (job[BYTES] + job[PART] - 1) // job[PART]
        for part in range(1 + number, parts, threads):  # the caller copies the first one
            _copy(job, part)
            _post(dones, part)


class Carrier:
    """Threads that copy for whoever calls `carry`, one caller after the other."""

    def __init__(self, threads: int) -> None:
        self._job, self._lock = np.zeros(5, np.int64), threading.Lock()
        self._starts, self._dones = (np.zeros((rows, SEMAPHORE_WORDS), np.int64) for rows in (threads, PARTS_MAX))
        _make(self._starts)
        _make(self._dones)
        self._workers = [
            threading.Thread(target=_work, args=(self._job, self._starts, self._dones, number, threads), daemon=True)
            for number in range(threads)
        ]
        for worker in self._workers:
            worker.start()

    def carry(self, source: NDArray[Any], to: NDArray[Any], send: Callable[[int, int], None]) -> None:
        """Copy the bytes of `source` to `to`, both contiguous and of one size, and `send` (first byte, bytes) of each
        part when it is there, in order. Returns when all are copied and sent."""
        job, total = self._job, source.nbytes
        part_bytes = max(PART_BYTES, -(-total // PARTS_MAX))
        parts = -(-total // part_bytes)
        with self._lock:
            job[FROM], job[TO], job[BYTES], job[PART] = source.ctypes.data, to.ctypes.data, total, part_bytes
            for number in range(min(len(self._workers), parts - 1)):
                _post(self._starts, number)
            for part in range(parts):
                if part == 0:
                    _copy(job, 0)
                else:
                    _wait(self._dones, part)
                send(part * part_bytes, min(part_bytes, total - part * part_bytes))

    def close(self) -> None:
        """End the threads."""
        self._job[IS_ENDING] = 1
        for number, worker in enumerate(self._workers):
            _post(self._starts, number)
            worker.join()
        self._workers = []


@cache
def carrier() -> Carrier | None:
    """The process's own; None where there are too few cores to spare."""
    threads = min(THREADS_MAX, len(os.sched_getaffinity(0)) // 2)
    return Carrier(threads) if threads > 1 else None
