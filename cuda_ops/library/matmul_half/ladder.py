"""The ladder of the product of two half-precision matrices, on the tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.matmul_half.shapes import fills_with_pairs, loads_slowly, partial_bytes, shape_for, shapes, split
from cuda_ops.library.matmul_half.tiles import (
    ALIGNMENT_BYTES,
    BOX,
    BOX_BYTES,
    HALF,
    ROWS,
    Tile,
    as_it_lies,
    blocks_of,
    fits_engine,
    fits_engine_sizes,
    fits_integers,
    layout_of,
    maps_of,
    sizes_of,
    tile_for,
)
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, TensorMap, ceil_div

WMMA_TILE, MMA_TILE, WGMMA_TILE = 64, 128, 128
MMA_STAGES, MMA_DEPTH, MMA_PAD = 4, 32, 8
"""Stages, depth of a step, and padding of a line in v3_mma.cu."""
WGMMA_STAGES = 3
"""Stages of v4_wgmma.cu."""
PAD_CHUNK = 2048
"""Elements of a line that a block of v9_padded.cu copies."""
PADDED_MIN = 1 << 28
"""Minimum number of multiply-adds for which copying both matrices is faster than not using the copy engine."""


def _threads(kernel: str, tile: int, rows: int, threads: int, has_lanes: bool, shared_bytes: int = 0) -> Launch:
    """Launch rule of versions 1 to 3: one block for each tile of `rows` x `tile`."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        lanes = f"{problem.lanes}, " if has_lanes else ""
        launcher.launch(
            f"{kernel}<{problem.element.cuda}, {lanes}{layout_of(problem)}>",
            (blocks_of(problem, rows, tile), 1, 1),
            threads,
            [*map(Ptr, arrays[:4]), *sizes_of(problem)],
            shared_bytes=shared_bytes,
        )

    return launch


def _mma_bytes() -> int:
    """Shared memory of v3_mma.cu: for each tile, that of the larger layout."""
    line = max(MMA_TILE * (MMA_DEPTH + MMA_PAD), MMA_DEPTH * (MMA_TILE + MMA_PAD))
    return MMA_STAGES * 2 * line * 2


def _wgmma(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    a, b, bias, out, *_ = arrays
    launcher.launch(
        f"matmul_half_wgmma<{problem.element.cuda}, {layout_of(problem)}>",
        (blocks_of(problem, WGMMA_TILE, WGMMA_TILE), 1, 1),
        256,
        [*maps_of(problem, a, b), Ptr(bias), Ptr(out), *sizes_of(problem)],
        shared_bytes=WGMMA_STAGES * 4 * BOX_BYTES + ALIGNMENT_BYTES,
    )


def _tile_of_pairs(problem: Problem) -> Tile:
    return tile_for(problem, 2 * ROWS)


def roles(rule: Callable[[Problem], Tile] = tile_for) -> Launch:
    """Launch rule of version 5."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, bias, out, *_ = arrays
        tile = rule(problem)
        launcher.launch(
            f"matmul_half_roles<{problem.element.cuda}, {tile.columns}, {layout_of(problem)}, {tile.stages}>",
            (blocks_of(problem, ROWS, tile.columns), 1, 1),
            384,
            [*maps_of(problem, a, b), Ptr(bias), Ptr(out), *sizes_of(problem)],
            shared_bytes=tile.shared_bytes(by_engine=False),
        )

    return launch


def persistent(name: str, blocks: int, rule: Callable[[Problem], Tile] = tile_for) -> Launch:
    """Launch rule of versions 6 and 7; `blocks` in a cluster are 1 and 2."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, bias, out, *_ = arrays
        tile = rule(problem)
        layout, shared_bytes = layout_of(problem), tile.shared_bytes(by_engine=True)
        kernel = f"matmul_half_{name}<{problem.element.cuda}, {tile.columns}, {layout}, {tile.stages}, {tile.group}>"
        resident = launcher.resident_blocks(kernel, 384, shared_bytes, blocks)
        launcher.launch(
            kernel,
            (min(resident // blocks * blocks, blocks * blocks_of(problem, blocks * ROWS, tile.columns)), 1, 1),
            384,
            [
                *maps_of(problem, a, b),
                Ptr(bias),
                TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
                *sizes_of(problem),
            ],
            shared_bytes=shared_bytes,
            cluster=blocks,
        )

    return launch


def _padded_length(length: int) -> int:
    """The length of a line after padding to a multiple of 128 bytes."""
    return ceil_div(length, BOX) * BOX


def _padded(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    *factors, bias, out, padded_a, padded_b, _ = arrays
    maps: list[Argument] = []
    for factor, padded, (lines, length) in zip(factors, (padded_a, padded_b), as_it_lies(problem), strict=True):
        pitch = _padded_length(length)
        launcher.launch(
            f"matmul_half_pad<{problem.element.cuda}, {problem.lanes}>",
            (lines * ceil_div(pitch, PAD_CHUNK), 1, 1),
            256,
            [Ptr(factor), Ptr(padded), I32(lines), I32(length), I32(pitch)],
        )
        maps.append(TensorMap(padded, 2, lines, pitch, BOX, BOX))
    tile = tile_for(problem)
    shared_bytes = tile.shared_bytes(by_engine=False)
    sizes = f"{tile.columns}, {layout_of(problem)}, {tile.stages}, {tile.group}, {flag(problem.lanes > 1)}"
    kernel = f"matmul_half_padded<{problem.element.cuda}, {sizes}>"
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), blocks_of(problem, ROWS, tile.columns)), 1, 1),
        384,
        [*maps, Ptr(bias), Ptr(out), *sizes_of(problem)],
        shared_bytes=shared_bytes,
    )


