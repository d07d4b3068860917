"""Every version of every ladder, run on the CPU, against double precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library.ladder import (  # noqa: E402
    BFLOAT16,
    ELEMENTS,
    FLOAT16,
    FLOAT32,
    ONE,
    Batch,
    Element,
    Ladder,
    Problem,
    Version,
    lanes_for,
    line_of,
)
from cuda_ops.library.matmul_batches.ladder import MATMUL_BATCHES  # noqa: E402
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE  # noqa: E402
from cuda_ops.library.matmul_sparse.packing import pack  # noqa: E402
from cuda_ops.library.recorder import record  # noqa: E402
from cuda_ops.runtime.compiler import KernelSource  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402
from tests.cuda_ops.logic.cuda_shim import ShimLauncher, build_together, find_compiler  # noqa: E402

Array = np.ndarray[Any, Any]
ON_CPU = [(ladder, version) for ladder, version in cases.VERSIONS if version.has_cpu_form]
FLAT_SIZES = (1, 31, 1024, 5003)
ROWS = {
    "warp": ((5, 104), (3, 1024)),
    "block": ((3, 1104), (2, 9000)),
    "cluster": ((2, 5000), (1, 33000)),
    "ahead": ((13, 1104), (3, 70000)),
}
ANY_ROWS = ((3, 24), (2, 2056))
PERSISTENT_ROWS = {
    "warp": ((29, 104), (25, 1024)),
    "block": ((13, 1104), (7, 5000)),
    "cluster": ((5, 3000), (2, 9000)),
    "partials": ((9, 24), (7, 2056)),
    "pipelined": ((29, 104), (9, 17000)),
    "ahead": ((29, 104), (15, 17000)),
}
"""More rows than blocks run at once."""


def shapes(ladder: Ladder, version: Version) -> tuple[tuple[int, int], ...]:
    found = PERSISTENT_ROWS if ladder.folder == "norm_backward" else ROWS
    return found.get(version.name, ANY_ROWS)


def sizes(ladder: Ladder, version: Version) -> list[tuple[Element, int, int, int]]:
    """Element type, rows, columns, and how many elements the arrays begin behind an aligned address.

    float16 differs from bfloat16 only in its conversions: one size has it.
    """
    if ladder.is_flat:
        found = [(element, 1, size, 0) for element in (FLOAT32, BFLOAT16) for size in FLAT_SIZES]
        return [*found, (FLOAT16, 1, FLAT_SIZES[-1], 0), (FLOAT32, 1, 777, 1)]
    short, long = shapes(ladder, version)
    rows, columns = short
    found = [(FLOAT32, *short, 0), (FLOAT32, *long, 0), (BFLOAT16, *long, 0)]
    if ladder.folder == "norm" and version.name == "block":
        found.append((BFLOAT16, 1, 40000, 0))  # packed: longer than a row of another type
    if version.name == "cluster" and (ladder.folder == "norm_residual" or ladder.name == "rms_norm_backward"):
        found.append((BFLOAT16, 1, 140000, 0))
    return [*found, (FLOAT32, rows, columns - 1, 0), (BFLOAT16, rows, columns, 2), (FLOAT16, rows, columns - 3, 1)]


class Case:
    """Numpy arrays of one call, at an offset from an aligned address, and its problem."""

    def __init__(
        self,
        ladder: Ladder,
        inputs: list[Any],
        rows: int,
        columns: int,
        offset: int,
        depth: int = 0,
        transposed: tuple[bool, bool] = (False, False),
        batch: Batch = ONE,
    ) -> None:
        self.ladder, self.inputs = ladder, inputs
        dtype = inputs[0].dtype
        self.element = next(one for one in ELEMENTS if getattr(torch, one.name) == dtype)
        problem = Problem(self.element, rows, columns, 1, 90, cases.EPSILON, depth, *transposed, batch)
        self.results = {
            name: torch.full((count(problem),), float("nan"), dtype=dtype) for name, count in ladder.results.items()
        }
        scratch = {name: np.full(-(-size(problem) // 8), np.nan) for name, size in ladder.scratch.items()}
        is_lying = (*transposed, *[False] * len(inputs))
        lying = packed_first(ladder, [x.mT if is_other else x for x, is_other in zip(inputs, is_lying, strict=False)])
        given = dict(zip(ladder.inputs, [placed(x, offset) for x in lying], strict=False))
        given |= {name: bits(out) for name, out in self.results.items()}
        named = given | scratch
        self.arrays = [named.get(name) for name in ladder.arrays]
        self.absent = [name for name in ladder.arrays if name not in named]
        addresses = [array.ctypes.data for array in given.values()]
        line = None if ladder.is_flat else line_of(rows, columns, depth, transposed)
        lanes = lanes_for(self.element, addresses, line)
        self.problem = replace(problem, lanes=lanes)

    def check(self, version: Version) -> None:
        if self.problem.batch != ONE:
            self.check_batch()
            return
        wanted = cases.exact(self.ladder, self.inputs)
        found = tuple(out.reshape(one.shape) for out, one in zip(self.results.values(), wanted, strict=True))
        cases.check(found, self.ladder, version, self.inputs)

    def check_batch(self) -> None:
        a, b, c = (x.double() for x in self.inputs)
        alpha, beta = self.problem.batch.alpha, self.problem.batch.beta
        wanted, terms = alpha * (a @ b) + beta * c, abs(alpha) * (a.abs() @ b.abs()) + abs(beta) * c.abs()
        cases.check_near(self.results["out"].reshape(wanted.shape), wanted, 1e-6 * terms)


def packed_first(ladder: Ladder, inputs: list[Any]) -> list[Any]:
    """The arguments with a sparse matrix as the two arrays of which the kernels read it."""
    if ladder is not MATMUL_SPARSE:
        return inputs
    packed = pack(inputs[0])
    return [packed.values, packed.pattern, *inputs[1:]]


def bits(tensor: Any) -> Array:
    made: Array = (tensor if tensor.dtype == torch.float32 else tensor.view(torch.int16)).numpy()
    return made


def placed(tensor: Any, offset: int) -> Array:
    """The tensor's bits, `offset` elements behind an address that is a multiple of 64 bytes."""
    source = bits(tensor.contiguous()).reshape(-1)
    room = np.zeros(source.nbytes + 256, np.uint8)
    begin = -room.ctypes.data % 64 + offset * source.itemsize
    array = room[begin : begin + source.nbytes].view(source.dtype)
    array[:] = source
    return array


