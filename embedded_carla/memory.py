"""How the C library keeps memory that is free."""

from __future__ import annotations

import ctypes

KEPT_BYTES = 128 * 2**20
LARGEST_BYTES = 32 * 2**20  # of a block that is kept; glibc allows no more
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
