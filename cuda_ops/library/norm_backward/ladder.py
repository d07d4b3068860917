"""The ladders of the gradients of LayerNorm and RMSNorm over the last dimension, which share their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version, column, whole
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Launcher, Ptr, ceil_div

EACH = 16
"""Elements of a row that a thread holds in versions 4 and 5."""
EACH_OF_HALF = 32
"""The same for full packs of half precision, if the partial sums leave enough registers."""
BLOCK_COLUMNS_MAX = 512 * EACH
CLUSTER_COLUMNS_MAX = rows.CLUSTER_BLOCKS_MAX * 1024 * EACH
MANY_COLUMNS = 1 << 16
"""Number of columns for which one thread per column keeps the GPU busy.

From here on version 1 is faster than version 2 for half precision."""
STAGES, STAGES_AHEAD = 2, 3
"""Number of rows in shared memory, in versions 6 and 7."""
PIPELINE_BYTES_MAX = 200 << 10
"""Maximum shared memory of a block for rows that are loaded ahead, bytes."""
FINISH_WIDE = 1 << 13
"""Minimum number of columns for which the second pass uses its form for few rows of partial sums."""
PARTIAL_ELEMENTS = 1 << 22
"""Approximate number of elements of all rows of partial sums."""


def partial_rows(count: int, columns: int) -> int:
    """Maximum number of rows of partial sums for `count` rows: many for short rows, few for long ones."""
    return min(count, max(64, min(1056, PARTIAL_ELEMENTS // columns)))


def scratch_floats(count: int, columns: int) -> int:
    """Number of scratch floats: partial sums for dweight and dbias; in version 1, mean and scale of each row."""
    return 2 * max(partial_rows(count, columns) * columns, count)


def _sums(is_rms: bool, dweight: Any, dbias: Any) -> int:
    """Number of sums per column: 0, 1 for dweight, or 2 for dweight and dbias."""
    return 2 if dbias is not None and not is_rms else int(dweight is not None)


def _two_kernels(is_rms: bool) -> Launch:
    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        gradient, x, weight, dx, dweight, dbias, partials = arrays
        element = problem.element.cuda
        values: list[Argument] = [*map(Ptr, (gradient, x, weight, dx, partials)), I64(problem.columns)]
        kernel = f"norm_backward_rows<{element}, {rows.flag(is_rms)}>"
        launcher.launch(kernel, (problem.rows, 1, 1), 256, [*values, F32(problem.epsilon)])
        if _sums(is_rms, dweight, dbias) > 0:
            values = [*map(Ptr, (gradient, x, partials, dweight, dbias)), I64(problem.rows), I64(problem.columns)]
            launcher.launch(f"norm_backward_columns<{element}>", (ceil_div(problem.columns, 256), 1, 1), 256, values)

    return launch


def _persistent(
    is_rms: bool,
    kernel_of: Callable[[Problem, int], str],
    threads: int,
    each: int,
    blocks: int,
    shared_of: Callable[[int], int],
) -> Launch:
    """Launch rule: persistent blocks (or clusters of `blocks`) that take `each` rows at a time; then the second pass.

    `kernel_of` and `shared_of` return the kernel and its dynamic shared memory, bytes, for the number of sums per
    column.
    """

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        gradient, x, weight, dx, dweight, dbias, partials = arrays
        sums = _sums(is_rms, dweight, dbias)
        kernel, shared = kernel_of(problem, sums), shared_of(sums)
        parts = launcher.resident_blocks(kernel, threads, shared, blocks) // blocks
        parts = max(1, min(parts, partial_rows(problem.rows, problem.columns), ceil_div(problem.rows, each)))
        is_short = blocks > 1 or "partials" not in kernel
        width: Argument = I32(problem.columns) if is_short else I64(problem.columns)
        values: list[Argument] = [*map(Ptr, (gradient, x, weight, dx, partials if sums else None)), I64(problem.rows)]
        values += [width, F32(problem.epsilon)]
        launcher.launch(kernel, (parts * blocks, 1, 1), threads, values, shared_bytes=shared, cluster=blocks)
        if sums > 0:
            values = [*map(Ptr, (partials, dweight, dbias)), I32(parts), I64(problem.columns)]
            lanes, slices = _finish(problem.columns)
            grid = (ceil_div(problem.columns, 32 * lanes), sums, 1)
            finish = f"norm_backward_finish<{problem.element.cuda}, {lanes}, {slices}>"
            launcher.launch(finish, grid, 32 * slices, values)

    return launch


def _finish(columns: int) -> tuple[int, int]:
    """(columns per thread, warps per block) of the second pass, for float32 sums.

    Short rows have many rows of partial sums, which 32 warps share. Long rows have few: most of the 32 warps for 32
    columns would load at most one number.
    """
    if columns < FINISH_WIDE:
        return 1, 32
    return (4 if columns % 4 == 0 else 1), 8


def _nothing_shared(sums: int) -> int:
    return 0


def _partials(is_rms: bool) -> Launch:
    threads = rows.ONE_BLOCK_THREADS
    return _persistent(
        is_rms,
        lambda p, sums: f"norm_backward_partials<{p.element.cuda}, {p.lanes}, {threads}, {rows.flag(is_rms)}>",
        threads,
        1,
        1,
        _nothing_shared,
    )


def warp(is_rms: bool, warps: int = 4) -> Launch:
    """Launch rule of version 3: `warps` rows at a time per block."""

    def kernel(problem: Problem, sums: int) -> str:
        packs = f"{problem.lanes}, {rows.vectors_per_lane(problem)}, {warps}"
        return f"norm_backward_warp<{problem.element.cuda}, {packs}, {rows.flag(is_rms)}, {sums}>"

    return _persistent(is_rms, kernel, warps * 32, warps, 1, _nothing_shared)


def spread(is_rms: bool, rule: Callable[[Problem], Spread]) -> Launch:
    """Launch rule of versions 4 and 5: a block or a cluster takes rows in turn; `rule` returns a row's `Spread`."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        name, last = ("block", "") if chosen.blocks == 1 else ("cluster", f"{chosen.blocks}, ")
        each = chosen.vectors * problem.lanes

        def kernel(problem: Problem, sums: int) -> str:
            packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}, {last}{rows.flag(is_rms)}, {sums}"
            return f"norm_backward_{name}<{problem.element.cuda}, {packs}>"

        def shared(sums: int) -> int:
            return 0 if chosen.blocks == 1 else 4 * sums * chosen.threads * each

        _persistent(is_rms, kernel, chosen.threads, 1, chosen.blocks, shared)(launcher, problem, arrays)

    return launch


