"""The problems at which the operator library is timed, and the launch shapes that are tried for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from cuda_ops.library import ahead, flat
from cuda_ops.library.activation.ladder import RELU, SIGMOID
from cuda_ops.library.activation_backward.ladder import RELU_BACKWARD, SIGMOID_BACKWARD
from cuda_ops.library.add.ladder import ADD
from cuda_ops.library.ahead import Ahead
from cuda_ops.library.ladder import (
    BFLOAT16,
    FLOAT32,
    PACK_BYTES,
    Batch,
    Element,
    Ladder,
    Launch,
    Problem,
    Version,
    line_of,
)
from cuda_ops.library.matmul import ladder as matmul
from cuda_ops.library.matmul.ladder import MATMUL, Tile
from cuda_ops.library.matmul_batches.ladder import MATMUL_BATCHES, MATMUL_HALF_BATCHES
from cuda_ops.library.matmul_fused.ladder import MATMUL_RELU, MATMUL_RESIDUAL, MATMUL_SILU
from cuda_ops.library.matmul_half import ladder as matmul_half
from cuda_ops.library.matmul_half import shapes as half_shapes
from cuda_ops.library.matmul_half import tiles as half_tiles
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF
from cuda_ops.library.matmul_half.tiles import HALF
from cuda_ops.library.matmul_parts.ladder import MATMUL_PARTS
from cuda_ops.library.matmul_quantized.ladder import MATMUL_FP8, MATMUL_INT8
from cuda_ops.library.matmul_rows.ladder import MATMUL_LAYER_NORM, MATMUL_SOFTMAX
from cuda_ops.library.matmul_sparse import ladder as matmul_sparse
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE
from cuda_ops.library.matmul_tf32.ladder import MATMUL_TF32
from cuda_ops.library.norm import ladder as norm
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.norm_backward import ladder as norm_backward
from cuda_ops.library.norm_backward.ladder import LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD
from cuda_ops.library.norm_residual import ladder as norm_residual
from cuda_ops.library.norm_residual.ladder import RESIDUAL_LAYER_NORM, RESIDUAL_RMS_NORM
from cuda_ops.library.norm_softmax import ladder as norm_softmax
from cuda_ops.library.norm_softmax.ladder import LAYER_NORM_SOFTMAX
from cuda_ops.library.reduce import ladder as reduce
from cuda_ops.library.reduce.ladder import DOT, MAX, MEAN, SUM
from cuda_ops.library.rows import CLUSTER_BLOCKS_MAX, WARP_COLUMNS_MAX, Spread
from cuda_ops.library.softmax import ladder as softmax
from cuda_ops.library.softmax.ladder import LOG_SOFTMAX, SOFTMAX
from cuda_ops.library.softmax_backward import ladder as softmax_backward
from cuda_ops.library.softmax_backward.ladder import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD

T = TypeVar("T")
ROW_BYTES = 256 << 20
"""Bytes of the rows of one problem."""
LYING = {MATMUL_FP8.name: "b", MATMUL_INT8.name: "b"}
"""The matrix that has to lie transposed, by the name of the ladder: torch's products of 8 bits take no other."""
FUSED = (RESIDUAL_LAYER_NORM, RESIDUAL_RMS_NORM, LAYER_NORM_SOFTMAX)
REDUCTIONS = (SUM, DOT, MAX, MEAN)
COLUMNS = (4096, 131072, 1024, 32768, 16384, 8192, 65536, 262144)


