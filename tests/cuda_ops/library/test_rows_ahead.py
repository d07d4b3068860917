"""Ways to load rows ahead that no default shape has: stages, rows in turn, weights kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library.ahead import (  # noqa: E402
    SHARED_BYTES_MAX,
    THREADS_AT_ONCE,
    Ahead,
    for_norm,
    for_softmax,
)
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Element, Ladder, Problem, Version  # noqa: E402
from cuda_ops.library.norm import ladder as norm  # noqa: E402
from cuda_ops.library.norm import op  # noqa: E402
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM  # noqa: E402
from cuda_ops.library.recorder import record  # noqa: E402
from cuda_ops.library.rows import CLUSTER_BLOCKS_MAX  # noqa: E402
from cuda_ops.library.softmax import ladder as softmax  # noqa: E402
from cuda_ops.library.softmax.ladder import LOG_SOFTMAX, SOFTMAX  # noqa: E402
from cuda_ops.runtime.compiler import KernelSource  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402
from tests.cuda_ops.library.test_ladder_logic import Case  # noqa: E402
from tests.cuda_ops.logic.cuda_shim import ShimLauncher, build_together, find_compiler  # noqa: E402

ROWS = 13
"""More than twice the blocks that run at once: slots and barriers are used again."""
SHAPES = {
    "one row per block": Ahead(4, 64, 1, 0, keeps_weights=True),
    "one row per cluster": Ahead(4, 64, 4, 0),
    "in turn": Ahead(4, 64, 2, 1, is_persistent=True, keeps_weights=True),
    "in turn, three ahead": Ahead(4, 32, 2, 3, is_persistent=True),
    "in turn by a block": Ahead(4, 96, 1, 2, is_persistent=True),
    "in turn by more than 128 warps": Ahead(1, 576, 8, 1, is_persistent=True),
}


def problems(ladder: Ladder, element: Element, shape: Ahead) -> list[Case]:
    """Rows that fill the shape, rows that do not, and special ones."""
    lanes = 16 // element.size_bytes
    most = shape.vectors * lanes * shape.threads * shape.blocks
    short = most // 2 - lanes
    full, part = (cases.inputs_of(ladder, element, ROWS, columns) for columns in (most, short))
    special = cases.with_special(ladder, cases.special_rows(element, most))
    return [
        Case(ladder, full, ROWS, most, 0),
        Case(ladder, part, ROWS, short, 0),
        Case(ladder, special, len(special[0]), most, 0),
    ]


@pytest.mark.parametrize("folder", ["softmax", "norm"])
def test_each_way_gives_the_exact_result_rounded(folder: str, tmp_path: Path) -> None:
    find_compiler()
    module: Any = softmax if folder == "softmax" else norm
    pairs = (
        ((SOFTMAX, BFLOAT16), (LOG_SOFTMAX, FLOAT32))
        if folder == "softmax"
        else ((LAYER_NORM, BFLOAT16), (RMS_NORM, FLOAT32))
    )
    runs: list[tuple[Version, Case]] = []
    for ladder, element in pairs:
        for shape in SHAPES.values():
            launch = module.loaded_ahead(ladder in (LOG_SOFTMAX, RMS_NORM), lambda problem, shape=shape: shape)
            version = replace(ladder.versions[-1], launch=launch)
            runs += [(version, case) for case in problems(ladder, element, shape)]
    launches = [record(case.ladder, version, case.problem, case.absent) for version, case in runs]
    kernels = tuple(sorted({one.kernel for made in launches for one in made}))
    library = build_together([KernelSource(f"library/{folder}/v6_ahead", instances=kernels)], tmp_path)
    launcher = ShimLauncher(library)
    for version, case in runs:
        version.launch(launcher, case.problem, case.arrays)
        case.check(version)


LENGTHS = [(1 << power) + more for power in range(8, 19) for more in (-8, 0, 8) if (1 << power) + more <= 1 << 18]
"""Where a rule goes over to another shape, and next to that."""


@pytest.mark.parametrize("ladder", [SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM], ids=lambda ladder: ladder.name)
def test_the_default_shape_holds_rows_of_any_length(ladder: Ladder) -> None:
    """In blocks and shared memory that a processor has room for."""
    for element, columns, lanes in product((FLOAT32, BFLOAT16), [*LENGTHS, *range(1000, 1 << 18, 7368)], (1, 2, 4, 8)):
        if lanes * element.size_bytes > 16 or columns % lanes:
            continue
        problem = Problem(element, 3, columns, lanes, 90)
        if ladder.folder == "softmax":
            shape = for_softmax(ladder is LOG_SOFTMAX, problem)
        else:
            shape = for_norm(ladder is RMS_NORM, problem)
        weights = {LAYER_NORM: 2, RMS_NORM: 1}.get(ladder, 0) * shape.keeps_weights
        shared_bytes = (shape.stages + weights) * shape.part_bytes(problem) * shape.at_once
        assert shape.vectors * lanes * shape.threads * shape.blocks >= columns
        assert shape.threads % 64 == 0
        assert shape.threads * shape.at_once <= THREADS_AT_ONCE
        assert shape.blocks in (1, 2, 4, CLUSTER_BLOCKS_MAX)
        assert shared_bytes <= SHARED_BYTES_MAX


@pytest.mark.parametrize("given", [(), ("weight",), ("bias",), ("weight", "bias")])
def test_a_norm_names_the_arrays_that_are_absent(given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is compiled without them; with an address of 0 for a given array it would read there."""
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(op, "run", lambda *arguments: calls.append(arguments))
    x = torch.zeros(2, 4096)
    weight, bias = (torch.zeros(4096) if name in given else None for name in ("weight", "bias"))
    op.normed(LAYER_NORM, x, weight, bias, 1e-5, 6)
    assert set(calls[0][-1]) == {"weight", "bias"} - set(given)
