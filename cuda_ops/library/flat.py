"""Launch rules of operators on flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library.ladder import PACK_BYTES, Launch, Problem
from cuda_ops.runtime.launcher import I64, Launcher, Ptr, ceil_div

THREADS = 256
UNROLL = 4
"""Packs per thread of the tile kernels."""
GRID_MAX = 2**31 - 1


def arguments(problem: Problem, arrays: Sequence[Any]) -> list[Any]:
    """The arrays and the number of elements."""
    return [*(Ptr(array) for array in arrays), I64(problem.count)]


def scalar(template: str) -> Launch:
    """One element per thread; `template` is the kernel with its first arguments ("add_scalar<")."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        grid = (ceil_div(problem.count, THREADS), 1, 1)
        launcher.launch(f"{template}{problem.element.cuda}>", grid, THREADS, arguments(problem, arrays))

    return launch


def vector(template: str) -> Launch:
    """One pack per thread, and one more thread for each element after the last full pack."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        threads = problem.count // problem.lanes + problem.count % problem.lanes
        kernel = f"{template}{problem.element.cuda}, {problem.lanes}>"
        launcher.launch(kernel, (ceil_div(threads, THREADS), 1, 1), THREADS, arguments(problem, arrays))

    return launch


def grid_stride(template: str) -> Launch:
    """As many blocks as the GPU runs at the same time."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        kernel = f"{template}{problem.element.cuda}, {problem.lanes}>"
        most = launcher.resident_blocks(kernel, THREADS)
        blocks = min(most, ceil_div(problem.count, THREADS * problem.lanes))
        launcher.launch(kernel, (blocks, 1, 1), THREADS, arguments(problem, arrays))

    return launch


def tile(template: str, unroll: int = UNROLL) -> Launch:
    """One tile per block, with `unroll` packs per thread."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        kernel = f"{template}{problem.element.cuda}, {problem.lanes}, {unroll}>"
        blocks = ceil_div(problem.count, THREADS * problem.lanes * unroll)
        launcher.launch(kernel, (blocks, 1, 1), THREADS, arguments(problem, arrays))

    return launch


def preferred(problem: Problem, vector: int, tile: int) -> int:
    """The number of the fastest version: for full packs, one pack per thread (H100: 2 to 5 % faster than the tile)."""
    return vector if problem.lanes * problem.element.size_bytes == PACK_BYTES else tile


def fits_grid(problem: Problem) -> bool:
    """Whether a grid of one element per thread is not too large."""
    return ceil_div(problem.count, THREADS) <= GRID_MAX
