"""Multi-threaded upload: several cores copy an array into pinned memory and send each part when it is copied.

One core copies a picture more slowly than PCI Express transfers it. A sleeping core wakes late, on some machines later
than the whole copy takes. So the caller copies too, and each thread takes the next part when it is free. After a job
the threads stay awake for about 2 ms, because more pictures may follow, and yield the core to other threads; then they
sleep. All of this runs without Python's global interpreter lock.
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

PART_BYTES = 1 << 19  # size of a part; larger only where an array would have more than PARTS_MAX parts
PARTS_MAX = 256
THREADS_MAX = 4  # threads beside the caller
SEMAPHORE_WORDS = 4  # Linux's sem_t has 32 bytes
PATIENCE = 2000  # how often the caller polls for the last part, about 20 us, before it sleeps
LINGER = 6000  # how often a thread polls for more work before it sleeps, about 2 ms on an idle core
HOST_MEMORY = 1  # CU_MEMORYTYPE_HOST
MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE; its answer is CU_MEMORYTYPE_HOST for pinned memory only
(
    FROM, TO, BYTES, PART, SEND, AT, STREAM, ENTER, CONTEXT, SETTLE, KIND, ANSWER, TICKET, DONE, ERROR, IS_ENDING,
    WORDS,
) = range(17)  # fmt: skip
INDEX_BITS = 32  # a ticket's low bits hold the index of the next part, its high bits the number of parts

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
    """The C functions that send a part from pinned memory, as addresses, and their arguments.

    Each function returns 0 on success; all but `send` may be 0 for none.

    * `send` (to, from, bytes, stream): `cuMemcpyHtoDAsync`.
    * `enter` (context): `cuCtxSetCurrent`, which each thread calls first.
    * `settle` (stream): `cuStreamSynchronize`, called before anything is copied.
    * `kind` (answer, attribute, pointer): `cuPointerGetAttribute`, which says whether the source is pinned.
    """

    send: int
    to: int
    stream: int = 0
    enter: int = 0
    context: int = 0
    settle: int = 0
    kind: int = 0


def _atomic(operation: str) -> Any:
    """Compiled function (address, value) that applies `operation` atomically to an int64 and returns its old value."""

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
    """Call the C function at an address with four integers and return its int; surplus arguments do no harm."""

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
    while _sem_wait(semaphores[row].ctypes.data) != 0:  # a signal may interrupt it
        pass


@numba.njit("void(int64[:, ::1], int64)", cache=True, nogil=True)
def _post(semaphores: NDArray[np.int64], row: int) -> None:
    _sem_post(semaphores[row].ctypes.data)


@numba.njit("void(int64[::1], int64[:, ::1], boolean)", cache=True, nogil=True)
def _take_parts(job: NDArray[np.int64], semaphores: NDArray[np.int64], has_entered: bool) -> None:
    """Take parts, copy and send them until none is left.

    The words of `job` other than the ticket may only be read while the thread holds an unfinished part; for a late
    thread they may already belong to the next job.
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
def _run_job(job: NDArray[np.int64], semaphores: NDArray[np.int64]) -> bool:
    """Run a job in the caller's thread; the other threads help if they wake up in time.

    Returns True if the source itself is pinned and was sent without a copy.
    """
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
    _take_parts(job, semaphores, True)
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
        _take_parts(job, semaphores, False)


class Carrier:
    """A pool of copying threads; concurrent calls of `carry` run one after the other."""

    def __init__(self, threads: int) -> None:
        self._job, self._lock = np.zeros(WORDS, np.int64), threading.Lock()
        self._semaphores = np.zeros((threads + 1, SEMAPHORE_WORDS), np.int64)  # the last one signals: all parts done
        _make(self._semaphores)
        self._workers = [
            threading.Thread(target=_work, args=(self._job, self._semaphores, number), daemon=True)
            for number in range(threads)
        ]
        for worker in self._workers:
            worker.start()

    def carry(self, source: NDArray[Any], pinned: NDArray[Any], way: Way) -> tuple[int, bool]:
        """Copy `source` to `pinned` (both contiguous, of equal size) and send each part by `way` once it is copied.

        Returns, when all parts are copied and sent, (the last nonzero error of the way's functions or 0, whether
        `source` itself is pinned). A pinned source is sent directly, and the transfer may still be reading it.
        """
        job, total = self._job, source.nbytes
        if total == 0:
            return 0, False
        with self._lock:
            job[FROM], job[TO], job[BYTES] = source.ctypes.data, pinned.ctypes.data, total
            job[PART] = max(PART_BYTES, -(-total // PARTS_MAX))
            job[SEND], job[AT], job[STREAM], job[ENTER] = way.send, way.to, way.stream, way.enter
            job[CONTEXT], job[SETTLE], job[KIND] = way.context, way.settle, way.kind
            is_read_there = bool(_run_job(job, self._semaphores))
            return int(job[ERROR]), is_read_there

    def close(self) -> None:
        """Stop the threads and wait for them."""
        self._job[IS_ENDING] = 1
        for number, worker in enumerate(self._workers):
            _post(self._semaphores, number)
            worker.join()
        self._workers = []


@cache
def carrier() -> Carrier | None:
    """The process's shared `Carrier`; None on a machine with fewer than four cores available."""
    threads = min(THREADS_MAX, len(os.sched_getaffinity(0)) // 2)
    return Carrier(threads) if threads > 1 else None