@dataclass(frozen=True, slots=True)
class Case:
    """One operator at one size."""

    ladder: Ladder
    element: Element
    rows: int
    columns: int
    is_swept: bool = False
    depth: int = 0
    transposed: str = ""
    """Which matrices of a product lie in memory by their columns: "a", "b"."""
    is_brief: bool = False
    """Whether only the default version is timed."""
    is_sustained: bool = False
    """Whether it is also timed for seconds, while the card warms."""
    pairs: int = 1
    """Of a batch of products, how many."""
    has_sum: bool = False
    """Whether c is added to the products of a batch."""
    left_out: tuple[int, ...] = ()
    """Versions that would take too long."""

    def title(self) -> str:
        return (
            f"{self.ladder.name} {self.element.name} {self.rows} x {self.columns}"
            + (f" x {self.depth}" if self.depth else "")
            + (f", {self.transposed} transposed" if self.transposed else "")
            + (f", {self.pairs} pairs" if self.pairs > 1 else "")
            + (", plus c" if self.has_sum else "")
        )

    def named(self) -> dict[str, Any]:
        return {
            "operator": self.ladder.name,
            "element": self.element.name,
            "rows": self.rows,
            "columns": self.columns,
            **({"depth": self.depth} if self.depth else {}),
            **({"transposed": self.transposed} if self.transposed else {}),
            **({"pairs": self.pairs} if self.pairs > 1 else {}),
            **({"has_sum": True} if self.has_sum else {}),
        }


def cases() -> Iterator[Case]:
    """All cases, those of the issue's table first."""
    for ladder in (ADD, RELU, SIGMOID):
        yield Case(ladder, FLOAT32, 1, 1 << 28, is_swept=ladder is not RELU)
        yield Case(ladder, BFLOAT16, 1, 1 << 28, is_swept=ladder is not RELU)
    for ladder in REDUCTIONS:
        yield Case(ladder, FLOAT32, 1, 1 << 30, is_swept=ladder in (SUM, DOT))
        yield Case(ladder, BFLOAT16, 1, 1 << 30, is_swept=ladder is SUM)
    for columns in COLUMNS:
        for ladder in (SOFTMAX, LAYER_NORM, RMS_NORM, LOG_SOFTMAX, *FUSED):
            for element in (FLOAT32, BFLOAT16):
                rows = ROW_BYTES // element.size_bytes // columns
                yield Case(ladder, element, rows, columns, is_swept=True)


def backward_cases() -> Iterator[Case]:
    """The gradients, at the sizes of the operators."""
    for ladder in (RELU_BACKWARD, SIGMOID_BACKWARD):
        for element in (FLOAT32, BFLOAT16):
            yield Case(ladder, element, 1, 1 << 28)
    for columns in COLUMNS:
        for ladder in (SOFTMAX_BACKWARD, LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD, LOG_SOFTMAX_BACKWARD):
            for element in (FLOAT32, BFLOAT16):
                rows = ROW_BYTES // element.size_bytes // columns
                yield Case(ladder, element, rows, columns, is_swept=ladder in (LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD))


PRODUCT_SIZES = ((4096, 4096, 4096), (8192, 8192, 8192), (2048, 2048, 2048), (1024, 1024, 1024), (4097, 1023, 2047))
"""Rows, columns and depth of the products."""
TILES = (
    Tile(128, 256, 16, 64, 64, 4, 1),
    Tile(128, 256, 32, 64, 64, 3, 1),
    Tile(128, 256, 8, 64, 64, 5, 1),
    Tile(256, 128, 16, 64, 64, 4, 1),
    Tile(128, 128, 16, 64, 64, 4, 2),
    Tile(64, 128, 16, 32, 64, 3, 3),
    Tile(64, 128, 16, 32, 64, 4, 3),
    Tile(64, 64, 8, 32, 32, 5, 4),
)


HALF_TILES = (*half_tiles.TILES, half_tiles.Tile(256, 4, 4), half_tiles.Tile(256, 3, 8))
FEW_ROWS = 128
"""Or columns, of a product whose tiles are all small."""
FEW_ELEMENTS = 1 << 20
"""Of a result whose depth is worth to be split."""


def product_cases() -> Iterator[Case]:
    """The products of float32 matrices."""
    for rows, columns, depth in PRODUCT_SIZES:
        yield Case(MATMUL, FLOAT32, rows, columns, is_swept=rows % 2 == 0, depth=depth)
        for transposed in ("b", "a", "ab") if rows in (4096, 2048) else ():
            yield Case(MATMUL, FLOAT32, rows, columns, depth=depth, transposed=transposed, is_brief=True)


