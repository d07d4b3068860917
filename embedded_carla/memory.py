"""Memory settings of this process: how much freed memory it keeps, and how much memory it may map."""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path

KEPT_BYTES = 128 * 2**20
LARGEST_BYTES = 32 * 2**20  # largest single block that is kept; glibc's maximum
_SHARED_BY_THREADS = 512  # matrix size that OpenBLAS divides among all its threads
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_freed_memory() -> bool:
    """Let this process keep up to KEPT_BYTES of freed memory. Returns whether the C library can, as glibc can.

    Otherwise the pictures of a tick are returned to the system after it, which then clears every page of them again for
    the next tick: more work than drawing on a GPU.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGEST_BYTES)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))


def bound_memory(most_bytes: int) -> None:
    """Limit the memory that this process maps from now on to `most_bytes`, beside what its libraries have mapped.

    Their threads map more the more processors there are: with 32 they alone reach 4 GiB, and no map could be built.

    Beyond it an allocation raises MemoryError or ends the process. OpenBLAS repeats a refused request for its work
    areas for ever, both when it is loaded and at a thread's first product. So the OpenBLAS libraries of numpy and scipy
    are loaded and used on all their threads before the limit is set.
    """
    import numpy as np
    from scipy.linalg import blas

    square = np.ones((_SHARED_BY_THREADS, _SHARED_BY_THREADS))
    square @ square
    blas.dgemm(1.0, square, square)
    most_bytes += _mapped_bytes()
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


def _mapped_bytes() -> int:
    """The address space of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