def _scratch(number: int) -> Callable[[Problem], int]:
    """The bytes of the copy of `a` (0) or `b` (1) with padded lines."""

    def size(problem: Problem) -> int:
        lines, length = as_it_lies(problem)[number]
        return lines * _padded_length(length) * problem.element.size_bytes

    return size


def _fits_padded(problem: Problem) -> bool:
    """Whether version 9 can run: the number of blocks that copy lines must fit 32 bits too."""
    blocks = max(lines * ceil_div(_padded_length(length), PAD_CHUNK) for lines, length in as_it_lies(problem))
    return fits_engine_sizes(problem) and blocks < 2**31


def _preferred(problem: Problem) -> int:
    if fits_engine(problem):
        shape = shape_for(problem)
        has_small_tiles = shape.rows == BOX or shape.parts > 1
        return 10 if loads_slowly(problem) or has_small_tiles or fills_with_pairs(problem) else 6
    if _fits_padded(problem) and problem.count * problem.depth >= PADDED_MIN:
        return 9
    return 3 if problem.architecture >= 80 else 1


MATMUL_HALF = Ladder(
    name="matmul_half",
    folder="matmul_half",
    formula="out = a b + bias, matrices of half precision",
    arrays=("a", "b", "bias", "out", "padded_a", "padded_b", "partial"),
    moved_bytes=lambda problem: (
        (problem.rows * problem.depth + problem.depth * problem.columns + problem.count) * problem.element.size_bytes
    ),
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=_preferred,
    is_product=True,
    tensor_products=1,
    scratch={"padded_a": _scratch(0), "padded_b": _scratch(1), "partial": partial_bytes},
    versions=(
        Version(
            1,
            "naive",
            change="One thread per element of the result, without tensor cores.",
            why="It runs on any GPU, and is the simplest kernel that gives the result.",
            limit="A multiply-add for two loads and two conversions.",
            launch=_threads("matmul_half_naive", 32, 8, 256, has_lanes=False),
            fits=fits_integers,
            elements=HALF,
        ),
        Version(
            2,
            "wmma",
            change="A warp multiplies matrices of 16 x 16 on the tensor cores (CUDA's WMMA), from shared memory.",
            why="One instruction of a warp does 2,048 multiply-adds instead of 32.",
            limit="The tensor cores wait while tiles are loaded. Which lane has which element is not known, so sums go "
            "through shared memory.",
            launch=_threads("matmul_half_wmma", WMMA_TILE, WMMA_TILE, 128, has_lanes=True),
            fits=fits_integers,
            architecture_min=80,
            elements=HALF,
            instructions=("HMMA.16816.F32.BF16", "LDSM"),
        ),
        Version(
            3,
            "mma",
            change="Products of 16 x 16 x 8 with known lanes (mma.sync), factors by ldmatrix, four steps of the depth "
            "on their way (cp.async), a tile of 128 x 128.",
            why="Nothing waits for a step; sums are stored from registers.",
            limit="The L2 cache, busy at 90 % of its peak (H100, 4096); and all factors pass through registers.",
            launch=_threads("matmul_half_mma", MMA_TILE, MMA_TILE, 256, has_lanes=True, shared_bytes=_mma_bytes()),
            fits=fits_integers,
            architecture_min=80,
            elements=HALF,
            instructions=("HMMA.16816.F32.BF16", "LDSM", "LDGSTS.E.BYPASS.128"),
        ),
        Version(
            4,
            "wgmma",
            change="Four warps multiply 64 x 128 from shared memory (wgmma), which the copy engine fills (TMA).",
            why="No factor and no address passes through registers.",
            limit="All warps wait for a stage's products before the next one is filled; the tensor cores wait too.",
            launch=_wgmma,
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x128x16.F32.BF16", "UTMALDG.2D", "SYNCS"),
        ),
        Version(
            5,
            "roles",
            change="Warpgroups have roles: one fills, two multiply 64 x 256 each, and take the registers of the first.",
            why="A stage's products begin while those before run, and each box of `b` serves twice as many.",
            limit="The tensor cores wait while sums are stored, and until the next block's first stage has come.",
            launch=roles(),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "USETMAXREG"),
        ),
        Version(
            6,
            "persistent",
            change="As many blocks as run at once compute all tiles; sums go through shared memory to the copy engine.",
            why="The next tile's stages are filled while this one's sums are stored, in whole lines.",
            limit="Each block brings all of its factors from the L2 cache.",
            launch=persistent("persistent", 1),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "STSM.16.M88.4", "UTMASTG.2D"),
        ),
        Version(
            7,
            "cluster",
            change="Two blocks share the boxes of `b`: each brings half of them to both (multicast).",
            why="A third fewer boxes are asked for.",
            limit="The tensor cores, as before: the L2 cache was no limit where rows begin at multiples of 32 bytes, "
            "and its counters show no fewer bytes. Where rows begin elsewhere it gains a quarter, but boxes still come "
            "late.",
            launch=persistent("cluster", 2, _tile_of_pairs),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D.MULTICAST", "STSM.16.M88.4", "UTMASTG.2D"),
        ),
        Version(
            8,
            "split",
            change="For few tiles: the blocks of a cluster share the depth of one tile, and add up their sums.",
            why="All processors work, where a block for each tile would leave most of them idle.",
            limit="Sums travel between the blocks of a cluster, and each block multiplies only a few steps.",
            launch=split(),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x128x16.F32.BF16", "UTMALDG.2D", "UCGABAR_ARV", "LD.E.128"),
        ),
        Version(
            9,
            "padded",
            change="Both matrices are copied first, to rows that begin at multiples of 128 bytes.",
            why="The copy engine and the warpgroups can multiply matrices of any size, and the copies take less time "
            "than they save.",
            limit="The copies, and sums that are stored from registers.",
            launch=_padded,
            fits=_fits_padded,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "STG.E.128"),
        ),
        Version(
            10,
            "shapes",
            change="Tiles of 64, 128 or 192 rows and many widths. Blocks that share a tile's depth leave their sums in "
            "memory, and the last of them adds them up.",
            why="The last round of blocks is almost full: 4104 x 4104 is 484 tiles of 192 x 192 for 132 processors, of "
            "which 561 of 128 x 256 take five rounds, not four. 64 rows waste no half of a tile. Parts of a depth need "
            "no clusters, which do not fill the GPU.",
            limit="Few tiles: 72 of 128 x 256 (3072 x 768) leave half of the processors idle, and smaller ones read "
            "more from the L2 cache. Where lines begin at no multiple of 32 bytes, a line of a box takes 3 ns.",
            launch=shapes(),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x224x16.F32.BF16", "UTMALDG.2D.MULTICAST", "STSM.16.M88.4", "UTMASTG.2D"),
        ),
    ),
)