RAGGED_SIZES = (
    *((rows, 4096, 4096) for rows in (16, 64, 128, 256, 512)),
    *((4096, columns, 4096) for columns in (64, 128)),
    *((4096, 4096, depth) for depth in (64, 128, 11008)),
    (4096, 11008, 4096),
    (2048, 8192, 2048),
    (8192, 1024, 4096),
    (1024, 8192, 8192),
    (16384, 512, 512),
    (512, 16384, 512),
    (512, 512, 16384),
    (768, 3072, 768),
    (3072, 768, 3072),
    (6144, 1536, 1536),
    (1536, 1536, 1536),
    (5120, 5120, 5120),
    (1000, 1000, 1000),
    (3000, 3000, 3000),
    (2000, 5000, 1000),
    (1032, 2056, 4104),
    (4104, 4104, 4104),
    (1001, 1003, 1005),
    (4095, 4095, 4095),
    (5001, 333, 2049),
)
"""Rectangular and odd products. In memory the rows of the last eight begin at no multiple of 128 bytes, those of the
last three not even at one of 16."""


def half_product_cases() -> Iterator[Case]:
    """The products of half-precision matrices, with those of a linear layer's result and gradients."""
    for rows, columns, depth in PRODUCT_SIZES:
        is_square = rows % 2 == 0
        is_large = is_square and rows >= 2048
        yield Case(MATMUL_HALF, BFLOAT16, rows, columns, is_square, depth, is_sustained=is_large)
        for transposed in ("b", "a") if is_large else ():
            yield Case(MATMUL_HALF, BFLOAT16, rows, columns, depth=depth, transposed=transposed, is_brief=True)
    yield Case(MATMUL_HALF, HALF[1], 4096, 4096, depth=4096)
    for rows, columns, depth in RAGGED_SIZES:
        is_swept = min(rows, columns) <= FEW_ROWS
        yield Case(MATMUL_HALF, BFLOAT16, rows, columns, is_swept, depth, is_brief=True)


def tensor_product_cases() -> Iterator[Case]:
    """The products on tensor cores that are not of half precision; the second matrix of 8-bit ones lies transposed."""
    for rows, columns, depth in PRODUCT_SIZES:
        is_long = rows == 8192
        yield Case(MATMUL_PARTS, FLOAT32, rows, columns, depth=depth)
        yield Case(MATMUL_TF32, FLOAT32, rows, columns, depth=depth, is_sustained=is_long)
        if rows % 2 == 0:
            yield Case(MATMUL_TF32, FLOAT32, rows, columns, depth=depth, transposed="b", is_brief=True)
        for ladder in (MATMUL_FP8, MATMUL_INT8):
            if rows % 2 == 0:  # torch's operators take no odd sizes
                is_sustained = is_long and ladder is MATMUL_FP8
                element, lies = ladder.elements[0], LYING[ladder.name]
                yield Case(ladder, element, rows, columns, depth=depth, transposed=lies, is_sustained=is_sustained)
    yield Case(MATMUL_PARTS, FLOAT32, 1024, 1024, depth=16384, is_brief=True)
    yield Case(MATMUL_FP8, MATMUL_FP8.elements[0], 4096, 11008, depth=4096, transposed="b", is_brief=True)


SPARSE_PRODUCT_SIZES = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (2048, 8192, 2048),
    (2048, 2048, 2048),
    (1024, 1024, 1024),
    (4096, 11008, 4096),
)
SPARSE_TILES = tuple(
    matmul_sparse.Tile(*sizes)
    for sizes in (
        (2, 1, 256, 3, 4, 1, 8),
        (2, 1, 256, 2, 4, 1, 8),
        (2, 1, 256, 3, 4, 2, 4),
        (2, 2, 128, 3, 5, 1, 4, 1),
        (2, 2, 128, 3, 5, 2, 4, 1),
        (2, 2, 128, 3, 4, 2, 4),
        (2, 2, 128, 3, 5, 2, 8, 1),
        (2, 2, 128, 2, 6, 2, 4),
        (2, 2, 192, 2, 4, 1, 4),
        (2, 2, 192, 2, 5, 1, 4, 1),
        (2, 2, 192, 2, 5, 2, 4, 1),
        (2, 2, 192, 2, 4, 2, 2),
        (2, 1, 192, 4, 5, 1, 8),
        (2, 1, 128, 4, 7, 2, 4),
    )
)
"""Launch shapes of version 4; the first one is version 3's."""