def pipelined(is_rms: bool, rule: Callable[[Problem], Spread], stages: int, name: str = "pipelined") -> Launch:
    """Launch rule of versions 6 ("pipelined") and 7 ("ahead"): shared memory holds `stages` rows, or as many as fit."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        row_bytes = 2 * chosen.vectors * problem.lanes * chosen.threads * problem.element.size_bytes
        depth = max(1, min(stages, PIPELINE_BYTES_MAX // row_bytes))

        def kernel(problem: Problem, sums: int) -> str:
            packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}, {chosen.blocks}, {depth}"
            return f"norm_backward_{name}<{problem.element.cuda}, {packs}, {rows.flag(is_rms)}, {sums}>"

        _persistent(is_rms, kernel, chosen.threads, 1, chosen.blocks, lambda sums: depth * row_bytes)(
            launcher, problem, arrays
        )

    return launch


def _fewest_blocks(problem: Problem, each: int) -> Spread:
    """The `Spread` with `each` elements per thread and the fewest blocks of up to 1,024 threads."""
    blocks = 1
    while problem.columns > blocks * 1024 * each:
        blocks *= 2
    threads = ceil_div(ceil_div(problem.columns, each * blocks), 32) * 32
    return Spread(each // problem.lanes, threads, blocks)


def for_pipeline(is_rms: bool, problem: Problem) -> Spread:
    """The `Spread` of a row of at most `CLUSTER_COLUMNS_MAX`: the fewest blocks with 16 elements per thread.

    Two kinds of rows are faster with 8 elements per thread: float32 rows of 16,385 to 65,536 columns (LayerNorm: from
    8,193 on), in more blocks of 512 threads, and RMSNorm's half-precision rows of up to 8,192 columns.
    """
    each = 32 // problem.element.size_bytes
    if problem.element.size_bytes == 4 and (1 << (14 if is_rms else 13)) < problem.columns <= 1 << 16:
        threads = 512 if problem.columns <= rows.CLUSTER_BLOCKS_MAX * 512 * each else 1024
        return rows.fewest_blocks(problem, each, threads)
    if problem.element.size_bytes == 2 and is_rms and problem.columns <= 1 << 13:
        return _fewest_blocks(problem, 8)
    return _fewest_blocks(problem, EACH)


def each_ahead(problem: Problem) -> int:
    """Elements per thread in version 7: 32 bytes of each array, so that three rows fit into shared memory."""
    return 32 // problem.element.size_bytes


def for_ahead(problem: Problem) -> Spread:
    """The `Spread` of version 7: 32 bytes per thread, at most 8 blocks."""
    return _fewest_blocks(problem, each_ahead(problem))


def for_block(problem: Problem) -> Spread:
    """The `Spread` of a row of at most `BLOCK_COLUMNS_MAX` over one block.

    8 elements per thread up to 2,048 columns, 16 (half precision: 32) beyond.
    """
    longest = EACH_OF_HALF if rows.has_full_packs_of_half(problem) else EACH
    each = max(8 if problem.columns <= 256 * 8 else longest, problem.lanes)
    threads = ceil_div(ceil_div(problem.columns, each), 64) * 64
    return Spread(each // problem.lanes, threads)


def fits_cluster(is_rms: bool, problem: Problem) -> bool:
    """Whether version 5 can hold the row. For RMSNorm, with one sum per column, shared memory holds 32 per thread."""
    is_wide = is_rms and rows.has_full_packs_of_half(problem)
    return problem.columns <= CLUSTER_COLUMNS_MAX * (2 if is_wide else 1)


def for_cluster(problem: Problem) -> Spread:
    """The `Spread` of a row over a cluster.

    Two blocks of 256 to 1,024 threads; for longer rows up to 8 blocks of 1,024; for the longest, 32 elements per
    thread.
    """
    if problem.columns > CLUSTER_COLUMNS_MAX:
        return Spread(EACH_OF_HALF // problem.lanes, 1024, rows.CLUSTER_BLOCKS_MAX)
    blocks, threads = 2, 256
    while threads < 1024 and problem.columns > blocks * threads * EACH:
        threads *= 2
    while problem.columns > blocks * threads * EACH:
        blocks *= 2
    return Spread(EACH // problem.lanes, threads, blocks)


def _preferred(is_rms: bool, problem: Problem) -> int:
    """The version that was fastest on H100s and H200s (docs/operators/runs).

    Exceptions: rows of 1,024 float32 are faster in blocks than in warps, and RMSNorm's half-precision rows of 8,192 are
    faster in version 6. Version 7 is the fastest if its rows fill one block, or a cluster of 8.
    """
    is_half, has_clusters = problem.element.size_bytes == 2, problem.architecture >= 90
    if problem.columns <= (rows.WARP_COLUMNS_MAX if is_half else rows.WARP_COLUMNS_MAX // 2):
        return 3
    is_ahead = has_clusters and _is_fastest_ahead(is_rms, is_half, problem.columns)
    if not is_ahead and problem.columns <= BLOCK_COLUMNS_MAX // (2 if is_half and is_rms and has_clusters else 1):
        return 4
    if has_clusters and problem.columns <= CLUSTER_COLUMNS_MAX:
        return 7 if is_ahead else 6
    if has_clusters and fits_cluster(is_rms, problem):
        return 5
    return 1 if is_half and problem.columns >= MANY_COLUMNS else 2


def _is_fastest_ahead(is_rms: bool, is_half: bool, columns: int) -> bool:
    """Whether version 7 is the fastest for rows of this length."""
    if is_half:
        return is_rms and (1 << 13 < columns <= 1 << 14 or columns > 1 << 15)
    return 1 << 12 < columns <= 1 << 13 or 1 << 15 < columns <= 1 << 16


def _versions_in_memory(is_rms: bool) -> tuple[Version, ...]:
    """Versions 1 and 2, for rows of any length, which read a row from memory more than once."""
    return (
        Version(
            1,
            "two_kernels",
            change="One block per row for dx; then one thread per column for dweight and dbias, down all rows.",
            why="It is the formula as it stands. Mean and scale are computed from x again: the forward pass has "
            "nothing more to write, and this pass loads x anyway.",
            limit="The second kernel loads both arrays again, with one thread per column at work.",
            launch=_two_kernels(is_rms),
        ),
        Version(
            2,
            "partials",
            change="Blocks that stay and take rows in turn; each adds to partial sums of its own; a small kernel "
            "adds those. Packs of 16 bytes.",
            why="Both arrays are read from memory once, and no atomic addition makes the order of sums random.",
            limit="The row is loaded up to three times, and the partial sums go to the L2 cache and back for each row.",
            launch=_partials(is_rms),
            instructions=("LDG.E.128", "STG.E.128"),
        ),
    )


def _versions_in_registers(is_rms: bool) -> tuple[Version, ...]:
    """Versions 3 to 5, which hold a row in the registers of a warp, a block or a cluster."""
    return (
        Version(
            3,
            "warp",
            change="One warp per row, with the row and the warp's partial sums in its registers.",
            why="Each row is loaded once; partial sums are written once, at the end.",
            limit="A thread has registers for 32 elements of each row and as many sums: 1,024 to the row.",
            launch=warp(is_rms),
            fits=lambda problem: problem.columns <= rows.WARP_COLUMNS_MAX,
            instructions=("LDG.E.NA.128", "STG.E.128", "SHFL.BFLY"),
        ),
        Version(
            4,
            "block",
            change="One block per row, with the row and the block's partial sums in its registers.",
            why="Rows of up to 8,192 elements are loaded once.",
            limit="Longer rows do not fit into the registers of one block beside their sums.",
            launch=spread(is_rms, for_block),
            fits=lambda problem: problem.columns <= BLOCK_COLUMNS_MAX,
            instructions=("LDG.E.NA.128", "STG.E.128", "SHFL.BFLY"),
        ),
        Version(
            5,
            "cluster",
            change="A cluster of 2 to 8 blocks per row; the partial sums lie in shared memory.",
            why="Rows of up to 131,072 elements are loaded once; RMSNorm's of half precision, twice as long.",
            limit="Two exchanges in the cluster per row, during which a block loads nothing.",
            launch=spread(is_rms, for_cluster),
            fits=partial(fits_cluster, is_rms),
            architecture_min=90,
            instructions=("LDG.E.NA.128", "STG.E.128", "UCGABAR_ARV", "UCGABAR_WAIT"),
        ),
    )


def _versions_pipelined(is_rms: bool) -> tuple[Version, ...]:
    """Versions 6 and 7, which load the next rows into shared memory while a row is computed."""
    return (
        Version(
            6,
            "pipelined",
            change="The next rows are copied to shared memory while a row is computed. One reduction per row "
            "instead of three.",
            why="The memory is never idle while a block waits at a barrier, and there are fewer barriers. Rows "
            "take no registers while they are on their way.",
            limit="Each block keeps its partial sums, so that the rows of partial sums grow with the number of "
            "blocks. LayerNorm with blocks of 1,024 threads, which rows of more than 8,192 elements get, has a few "
            "variables in local memory.",
            launch=pipelined(is_rms, partial(for_pipeline, is_rms), STAGES),
            fits=lambda problem: problem.columns <= CLUSTER_COLUMNS_MAX,
            architecture_min=90,
            instructions=("LDGSTS.E.BYPASS.128", "STG.E.128"),
        ),
        Version(
            7,
            "ahead",
            change="The sums of the next row go through the block and its cluster while the result of this row is "
            "computed.",
            why="No thread waits at a barrier for sums that have just been sent.",
            limit="Three rows must fit into shared memory. Their number per processor is what hides the time to "
            "load a row.",
            launch=pipelined(is_rms, for_ahead, STAGES_AHEAD, "ahead"),
            fits=lambda problem: problem.columns <= rows.CLUSTER_BLOCKS_MAX * 1024 * each_ahead(problem),
            architecture_min=90,
            instructions=("LDGSTS.E.BYPASS.128", "STG.E.128", "UCGABAR_ARV", "UCGABAR_WAIT"),
        ),
    )


def _ladder(name: str, formula: str, is_rms: bool, operations: int) -> Ladder:
    return Ladder(
        name=name,
        folder="norm_backward",
        formula=formula,
        arrays=("gradient", "x", "weight", "dx", "dweight", "dbias", "partials"),
        moved_bytes=lambda problem: 3 * problem.count * problem.element.size_bytes,
        operations=lambda problem: operations * problem.count,
        preferred=partial(_preferred, is_rms),
        results={"dx": whole, "dweight": column} | ({} if is_rms else {"dbias": column}),
        scratch={"partials": lambda problem: 4 * scratch_floats(problem.rows, problem.columns)},
        versions=(*_versions_in_memory(is_rms), *_versions_in_registers(is_rms), *_versions_pipelined(is_rms)),
    )


LAYER_NORM_BACKWARD = _ladder(
    "layer_norm_backward",
    "dx, dweight, dbias = gradients of layer_norm's arguments, from that of its result",
    False,
    14,
)
RMS_NORM_BACKWARD = _ladder(
    "rms_norm_backward", "dx, dweight = gradients of rms_norm's arguments, from that of its result", True, 11
)
