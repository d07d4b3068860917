"""The ladders of sum, maximum, mean and dot product of a whole array, which share their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.runtime.launcher import I32, I64, Argument, Launcher, Ptr, ceil_div

PARTIALS_MAX = 4096
"""Maximum number of blocks of a grid, and number of doubles in the array `partials`."""
THREADS = 256
VECTOR_THREADS, VECTOR_UNROLL = 1024, 4
"""Threads of a block of version 4, and packs of a thread in flight, of both arrays of a dot product together."""


def _two_launches(name: str, functor: str) -> Launch:
    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        x, y, partials, out = arrays
        element = problem.element.cuda
        kernel = f"reduce_{name}<{element}, {functor}>"
        blocks = _blocks(launcher, kernel, THREADS, problem.count)
        launcher.launch(kernel, (blocks, 1, 1), THREADS, [Ptr(x), Ptr(y), Ptr(partials), I64(problem.count)])
        values: list[Argument] = [Ptr(partials), Ptr(out), I32(blocks), I64(problem.count)]
        launcher.launch(f"finish_{name}<{element}, {functor}>", (1, 1, 1), THREADS, values)

    return launch


def _one_launch(kernel_of: Any, threads: int, each_of: Any) -> Launch:
    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        x, y, partials, out = arrays
        kernel = kernel_of(problem)
        blocks = _blocks(launcher, kernel, threads * each_of(problem), problem.count, threads)
        control = launcher.control_words()
        values: list[Argument] = [Ptr(x), Ptr(y), Ptr(partials), Ptr(control), Ptr(out), I64(problem.count)]
        launcher.launch(kernel, (blocks, 1, 1), threads, values)

    return launch


def vector(functor: str, threads: int = VECTOR_THREADS, unroll: int = VECTOR_UNROLL) -> Launch:
    """Launch rule of version 4: blocks of `threads` threads, each with `unroll` packs in flight."""
    return _one_launch(
        lambda p: f"reduce_vector<{p.element.cuda}, {p.lanes}, {unroll}, {threads}, {functor}>",
        threads,
        lambda p: p.lanes * unroll,
    )


def _blocks(launcher: Launcher, kernel: str, each: int, count: int, threads: int = THREADS) -> int:
    """Number of blocks that run at the same time, at most one for every `each` elements."""
    return min(launcher.resident_blocks(kernel, threads), PARTIALS_MAX, ceil_div(count, each))


def _ladder(name: str, formula: str, inputs: int) -> Ladder:
    functor = f"av_{name}_all"
    return Ladder(
        name=name,
        folder="reduce",
        formula=formula,
        arrays=("x", "y", "partials", "out"),
        moved_bytes=lambda problem: inputs * problem.count * problem.element.size_bytes,
        operations=lambda problem: inputs * problem.count,
        preferred=lambda problem: 4,
        is_flat=True,
        results={"out": lambda problem: 1},
        scratch={"partials": lambda problem: 8 * PARTIALS_MAX},
        versions=(
            Version(
                1,
                "tree",
                change="A block joins its threads' results by a tree in shared memory: in each round half of the "
                "threads join what the other half holds. A second launch joins the blocks' results.",
                why="All processors work, and the order is fixed, so that reruns give equal bits.",
                limit="Nine barriers per block, between which most threads have nothing to do. An array of 2^30 "
                "elements hides them.",
                launch=_two_launches("tree", functor),
            ),
            Version(
                2,
                "shuffle",
                change="Warps join by shuffles; results across threads are in double precision.",
                why="The threads of a warp exchange registers: one barrier per block instead of nine, which only a "
                "small array can feel.",
                limit="The second launch: a small array waits for it, a large one hides it.",
                launch=_two_launches("shuffle", functor),
                instructions=("SHFL.BFLY",),
            ),
            Version(
                3,
                "one_launch",
                change="The block that comes last joins the partial results.",
                why="One launch. A block adds 1 to a counter (atomic, so that no count is lost) after it has "
                "written, and so learns whether it is the last; release and acquire make the others' results "
                "visible to it.",
                limit="A thread loads one element at a time: too few bytes in flight.",
                launch=_one_launch(lambda p: f"reduce_one_launch<{p.element.cuda}, {functor}>", THREADS, lambda p: 1),
                instructions=("ATOM",),
            ),
            Version(
                4,
                "vector",
                change="Packs of 16 bytes, four in flight per thread, with a partial result for each place in a pack.",
                why=f"{16 // inputs} (float32) to {32 // inputs} times the bytes in flight; joins do not wait for one "
                "another, and each partial sum has few terms, so that float32 stays exact.",
                limit="The memory: it equals CUB and torch on an H100. Blocks of 1,024 threads are 1 % faster there "
                "than 512.",
                launch=vector(functor, unroll=VECTOR_UNROLL // inputs),
                instructions=("LDG.E.NA.128", "ATOM"),
            ),
        ),
    )


SUM = _ladder("sum", "out = sum of x", 1)
DOT = _ladder("dot", "out = sum of x * y", 2)
MAX = _ladder("max", "out = greatest x", 1)
MEAN = _ladder("mean", "out = sum of x / number of x", 1)
