"""The problems at which the operator library is timed, and the launch shapes that are tried for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuda_ops.library import flat
from cuda_ops.library.activation.ladder import RELU, SIGMOID
from cuda_ops.library.add.ladder import ADD
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, PACK_BYTES, Element, Ladder, Launch, Problem, Version
from cuda_ops.library.norm import ladder as norm
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.reduce import ladder as reduce
from cuda_ops.library.reduce.ladder import DOT, SUM
from cuda_ops.library.rows import CLUSTER_BLOCKS_MAX, EACH_MAX, WARP_COLUMNS_MAX, Spread
from cuda_ops.library.softmax import ladder as softmax
from cuda_ops.library.softmax.ladder import SOFTMAX

EPSILON = 1e-5
FLAT = ("add", "relu", "sigmoid", "sum", "dot")
ROW_BYTES = 256 << 20
"""Bytes of the rows of one problem."""
COLUMNS = (4096, 131072, 1024, 32768, 16384, 8192, 65536, 262144)


@dataclass(frozen=True, slots=True)
class Case:
    """One operator at one size."""

    ladder: Ladder
    element: Element
    rows: int
    columns: int
    is_swept: bool = False

    def title(self) -> str:
        return f"{self.ladder.name} {self.element.name} {self.rows} x {self.columns}"

    def named(self) -> dict[str, Any]:
        return {
            "operator": self.ladder.name,
            "element": self.element.name,
            "rows": self.rows,
            "columns": self.columns,
        }


def cases() -> Iterator[Case]:
    """All cases, those of the issue's table first."""
    for ladder in (ADD, RELU, SIGMOID):
        yield Case(ladder, FLOAT32, 1, 1 << 28, is_swept=ladder is not RELU)
        yield Case(ladder, BFLOAT16, 1, 1 << 28, is_swept=ladder is not RELU)
    for ladder in (SUM, DOT):
        yield Case(ladder, FLOAT32, 1, 1 << 30, is_swept=True)
        yield Case(ladder, BFLOAT16, 1, 1 << 30, is_swept=ladder is SUM)
    for columns in COLUMNS:
        for ladder in (SOFTMAX, LAYER_NORM, RMS_NORM):
            for element in (FLOAT32, BFLOAT16):
                rows = ROW_BYTES // element.size_bytes // columns
                yield Case(ladder, element, rows, columns, is_swept=ladder is not RMS_NORM)


def inputs_for(case: Case, seed: int) -> list[Any]:
    """Random arguments of the operator on the GPU."""
    import torch

    torch.manual_seed(seed)
    dtype = getattr(torch, case.element.name)
    shape = (case.columns,) if case.ladder.name in FLAT else (case.rows, case.columns)
    count = 2 if case.ladder.name in ("add", "dot") else 1
    weights = {"layer_norm": 2, "rms_norm": 1}.get(case.ladder.name, 0)
    made = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(count)]
    return made + [torch.randn(case.columns, device="cuda", dtype=dtype) for _ in range(weights)]


def problem_of(case: Case) -> Problem:
    """The problem on the GPU at hand, whose arrays are aligned."""
    from cuda_ops.library.run import architecture

    lanes = PACK_BYTES // case.element.size_bytes
    while case.ladder.name not in FLAT and case.columns % lanes:
        lanes //= 2
    return Problem(case.element, case.rows, case.columns, lanes, architecture(0), EPSILON)


@dataclass(frozen=True, slots=True)
class Shape:
    """A launch rule to be tried for a version."""

    title: str
    version: Version
    launch: Launch


def shapes_of(ladder: Ladder, problem: Problem) -> list[Shape]:
    """The launch shapes that are tried for a problem."""
    if ladder.name in ("add", "relu", "sigmoid"):
        template = "add_tile<" if ladder is ADD else f"activation_tile<av_{ladder.name}, "
        return [Shape(f"{unroll} packs", ladder.versions[-1], flat.tile(template, unroll)) for unroll in (1, 2, 4, 8)]
    if ladder.name in ("sum", "dot"):
        is_dot = "true" if ladder is DOT else "false"
        pairs = [(threads, unroll) for threads in (256, 512, 1024) for unroll in (2, 4, 8)]
        return [Shape(f"{t} threads, {u} packs", ladder.versions[3], reduce.vector(is_dot, t, u)) for t, u in pairs]
    is_rms = ladder is RMS_NORM
    if problem.columns <= WARP_COLUMNS_MAX:
        rules = [
            (warps, softmax.warp(warps) if ladder is SOFTMAX else norm.warp(is_rms, warps)) for warps in (1, 2, 4, 8)
        ]
        return [Shape(f"{warps} warps", ladder.versions[2], rule) for warps, rule in rules]
    found = []
    for spread in _spreads(problem):
        launch = softmax.spread(_fixed(spread)) if ladder is SOFTMAX else norm.spread(is_rms, _fixed(spread))
        title = f"{spread.blocks} x {spread.threads} threads, {spread.vectors} packs"
        found.append(Shape(title, ladder.versions[3 if spread.blocks == 1 else 4], launch))
    return found


def _spreads(problem: Problem) -> Iterator[Spread]:
    """Spreads that fill the row exactly, since the lengths are powers of two."""
    for each in (8, 16, EACH_MAX):
        for threads in (128, 256, 512, 1024):
            blocks = problem.columns // (each * threads)
            is_whole = blocks * each * threads == problem.columns
            if is_whole and 1 <= blocks <= CLUSTER_BLOCKS_MAX and each >= problem.lanes:
                yield Spread(each // problem.lanes, threads, blocks)


def _fixed(spread: Spread) -> Any:
    return lambda problem: spread