def cases_for(ladder: Ladder, version: Version) -> list[Case]:
    """Calls of all sizes; for rows also with special numbers, and without weights."""
    if ladder.is_product:
        return [case for case in product_cases(ladder) if version.can_run(case.problem)]
    made = [
        Case(ladder, cases.inputs_of(ladder, element, rows, columns), rows, columns, offset)
        for element, rows, columns, offset in sizes(ladder, version)
    ]
    if not ladder.is_flat:
        columns = shapes(ladder, version)[-1][1]
        for element in (FLOAT32, BFLOAT16):
            special = cases.special_rows(element, columns)
            made.append(Case(ladder, cases.with_special(ladder, special), 8, columns, 0))
        inputs = cases.without_weights(ladder, cases.inputs_of(ladder, FLOAT32, 3, columns))
        made.append(Case(ladder, inputs, 3, columns, 0))
    return made


def product_cases(ladder: Ladder) -> list[Case]:
    """Products of all sizes, one behind an aligned address, and one with special numbers; of half precision, with the
    other type and a bias besides; and transposed matrices."""
    element = ladder.elements[-1]

    def case(rows: int, columns: int, depth: int, offset: int = 0) -> Case:
        inputs = cases.inputs_of(ladder, element, rows, columns, depth=depth)
        return Case(ladder, inputs, rows, columns, offset, depth)

    special = cases.with_special(ladder, cases.special_rows(element, 60))
    made = [case(*size) for size in cases.PRODUCT_SIZES]
    made += [case(40, 72, 24, offset=1), Case(ladder, special, 8, 60, 0, 8)]
    other = element if element == FLOAT32 else FLOAT16
    lies = ((False, True),) if ladder is MATMUL_SPARSE else ((False, True), (True, False), (True, True))
    for transposed in lies:
        for rows, columns, depth in ((136, 88, 40), (37, 20, 31)):
            inputs = cases.inputs_of(ladder, other, rows, columns, depth=depth)
            bias = [] if other == FLOAT32 else [cases.draw(3, other, columns)]
            made.append(Case(ladder, inputs + bias, rows, columns, 0, depth, transposed))
    return made + (batches() if ladder is MATMUL_BATCHES else [])


FACTORS = 0.5, -2.0


def batches() -> list[Case]:
    """Pairs of matrices with factors and c; one matrix that goes with all others; and transposed ones."""
    made = []
    for transposed in ((False, False), (False, True), (True, False)):
        for of_a, of_b in ((3, 3), (1, 3), (3, 1)):
            rows, columns, depth = 70, 20, 9
            a, b = cases.draw(7, FLOAT32, of_a, rows, depth), cases.draw(8, FLOAT32, of_b, depth, columns)
            c = cases.draw(9, FLOAT32, 3, rows, columns)
            batch = Batch(3, *FACTORS, of_a == 1, of_b == 1)
            made.append(Case(MATMUL_BATCHES, [a, b, c], rows, columns, 0, depth, transposed, batch))
    return made


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    """The kernels of all versions in one of the library's folders, compiled in one unit when first asked for."""
    find_compiler()

    @cache
    def library(folder: str) -> ctypes.CDLL:
        kernels: dict[str, set[str]] = {}
        for ladder, version in cases.VERSIONS:
            if ladder.folder == folder and version.has_cpu_form:
                launches = [record(ladder, version, case.problem, case.absent) for case in cases_for(ladder, version)]
                found = kernels.setdefault(ladder.source(version), set())
                found |= {launch.kernel for one in launches for launch in one}
        sources = [KernelSource(name, instances=tuple(sorted(found))) for name, found in kernels.items()]
        return build_together(sources, tmp_path_factory.mktemp(folder))

    return library


@pytest.mark.parametrize(("ladder", "version"), ON_CPU, ids=cases.ids(ON_CPU))
def test_a_version_gives_the_exact_result_rounded(
    ladder: Ladder, version: Version, libraries: Callable[[str], ctypes.CDLL]
) -> None:
    launcher = ShimLauncher(libraries(ladder.folder))
    for case in cases_for(ladder, version):
        assert version.can_run(case.problem), f"give ROWS rows that fit: {case.problem.columns} columns do not"
        version.launch(launcher, case.problem, case.arrays)
        case.check(version)
