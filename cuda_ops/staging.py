"""Bytes from wherever they lie into pinned memory on several cores, each part sent on as soon as it is there.

One core copies a picture more slowly than PCI Express takes it. A core that sleeps wakes late, on some machines later
than the whole copy takes; so the caller copies too, and whoever is there takes the next part. Threads that have copied
stay awake for a moment, since more pictures may come, and leave the core to whoever wants it; then they sleep in the
kernel. None of this needs Python's lock.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numba.extending
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

PART_BYTES = 1 << 19
PARTS_MAX = 256
THREADS_MAX = 4
SEMAPHORE_WORDS = 4  # a sem_t of Linux has 32 bytes
PATIENCE = 2000  # looks at whether the last part is there, some 20 us, before the caller goes to sleep
LINGER = 6000  # looks for more work, some 2 ms where nobody else wants the core
HOST_MEMORY = 1
MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, whose answer is CU_MEMORYTYPE_HOST for pinned memory alone
(
    FROM, TO, BYTES, PART, SEND, AT, STREAM, ENTER, CONTEXT, SETTLE, KIND, ANSWER, TICKET, DONE, ERROR, IS_ENDING,
    WORDS,
) = range(17)  # fmt: skip
INDEX_BITS = 32  # of a ticket: the next part; above them how many there are

types: Any = numba.types
intrinsic: Any = numba.extending.intrinsic
_sem_init = types.ExternalFunction("sem_init", types.int32(types.intp, types.int32, types.uint32))
_sem_wait = types.ExternalFunction("sem_wait", types.int32(types.intp))
_sem_trywait = types.ExternalFunction("sem_trywait", types.int32(types.intp))
_sem_post = types.ExternalFunction("sem_post", types.int32(types.intp))
_sched_yield = types.ExternalFunction("sched_yield", types.int32())
_memcpy = types.ExternalFunction("memcpy", types.intp(types.intp, types.intp, types.intp))


@dataclass(frozen=True, slots=True)
class Way:
    """How a part goes on from pinned memory: addresses of C functions that return 0, and what they take.

    `send` (to, from, bytes, stream) is `cuMemcpyHtoDAsync`. The others may be 0 for none: `enter` (context), which each
    thread calls first, `cuCtxSetCurrent`; `settle` (stream), before anything is copied, `cuStreamSynchronize`; `kind`
    (answer, attribute, pointer), `cuPointerGetAttribute`.
    """

    send: int
    to: int
    stream: int = 0
    enter: int = 0
    context: int = 0
    settle: int = 0
    kind: int = 0


def _atomic(operation: str) -> Any:
    """What does `operation` with the int64 at an address and a number, and gives what stood there before."""

    @intrinsic  # type: ignore[untyped-decorator]
    def at(_context: Any, address: Any, value: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
            place = builder.inttoptr(given[0], ir.IntType(64).as_pointer())
            return builder.atomic_rmw(operation, place, given[1], "seq_cst")

        return types.int64(types.int64, types.int64), generate

    return at


_fetch_add, _exchange = _atomic("add"), _atomic("xchg")


@intrinsic  # type: ignore[untyped-decorator]
def _call(_context: Any, function: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The int that the C function at an address returns for four numbers; more than it takes do no harm."""

    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        word = ir.IntType(64)
        pointer = builder.inttoptr(given[0], ir.FunctionType(ir.IntType(32), [word] * 4).as_pointer())
        return builder.call(pointer, given[1:])

    return types.int32(types.int64, types.int64, types.int64, types.int64, types.int64), generate


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


@numba.njit("void(int64[::1], int64[:, ::1], boolean)", cache=True, nogil=True)
def _help(job: NDArray[np.int64], semaphores: NDArray[np.int64], has_entered: bool) -> None:
    """Take parts, copy and send them until none is left.

    A ticket says all that a thread may rely on that comes too late: what else stands in `job` holds still only while a
    part that it took is not done.
    """
    words = job.ctypes.data
    while True:
        ticket = _fetch_add(words + 8 * TICKET, 1)
        part, parts = ticket & ((1 << INDEX_BITS) - 1), ticket >> INDEX_BITS
        if part >= parts:
            return
        if not has_entered and job[ENTER] != 0:
            error = _call(job[ENTER], job[CONTEXT], 0, 0, 0)
            if error != 0:
                job[ERROR] = error
        has_entered = True
        begin = part * job[PART]
        count = min(job[PART], job[BYTES] - begin)
        _memcpy(job[TO] + begin, job[FROM] + begin, count)
        error = _call(job[SEND], job[AT] + begin, job[TO] + begin, count, job[STREAM])
        if error != 0:
            job[ERROR] = error
        if _fetch_add(words + 8 * DONE, 1) == parts - 1:
            _post(semaphores, len(semaphores) - 1)


