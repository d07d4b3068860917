"""Control words: counters on a GPU that are zero before and after each kernel, except the first (the grid barrier's).

There is one set for each stream, and one for each launch that is captured in a graph, so that a graph may be replayed
in parallel with any other work. The set of a captured launch is lent to its graph. The driver signals when the graph
and all its copies are destroyed (by a user object of CUDA); then the set is lent again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from cuda_ops.errors import CudaOpsError

CONTROL_WORDS = 128
"""Number of uint32 words in a set."""
SLAB_SETS = 1024
"""Number of sets that are allocated at once."""
SEMAPHORE_BYTES = 64
"""Bytes for a semaphore, at least sizeof(sem_t)."""
RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED."""
MOVE = 1
"""CU_GRAPH_USER_OBJECT_MOVE: our reference passes to the graph."""
NO_DESTRUCTOR_SYNC = 1
"""CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, the mandatory and only flag of a user object."""


class Notice:
    """An event that the driver signals: a semaphore of the C library, on which the driver calls `sem_post`.

    A Python callback would need the interpreter's lock, which the thread that destroys a graph may hold. The memory is
    never freed, because the driver may signal when the interpreter ends.
    """

    def __init__(self) -> None:
        library = _c_library()
        self.address = int(library.malloc(SEMAPHORE_BYTES))
        library.sem_init(self.address, 0, 0)

    def has_come(self) -> bool:
        """Whether the event has been signalled since the last call that returned True."""
        return bool(_c_library().sem_trywait(self.address) == 0)


@cache
def _c_library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    library.sem_init.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint)
    library.sem_post.argtypes = library.sem_trywait.argtypes = (ctypes.c_void_p,)
    return library


@dataclass(frozen=True, slots=True, eq=False)
class ControlSet:
    """One set of words, and the event that its graph has been destroyed."""

    words: torch.Tensor
    is_back: Notice


class Pool:
    """A pool of sets; `allocate` makes zeroed memory for `SLAB_SETS` more sets."""

    def __init__(self, allocate: Callable[[], torch.Tensor]) -> None:
        self._allocate = allocate
        self._free: list[ControlSet] = []
        self._lent: list[ControlSet] = []

    def take(self) -> ControlSet:
        """A free set, to keep. Returned sets are searched only if no other set is free."""
        if not self._free:
            still_lent: list[ControlSet] = []
            for one in self._lent:
                (self._free if one.is_back.has_come() else still_lent).append(one)
            self._lent = still_lent
        if not self._free:
            self._free = [ControlSet(words, Notice()) for words in self._allocate()]
        return self._free.pop()

    def lend(self) -> ControlSet:
        """A free set, to use until its event is signalled."""
        one = self.take()
        self._lent.append(one)
        return one


class Control:
    """The control words of one GPU."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._pool = Pool(self._slab)
        self._by_stream: dict[int, torch.Tensor] = {}
        self._lock = threading.Lock()
        with _allow_allocation():
            self._side = torch.cuda.Stream(device)

    def get(self) -> torch.Tensor:
        """The set of the current stream, or of the next captured launch."""
        handle = torch._C._cuda_getCurrentRawStream(self._device)
        if torch.cuda.is_current_stream_capturing():
            with self._lock:
                one = self._pool.lend()
            _give_to_graph(handle, one.is_back)
            return one.words
        found = self._by_stream.get(handle)
        if found is None:
            with self._lock:
                found = self._by_stream.setdefault(handle, self._pool.take().words)
        return found

    def _slab(self) -> torch.Tensor:
        """Zeroed memory, allocated on a stream that is not capturing, so that it does not belong to a graph."""
        with _allow_allocation(), torch.cuda.device(self._device), torch.cuda.stream(self._side):
            slab = torch.zeros((SLAB_SETS, CONTROL_WORDS), dtype=torch.int32, device=f"cuda:{self._device}")
            self._side.synchronize()
        return slab


@cache
def control(device: int) -> Control:
    """The control words of torch's CUDA device `device`."""
    return Control(device)


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _checked(what: str, error: int) -> None:
    if error:
        raise CudaOpsError(f"control words: the driver's {what} answers {error}")


@contextmanager
def _allow_allocation() -> Iterator[None]:
    """Context in which this thread may allocate memory while a stream captures a graph."""
    mode = ctypes.c_int(RELAXED)
    _checked("cuThreadExchangeStreamCaptureMode", _driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)))
    try:
        yield
    finally:
        _driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def _give_to_graph(stream: int, notice: Notice) -> None:
    """Signal `notice` when the graph that `stream` is capturing, and all its copies, are destroyed."""
    driver = _driver()
    graph, one, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    nothing: Any = None
    error = driver.cuStreamGetCaptureInfo_v2(
        ctypes.c_void_p(stream), ctypes.byref(status), nothing, ctypes.byref(graph), nothing, nothing
    )
    _checked("cuStreamGetCaptureInfo", error)
    destroy = ctypes.cast(_c_library().sem_post, ctypes.c_void_p)
    error = driver.cuUserObjectCreate(
        ctypes.byref(one), ctypes.c_void_p(notice.address), destroy, ctypes.c_uint(1), ctypes.c_uint(NO_DESTRUCTOR_SYNC)
    )
    _checked("cuUserObjectCreate", error)
    error = driver.cuGraphRetainUserObject(graph, one, ctypes.c_uint(1), ctypes.c_uint(MOVE))
    _checked("cuGraphRetainUserObject", error)
