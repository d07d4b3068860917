"""The ladders of batches of products, with factors: alpha a b + beta c for each pair of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library.ladder import FLOAT32, Ladder, Problem, Version
from cuda_ops.library.matmul.ladder import fits_layouts, short_tile_for
from cuda_ops.library.matmul_half.tiles import BOX, HALF, ROWS, fits_engine, layout_of, tile_for
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import F32, I32, I64, Launcher, Ptr, TensorMap, ceil_div


def _sizes_of(problem: Problem) -> tuple[tuple[int, int], tuple[int, int]]:
    """(number of lines in memory, their length) of `a` and of `b`."""
    of_a = (problem.depth, problem.rows) if problem.a_is_transposed else (problem.rows, problem.depth)
    of_b = (problem.columns, problem.depth) if problem.b_is_transposed else (problem.depth, problem.columns)
    return of_a, of_b


def _layouts(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    tile, batch = short_tile_for(problem), problem.batch
    sizes = f"{tile.rows}, {tile.columns}, {tile.depth}, {tile.warp_rows}, {tile.warp_columns}"
    lies = f"{flag(problem.a_is_transposed)}, {flag(not problem.b_is_transposed)}"
    of_a, of_b = _sizes_of(problem)
    launcher.launch(
        f"matmul_batches_layouts<{problem.lanes}, {sizes}, {tile.stages}, {tile.blocks}, {lies}>",
        (batch.count * ceil_div(problem.rows, tile.rows) * ceil_div(problem.columns, tile.columns), 1, 1),
        tile.threads,
        [
            *map(Ptr, arrays),
            I32(problem.rows),
            I32(problem.columns),
            I32(problem.depth),
            I64(0 if batch.a_is_shared else of_a[0] * of_a[1]),
            I64(0 if batch.b_is_shared else of_b[0] * of_b[1]),
            F32(batch.alpha),
            F32(batch.beta),
        ],
        shared_bytes=tile.shared_bytes_of_layouts,
    )


def _persistent(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    a, b, bias, c, out = arrays
    tile, batch = tile_for(problem), problem.batch
    kernel = f"matmul_batches_persistent<{problem.element.cuda}, {tile.columns}, {layout_of(problem)}, {tile.stages}, "
    kernel += f"{tile.group}>"
    shared_bytes = tile.shared_bytes(by_engine=True)
    of_a, of_b = _sizes_of(problem)
    tiles = batch.count * ceil_div(problem.rows, ROWS) * ceil_div(problem.columns, tile.columns)
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), tiles), 1, 1),
        384,
        [
            TensorMap(a, 2, *of_a, BOX, BOX, ((1 if batch.a_is_shared else batch.count, 1),)),
            TensorMap(b, 2, *of_b, BOX, BOX, ((1 if batch.b_is_shared else batch.count, 1),)),
            Ptr(bias),
            Ptr(c),
            TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX, ((batch.count, 1),)),
            I32(problem.rows),
            I32(problem.columns),
            I32(problem.depth),
            I32(batch.count),
            I32(int(batch.a_is_shared)),
            I32(int(batch.b_is_shared)),
            F32(batch.alpha),
            F32(batch.beta),
        ],
        shared_bytes=shared_bytes,
    )


def _count(problem: Problem) -> int:
    return problem.batch.count * problem.count


def _moved_bytes(problem: Problem) -> int:
    batch = problem.batch
    moved = (1 if batch.a_is_shared else batch.count) * problem.rows * problem.depth
    moved += (1 if batch.b_is_shared else batch.count) * problem.depth * problem.columns
    return (moved + (2 if batch.beta else 1) * _count(problem)) * problem.element.size_bytes


def _operations(problem: Problem) -> int:
    return 2 * _count(problem) * problem.depth


def _first(problem: Problem) -> int:
    return 1


MATMUL_BATCHES = Ladder(
    name="matmul_batches",
    folder="matmul_batches",
    formula="out = alpha a b + beta c, for each pair of matrices",
    arrays=("a", "b", "c", "out"),
    moved_bytes=_moved_bytes,
    operations=_operations,
    preferred=_first,
    is_product=True,
    results={"out": _count},
    versions=(
        Version(
            1,
            "layouts",
            change="matmul's last version for many pairs of matrices in one launch; sums are scaled, and c is added, "
            "before they are stored.",
            why="Small products fill the GPU together, and the product is not written and read again for its scales.",
            limit="The issue of instructions, as of one product.",
            launch=_layouts,
            fits=fits_layouts,
            architecture_min=80,
            elements=(FLOAT32,),
            instructions=("LDGSTS.E.BYPASS.128", "LDS.128", "FFMA", "STG.E.128"),
        ),
    ),
)
MATMUL_HALF_BATCHES = Ladder(
    name="matmul_half_batches",
    folder="matmul_batches",
    formula="out = alpha a b + bias + beta c, for each pair of matrices of half precision",
    arrays=("a", "b", "bias", "c", "out"),
    moved_bytes=_moved_bytes,
    operations=_operations,
    preferred=_first,
    is_product=True,
    tensor_products=1,
    results={"out": _count},
    versions=(
        Version(
            1,
            "persistent",
            change="matmul_half's persistent kernel for many pairs: the copy engine's maps have a third dimension.",
            why="Blocks go on from the tiles of one pair to those of the next, whose boxes come meanwhile.",
            limit="The tensor cores; for small matrices the memory.",
            launch=_persistent,
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.3D", "STSM.16.M88.4", "UTMASTG.3D"),
        ),
    ),
)