def sparse_product_cases() -> Iterator[Case]:
    """The products of 2:4 sparse matrices."""
    for rows, columns, depth in SPARSE_PRODUCT_SIZES:
        is_large = rows == columns and rows > 2048
        slow = (1,) if max(rows, columns) > 2048 else ()
        yield Case(MATMUL_SPARSE, BFLOAT16, rows, columns, is_large, depth, is_sustained=is_large, left_out=slow)
        if is_large:
            yield Case(MATMUL_SPARSE, BFLOAT16, rows, columns, True, depth, transposed="b", left_out=slow)
    yield Case(MATMUL_SPARSE, HALF[1], 4096, 4096, depth=4096, left_out=(1,))


FUSED_PRODUCT_SIZES = ((4096, 4096, 128), (4096, 4096, 1024), (16384, 1024, 1024), (8192, 512, 512), (65536, 256, 64))
"""Rows, columns and depth of products whose rows are normalized."""


def fused_product_cases() -> Iterator[Case]:
    """The products with what follows them in one kernel."""
    for ladder in (MATMUL_SOFTMAX, MATMUL_LAYER_NORM):
        for rows, columns, depth in FUSED_PRODUCT_SIZES:
            yield Case(ladder, BFLOAT16, rows, columns, depth=depth)
    for ladder in (MATMUL_RESIDUAL, MATMUL_RELU, MATMUL_SILU):
        for size in (4096, 8192, 2048):
            yield Case(ladder, BFLOAT16, size, size, depth=size)


BATCH_SIZES = ((64, 512, 512, 512), (128, 1024, 1024, 64), (16, 2048, 2048, 128), (8, 2048, 2048, 2048))
"""Pairs, rows, columns and depth of batches of products."""


def batch_product_cases() -> Iterator[Case]:
    """Batches of products, and one large product to which c is added."""
    for ladder, element in ((MATMUL_BATCHES, FLOAT32), (MATMUL_HALF_BATCHES, BFLOAT16)):
        for pairs, rows, columns, depth in BATCH_SIZES:
            yield Case(ladder, element, rows, columns, depth=depth, pairs=pairs)
        yield Case(ladder, element, 512, 512, depth=512, pairs=64, has_sum=True)
        yield Case(ladder, element, 4096, 4096, depth=4096, has_sum=True)


def inputs_for(case: Case, seed: int) -> list[Any]:
    """Random arguments of the operator on the GPU."""
    from cuda_ops.library.matmul_sparse.packing import pack
    from cuda_ops.library.trial import random_inputs

    if case.ladder in (MATMUL_BATCHES, MATMUL_HALF_BATCHES):
        a, b = random_inputs(case.ladder, case.element, case.rows, case.columns, "cuda", seed, case.pairs * case.depth)
        matrices = [case.pairs] * (case.pairs > 1)
        made = [a.reshape(*matrices, case.rows, case.depth), b.reshape(*matrices, case.depth, case.columns)]
        if not case.has_sum:
            return made
        c = random_inputs(SOFTMAX, case.element, case.pairs * case.rows, case.columns, "cuda", seed)[0]
        bias = [None] if case.ladder is MATMUL_HALF_BATCHES else []
        return [*made, *bias, c.reshape(*matrices, case.rows, case.columns)]
    made = random_inputs(case.ladder, case.element, case.rows, case.columns, "cuda", seed, case.depth)
    if not case.ladder.is_product:
        return made
    if case.ladder in (MATMUL_RESIDUAL, MATMUL_RELU, MATMUL_SILU):
        a, b = made
        return [a, b, b[0].clone(), random_inputs(SOFTMAX, case.element, case.rows, case.columns, "cuda", seed)[0]]
    lying = [x.T.contiguous().T if name in case.transposed else x for name, x in zip("ab", made, strict=True)]
    return [pack(lying[0]), lying[1]] if case.ladder is MATMUL_SPARSE else lying