@numba.njit("boolean(int64[::1], int64[:, ::1])", cache=True, nogil=True)
def _carry(job: NDArray[np.int64], semaphores: NDArray[np.int64]) -> bool:
    """By the caller: all of a job, with whoever is awake in time. Whether it was sent from where it lies, in pinned
    memory."""
    words, last = job.ctypes.data, len(semaphores) - 1
    parts = (job[BYTES] + job[PART] - 1) // job[PART]
    job[ERROR] = 0
    if job[ENTER] != 0:
        job[ERROR] = _call(job[ENTER], job[CONTEXT], 0, 0, 0)
    if job[SETTLE] != 0 and job[ERROR] == 0:
        job[ERROR] = _call(job[SETTLE], job[STREAM], 0, 0, 0)
    if job[ERROR] != 0:
        return False
    job[ANSWER] = 0
    is_known = job[KIND] != 0 and _call(job[KIND], words + 8 * ANSWER, MEMORY_TYPE, job[FROM], 0) == 0
    if is_known and job[ANSWER] == HOST_MEMORY:
        job[ERROR] = _call(job[SEND], job[AT], job[FROM], job[BYTES], job[STREAM])
        return True
    _exchange(words + 8 * DONE, 0)
    _exchange(words + 8 * TICKET, parts << INDEX_BITS)
    for number in range(min(last, parts - 1)):
        _post(semaphores, number)
    _help(job, semaphores, True)
    for _ in range(PATIENCE):
        if _sem_trywait(semaphores[last].ctypes.data) == 0:
            return False
    _wait(semaphores, last)
    return False


@numba.njit("void(int64[::1], int64[:, ::1], int64)", cache=True, nogil=True)
def _work(job: NDArray[np.int64], semaphores: NDArray[np.int64], number: int) -> None:
    own = semaphores[number].ctypes.data
    while True:
        is_called = False
        for _ in range(LINGER):
            if _sem_trywait(own) == 0:
                is_called = True
                break
            _sched_yield()
        if not is_called:
            _wait(semaphores, number)
        if job[IS_ENDING]:
            return
        _help(job, semaphores, False)


class Carrier:
    """Threads that copy for whoever calls `carry`, one caller after the other."""

    def __init__(self, threads: int) -> None:
        self._job, self._lock = np.zeros(WORDS, np.int64), threading.Lock()
        self._semaphores = np.zeros((threads + 1, SEMAPHORE_WORDS), np.int64)  # the last one: all parts are done
        _make(self._semaphores)
        self._workers = [
            threading.Thread(target=_work, args=(self._job, self._semaphores, number), daemon=True)
            for number in range(threads)
        ]
        for worker in self._workers:
            worker.start()

    def carry(self, source: NDArray[Any], pinned: NDArray[Any], way: Way) -> tuple[int, bool]:
        """Copy the bytes of `source` to `pinned`, both contiguous and of one size, and send each part `way` when it is
        there.

        Returns when all are copied and sent. The last answer of the way's functions that is not 0, or 0; and whether
        `source` is pinned itself, so that it is still being read.
        """
        job, total = self._job, source.nbytes
        if total == 0:
            return 0, False
        with self._lock:
            job[FROM], job[TO], job[BYTES] = source.ctypes.data, pinned.ctypes.data, total
            job[PART] = max(PART_BYTES, -(-total // PARTS_MAX))
            job[SEND], job[AT], job[STREAM], job[ENTER] = way.send, way.to, way.stream, way.enter
            job[CONTEXT], job[SETTLE], job[KIND] = way.context, way.settle, way.kind
            is_read_there = bool(_carry(job, self._semaphores))
            return int(job[ERROR]), is_read_there

    def close(self) -> None:
        """End the threads."""
        self._job[IS_ENDING] = 1
        for number, worker in enumerate(self._workers):
            _post(self._semaphores, number)
            worker.join()
        self._workers = []


@cache
def carrier() -> Carrier | None:
    """The process's own; None where there are too few cores to spare."""
    threads = min(THREADS_MAX, len(os.sched_getaffinity(0)) // 2)
    return Carrier(threads) if threads > 1 else None
