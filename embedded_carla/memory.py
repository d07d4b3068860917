"""How this process keeps free memory, and how much memory it may take."""

from __future__ import annotations

import ctypes
import resource

KEPT_BYTES = 128 * 2**20
LARGEST_BYTES = 32 * 2**20  # of a block that is kept; glibc allows no more
_SHARED_BY_THREADS = 512  # rows of a product that OpenBLAS divides among all its threads
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_freed_memory() -> bool:
    """Let this process keep up to KEPT_BYTES that it has freed; whether the C library can do so, as glibc can.

    Else the pictures of a tick go back to the system after it, which then has to clear every page of them for the next:
    more work than drawing on a GPU.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGEST_BYTES)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))


def bound_memory(most_bytes: int) -> None:
    """Let this process map no more than `most_bytes` of memory from now on: more raises MemoryError, or ends it.

    OpenBLAS repeats a refused request for its work areas forever, while it is loaded and at a thread's first product.
    So numpy's and scipy's OpenBLAS are loaded and used on all threads before.
    """
    import numpy as np
    from scipy.linalg import blas

    square = np.ones((_SHARED_BY_THREADS, _SHARED_BY_THREADS))
    square @ square
    blas.dgemm(1.0, square, square)
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