def arrays_of(inputs: list[Any]) -> list[Any]:
    """The arguments as the arrays that kernels read: a packed matrix is two of them."""
    from cuda_ops.library.matmul_sparse.packing import TwoOfFour

    a, *others = inputs
    return [a.values, a.pattern, *others] if isinstance(a, TwoOfFour) else inputs


def problem_of(case: Case) -> Problem:
    """The problem on the GPU at hand, whose arrays are aligned."""
    from cuda_ops.library.peers import EPSILON
    from cuda_ops.library.run import architecture

    transposed = "a" in case.transposed, "b" in case.transposed
    lanes = PACK_BYTES // case.element.size_bytes
    while not case.ladder.is_flat and line_of(case.rows, case.columns, case.depth, transposed) % lanes:
        lanes //= 2
    batch = Batch(case.pairs, 1.0, float(case.has_sum))
    sizes = case.element, case.rows, case.columns, lanes, architecture(0), EPSILON, case.depth
    return Problem(*sizes, *transposed, batch)


@dataclass(frozen=True, slots=True)
class Shape:
    """A launch rule to be tried for a version."""

    title: str
    version: Version
    launch: Launch
    partial_bytes: int = 0
    """Room for the sums of blocks that share a depth, where another shape needs less."""


def shapes_of(ladder: Ladder, problem: Problem) -> list[Shape]:
    """The launch shapes that are tried for a problem."""
    if ladder in (ADD, RELU, SIGMOID, RELU_BACKWARD, SIGMOID_BACKWARD):
        template = "add_tile<" if ladder is ADD else f"{ladder.folder}_tile<av_{ladder.name}, "
        return [Shape(f"{unroll} packs", ladder.versions[-1], flat.tile(template, unroll)) for unroll in (1, 2, 4, 8)]
    if ladder in REDUCTIONS:
        pairs = [(threads, unroll) for threads in (256, 512, 1024) for unroll in (2, 4, 8)]
        functor = f"av_{ladder.name}_all"
        return [Shape(f"{t} threads, {u} packs", ladder.versions[3], reduce.vector(functor, t, u)) for t, u in pairs]
    if ladder is MATMUL:
        return [
            Shape(f"{_title_of(tile)}, {version.name}", version, matmul.warps(version.name, _always(tile)))
            for version in ladder.versions[7:8]
            for tile in TILES
        ]
    if ladder is MATMUL_SPARSE:
        version = ladder.versions[3]
        tiles = SPARSE_TILES if version.can_run(problem) else ()
        return [Shape(_title_of_sparse(tile), version, matmul_sparse.tall(_always(tile))) for tile in tiles]
    if ladder.is_product and ladder not in (MATMUL, MATMUL_HALF):
        return []
    if ladder is MATMUL_HALF and min(problem.rows, problem.columns) <= FEW_ROWS:
        return [*_splits(ladder, problem), *_half_shapes(ladder, problem)]
    if ladder is MATMUL_HALF:
        rules = ((version, version.number - 5) for version in ladder.versions[5:7] if version.can_run(problem))
        found = [
            Shape(
                f"128 x {tile.columns}, {tile.stages} stages, {tile.group} rows of tiles, {version.name}",
                version,
                matmul_half.persistent(version.name, blocks, _always(tile)),
            )
            for version, blocks in rules
            for tile in HALF_TILES
            if tile.columns // half_tiles.BOX % blocks == 0
        ]
        return found + (_splits(ladder, problem) if problem.rows * problem.columns <= FEW_ELEMENTS else [])
    if ladder in FUSED:
        rule: Callable[[Any], Launch] = norm_softmax.spread
        few: tuple[int, ...] = (8, 16, 32)
        if ladder is not LAYER_NORM_SOFTMAX:
            rule = partial(norm_residual.spread, ladder is RESIDUAL_RMS_NORM)
            few = (8, 16) if problem.element.size_bytes == 4 else (8, 16, 32)
        found = [
            Shape(_title(one), ladder.versions[1 if one.blocks == 1 else 2], rule(_always(one)))
            for one in _spreads(problem, few)
        ]
        if ladder is LAYER_NORM_SOFTMAX and problem.columns <= WARP_COLUMNS_MAX:
            found += [Shape(f"{warps} warps", ladder.versions[3], norm_softmax.warp(warps)) for warps in (1, 2, 4, 8)]
        return found
    warp, spread = _rules(ladder)
    more = list(_pipelines(ladder, problem)) if ladder.folder == "norm_backward" else []
    if ladder.folder in ("softmax", "norm") and problem.columns > WARP_COLUMNS_MAX:
        more = list(_aheads(ladder, problem))
    if problem.columns <= WARP_COLUMNS_MAX:
        found = [Shape(f"{warps} warps", ladder.versions[2], warp(warps)) for warps in (1, 2, 4, 8)]
        found += [_spread_shape(ladder, one, spread) for one in _spreads(problem, (8, 16)) if one.blocks == 1]
        return found + more
    each: tuple[int, ...] = (8, 16, 32) if ladder.folder in ("softmax", "norm") else (8, 16)
    if problem.element.size_bytes == 2:
        each = (16, 32, 64) if ladder.folder in ("softmax", "norm") else (8, 16, 32)
    return [_spread_shape(ladder, one, spread) for one in _spreads(problem, each)] + more


