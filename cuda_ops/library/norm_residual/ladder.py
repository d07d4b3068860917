"""The ladders of x + residual and LayerNorm or RMSNorm of this sum, in one kernel; both share their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version, whole
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Launcher, Ptr


def _passes(is_rms: bool) -> Launch:
    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        values: list[Argument] = [*map(Ptr, arrays), I64(problem.columns), F32(problem.epsilon)]
        kernel = f"norm_residual_passes<{problem.element.cuda}, {rows.flag(is_rms)}>"
        launcher.launch(kernel, (problem.rows, 1, 1), 256, values)

    return launch


def spread(is_rms: bool, rule: Callable[[Problem], Spread]) -> Launch:
    """Launch rule of versions 2 and 3: a block or a cluster per row; `rule` returns its `Spread` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        name, blocks = ("block", "") if chosen.blocks == 1 else ("cluster", f"{chosen.blocks}, ")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}, {blocks}{rows.flag(is_rms)}"
        values: list[Argument] = [*map(Ptr, arrays), I32(problem.columns), F32(problem.epsilon)]
        kernel = f"norm_residual_{name}<{problem.element.cuda}, {packs}>"
        launcher.launch(kernel, (problem.rows * chosen.blocks, 1, 1), chosen.threads, values, cluster=chosen.blocks)

    return launch


def fits_cluster(problem: Problem) -> bool:
    """Whether a cluster can hold the row: 16 elements per thread; with full packs of half precision, 32."""
    has_full_packs = rows.has_full_packs_of_half(problem)
    return problem.columns <= rows.CLUSTER_COLUMNS_OF_TWO_MAX * (2 if has_full_packs else 1)


def for_cluster(is_rms: bool, problem: Problem) -> Spread:
    """The `Spread` of a row over a cluster: 8 blocks with 16 elements per thread if no block holds it.

    With full packs of half precision a thread holds 32 elements: in the fewest blocks of 256 threads up to 32,768
    columns (LayerNorm) or 65,536 (RMSNorm), beyond in blocks of 1,024 threads.
    """
    if problem.columns <= rows.BLOCK_COLUMNS_OF_TWO_MAX:
        return rows.for_cluster_of_two(problem)
    if rows.has_full_packs_of_half(problem):
        is_short = problem.columns <= (1 << 16 if is_rms else 1 << 15)
        return rows.fewest_blocks(problem, rows.EACH_MAX, 256 if is_short else 1024)
    threads = 256
    while problem.columns > rows.CLUSTER_BLOCKS_MAX * threads * rows.EACH_OF_TWO:
        threads *= 2
    return Spread(rows.EACH_OF_TWO // problem.lanes, threads, rows.CLUSTER_BLOCKS_MAX)


def _preferred(problem: Problem) -> int:
    if problem.architecture >= 90 and problem.columns > rows.BLOCK_COLUMNS_OF_TWO_MAX and fits_cluster(problem):
        return 3
    return rows.preferred_of_two(problem, any_length=1, warp=2, block=2, cluster=3)


def _ladder(name: str, formula: str, is_rms: bool, operations: int) -> Ladder:
    return Ladder(
        name=name,
        folder="norm_residual",
        formula=formula,
        arrays=("x", "residual", "weight", "bias", "total", "out"),
        moved_bytes=lambda problem: 4 * problem.count * problem.element.size_bytes,
        operations=lambda problem: operations * problem.count,
        preferred=_preferred,
        results={"total": whole, "out": whole},
        versions=(
            Version(
                1,
                "passes",
                change="One block per row, and up to three passes over both rows: sum and mean, variance, result.",
                why="One kernel instead of two: it normalizes the sum before that is rounded.",
                limit="Every element of both rows is loaded up to three times, 4 bytes at a time.",
                launch=_passes(is_rms),
            ),
            Version(
                2,
                "block",
                change="The sum stays in the registers of its block.",
                why="Rows of up to 16,384 elements are loaded once.",
                limit="Longer rows do not fit into the registers of one block.",
                launch=spread(is_rms, rows.for_block_of_two),
                fits=lambda problem: problem.columns <= rows.BLOCK_COLUMNS_OF_TWO_MAX,
                instructions=("LDG.E.NA.128", "STG.E.128", "SHFL.BFLY"),
            ),
            Version(
                3,
                "cluster",
                change="A cluster of 2 to 8 blocks per row; one exchange through distributed shared memory.",
                why="Rows of up to 131,072 elements are loaded once; of half precision, twice as long.",
                limit=(
                    "Blocks of a cluster wait for the slowest one, and half of the warps are resident: the "
                    "memory is busy at 61 % to 75 % of its peak (H100, rows of 131,072). Blocks of 1,024 "
                    "threads that hold 32 elements have two variables in local memory."
                ),
                launch=spread(is_rms, partial(for_cluster, is_rms)),
                fits=lambda problem: fits_cluster(problem) and problem.rows <= rows.ROWS_MAX,
                architecture_min=90,
                instructions=("LDG.E.NA.128", "STG.E.128", "UCGABAR_ARV", "UCGABAR_WAIT"),
            ),
        ),
    )


RESIDUAL_LAYER_NORM = _ladder(
    "residual_layer_norm", "total = x + residual; out = layer_norm(x + residual), for each row", False, 9
)
RESIDUAL_RMS_NORM = _ladder(
    "residual_rms_norm", "total = x + residual; out = rms_norm(x + residual), for each row", True, 6
)
