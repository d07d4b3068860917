"""Control words: counters on a GPU that kernels find zero and leave zero, except the first, the grid barrier's.

There is one set per stream, and one for each launch captured in a graph, so that a graph may be replayed beside any
other work. A captured launch's set is lent to its graph: the driver says when the graph and all that was made from it
are destroyed (a user object of CUDA), and then the set is lent again.
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
"""uint32 words of one set."""
SLAB_SETS = 1024
"""Sets that are allocated at once."""
SEMAPHORE_BYTES = 64
"""At least sizeof(sem_t)."""
RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED."""
MOVE = 1
"""CU_GRAPH_USER_OBJECT_MOVE: the graph takes over our reference."""
NO_DESTRUCTOR_SYNC = 1
"""CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, the only flag of a user object, which is mandatory."""


class Notice:
    """Says, to any thread, that something has happened: a semaphore of the C library.

    The driver calls `sem_post` itself. A Python function would need the interpreter's lock, which the thread that
    destroys a graph may hold. The memory is never freed, since the driver may call when the interpreter ends.
    """

    def __init__(self) -> None:
        library = _c_library()
        self.address = int(library.malloc(SEMAPHORE_BYTES))
        library.sem_init(self.address, 0, 0)

    def has_come(self) -> bool:
        """Whether it has happened since the last time that this was true."""
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
    """One set of words, and the notice that the graph which had it is gone."""

    words: torch.Tensor
    is_back: Notice


class Pool:
    """Lends sets; `allocate` makes a slab of zeros for `SLAB_SETS` more."""

    def __init__(self, allocate: Callable[[], torch.Tensor]) -> None:
        self._allocate = allocate
        self._free: list[ControlSet] = []
        self._lent: list[ControlSet] = []

    def take(self) -> ControlSet:
        """A set that nobody has. Sets that are back are looked for only when no other is free."""
        if not self._free:
            still_lent: list[ControlSet] = []
            for one in self._lent:
                (self._free if one.is_back.has_come() else still_lent).append(one)
            self._lent = still_lent
        if not self._free:
            self._free = [ControlSet(words, Notice()) for words in self._allocate()]
        return self._free.pop()

    def lend(self) -> ControlSet:
        """The same, until its notice comes."""
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
        with _anything_while_capturing():
            self._side = torch.cuda.Stream(device)

    def get(self) -> torch.Tensor:
        """The set of the current stream, or of the launch that is captured next."""
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
        """Zeros on a stream that captures nothing, so that the memory belongs to no graph."""
        with _anything_while_capturing(), torch.cuda.device(self._device), torch.cuda.stream(self._side):
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
def _anything_while_capturing() -> Iterator[None]:
    """Let this thread allocate memory although a stream captures a graph."""
    mode = ctypes.c_int(RELAXED)
    _checked("cuThreadExchangeStreamCaptureMode", _driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)))
    try:
        yield
    finally:
        _driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def _give_to_graph(stream: int, notice: Notice) -> None:
    """Let `notice` come when the graph that `stream` captures, and all that is made from it, are destroyed."""
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