def _splits(ladder: Ladder, problem: Problem) -> list[Shape]:
    """Clusters that share the depth of a tile: version 8 of half-precision products."""
    version = ladder.versions[7]
    return [
        Shape(
            f"128 x {split.columns}, {split.stages} stages, {split.blocks} blocks, split",
            version,
            half_shapes.split(_always(split)),
        )
        for split in (half_shapes.SPLITS if version.can_run(problem) else ())
    ]


def _half_shapes(ladder: Ladder, problem: Problem) -> list[Shape]:
    """Tiles of 64 and 128 rows, and blocks that share their depth: version 10 of half-precision products."""
    version = ladder.versions[9]
    shapes = half_shapes.shapes_for(problem, (1,)) if version.can_run(problem) else []
    return [
        Shape(
            f"{one.rows} x {one.columns}, {one.parts} parts of the depth",
            version,
            half_shapes.shapes(_always(one)),
            one.tiles(problem) * one.parts * one.rows * one.columns * 4 if one.parts > 1 else 0,
        )
        for one in shapes
        if one.rows <= 128 and one.columns <= 128
    ]


def _rules(ladder: Ladder) -> tuple[Callable[[int], Launch], Callable[[Any], Launch]]:
    """The launch rules of versions 3, and 4 and 5."""
    modules: dict[str, Any] = {
        "softmax": softmax,
        "softmax_backward": softmax_backward,
        "norm": norm,
        "norm_backward": norm_backward,
    }
    module = modules[ladder.folder]
    is_other = ladder in (LOG_SOFTMAX, LOG_SOFTMAX_BACKWARD, RMS_NORM, RMS_NORM_BACKWARD)
    return partial(module.warp, is_other), partial(module.spread, is_other)


