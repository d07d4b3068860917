"""Launches the kernel that copies small arrays between a GPU and pinned host memory.

Only `frame.FrameGraph` uses it, so there is no `op.py`. `staging` uploads large pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, ceil_div

PARTS_MAX, THREADS = 8, 256
BYTES_MAX = 64 * 1024
"""Maximum size of an array, bytes; for larger arrays the copy engine is as fast, because the bus is the limit."""


def run(launcher: Launcher, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Copy the first array of each pair to the second: both dense, of the same type, and at most `BYTES_MAX` bytes."""
    filled = [pair for pair in pairs if pair[0].nbytes > 0]
    for start in range(0, len(filled), PARTS_MAX):
        parts = filled[start : start + PARTS_MAX]
        arguments: list[Argument] = []
        for source, target in parts:
            arguments += [Ptr(source), Ptr(target), I32(source.nbytes)]
        arguments += [Ptr(None), Ptr(None), I32(0)] * (PARTS_MAX - len(parts))
        blocks = ceil_div(max(source.nbytes for source, _ in parts), THREADS * 16)
        launcher.launch("exchange", (blocks, len(parts), 1), THREADS, arguments)