def _pipelines(ladder: Ladder, problem: Problem) -> Iterator[Shape]:
    """Shapes of versions 6 and 7 of the norms' gradients."""
    is_rms = ladder is RMS_NORM_BACKWARD
    for stages in (1, 2, 3, 4):
        for each in (8, 16):
            for threads in (32, 64, 128, 256, 512, 1024):
                blocks = problem.columns // (each * threads)
                is_whole = blocks * each * threads == problem.columns and blocks in (1, 2, 4, CLUSTER_BLOCKS_MAX)
                is_short = 2 * stages * each * threads * problem.element.size_bytes <= norm_backward.PIPELINE_BYTES_MAX
                if is_whole and is_short and (blocks == 1 or threads >= 256) and each >= problem.lanes:
                    one = Spread(each // problem.lanes, threads, blocks)
                    title = f"{_title(one)}, {stages} stages"
                    if stages < 4:
                        rule = norm_backward.pipelined(is_rms, _always(one), stages)
                        yield Shape(title, ladder.versions[5], rule)
                    if stages > 1:
                        rule = norm_backward.pipelined(is_rms, _always(one), stages, "ahead")
                        yield Shape(f"{title}, ahead", ladder.versions[6], rule)


def _aheads(ladder: Ladder, problem: Problem) -> Iterator[Shape]:
    """Shapes of version 6 of softmax and the norms."""
    module: Any = softmax if ladder.folder == "softmax" else norm
    version, is_other = ladder.versions[-1], ladder in (LOG_SOFTMAX, RMS_NORM)
    for one in _ahead_shapes(ladder, problem) if version.can_run(problem) else ():
        ends = ", persistent" * one.is_persistent + ", weights kept" * one.keeps_weights
        title = (
            f"{_title(Spread(one.vectors, one.threads, one.blocks))}, {one.at_once} at once, {one.stages} stages{ends}"
        )
        yield Shape(title, version, module.loaded_ahead(is_other, _always(one)))


def _ahead_shapes(ladder: Ladder, problem: Problem) -> Iterator[Ahead]:
    """Distributions that fill the row exactly, of 64 or 128 bytes per thread, with blocks of at least 16 KiB of it."""
    size = problem.element.size_bytes
    for each in (64 // size, 128 // size):
        floats = each if ladder is SOFTMAX else each * size // 4  # registers of a thread for the row
        for threads in (128, 256, 512, 1024):
            blocks = problem.columns // (each * threads)
            is_whole = blocks * each * threads == problem.columns and blocks in (1, 2, 4, CLUSTER_BLOCKS_MAX)
            if is_whole and (blocks == 1 or each * threads * size >= 16 << 10):
                at_once = max(1, ahead.THREADS_AT_ONCE * 32 // max(32, floats) // threads)
                yield from _stages(ladder, problem, Ahead(each // problem.lanes, threads, blocks, at_once=at_once))


def _stages(ladder: Ladder, problem: Problem, one: Ahead) -> Iterator[Ahead]:
    """A distribution with 0 or 1 row ahead, and in turn with as many as there is room for; each with weights kept."""
    room = ahead.SHARED_BYTES_MAX // one.at_once // one.part_bytes(problem)
    kept = {LAYER_NORM: 2, RMS_NORM: 1}.get(ladder, 0)
    tried = [one, replace(one, stages=1), *(replace(one, stages=n, is_persistent=True) for n in (1, 2))]
    for shape in tried:
        if shape.stages <= room:
            yield shape
        if kept and shape.stages + kept <= room and (shape.is_persistent or shape.stages == 0):
            yield replace(shape, keeps_weights=True)


def _title(spread: Spread) -> str:
    return f"{spread.blocks} x {spread.threads} threads, {spread.vectors} packs"


def _title_of(tile: Tile) -> str:
    warp = f"{tile.warp_rows} x {tile.warp_columns}"
    return f"{tile.rows} x {tile.columns} x {tile.depth}, warps {warp}, {tile.stages} stages, {tile.blocks} blocks"


def _title_of_sparse(tile: matmul_sparse.Tile) -> str:
    return (
        f"{tile.rows} x {tile.columns}, {tile.stages_a} and {tile.stages_b} stages, {tile.blocks} blocks, {tile.group} "
        f"rows of tiles, {tile.out_boxes} boxes"
    )


def _always(value: T) -> Callable[[Problem], T]:
    return lambda problem: value


def _spread_shape(ladder: Ladder, spread: Spread, rule: Callable[[Any], Launch]) -> Shape:
    return Shape(_title(spread), ladder.versions[3 if spread.blocks == 1 else 4], rule(_always(spread)))


def _spreads(problem: Problem, each_of: tuple[int, ...]) -> Iterator[Spread]:
    """Spreads that fill the row exactly, since the lengths are powers of two."""
    for each in each_of:
        for threads in (128, 256, 512, 1024):
            blocks = problem.columns // (each * threads)
            is_whole = blocks * each * threads == problem.columns
            if is_whole and 1 <= blocks <= CLUSTER_BLOCKS_MAX and each >= problem.lanes:
                yield Spread(each // problem.lanes, threads, blocks)
