"""Every version of the operator library on more than 2^31 elements, where 32 bits no longer count them.

Skipped without a GPU; `make test-gpu` runs it on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library.ladder import BFLOAT16, Ladder, Problem, Version  # noqa: E402
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE  # noqa: E402
from cuda_ops.library.operators import OPERATORS  # noqa: E402
from cuda_ops.library.run import architecture  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
EDGE = 1 << 31
ARRAYS = 6
"""As many arrays of this size, and the checks, fit into the memory that is asked for."""
NEAR = 5000
"""Elements on each side of a place that is looked at."""


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """`torch.empty` is filled with NaN, so that a value no kernel wrote shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)
    torch.cuda.empty_cache()


@pytest.fixture(autouse=True)
def memory() -> None:
    if torch.cuda.mem_get_info()[0] < 2 * ARRAYS * EDGE:
        pytest.skip("too little memory")


def random(*shape: int) -> Any:
    return torch.randn(shape, dtype=torch.bfloat16, device="cuda")


def no_nan(found: Any) -> bool:
    return not any(bool(torch.isnan(part).any()) for part in found.reshape(-1).split(1 << 28))


def of_kind(*kinds: str) -> list[tuple[Ladder, Version]]:
    return [(ladder, version) for ladder, version in cases.VERSIONS if kind_of(ladder) in kinds]


def kind_of(ladder: Ladder) -> str:
    if ladder.name in cases.REDUCTIONS:
        return "reduction"
    if ladder.is_flat:
        return "flat"
    if ladder.is_product:
        return "product"
    return "sums of columns" if ladder.folder == "norm_backward" else "rows"


def thin_out(ladder: Ladder, a: Any) -> None:
    """Make a matrix 2:4 sparse if it has to be."""
    if ladder is MATMUL_SPARSE:
        a[:, 1::4] = a[:, 2::4] = 0.0


def ids(pairs: list[tuple[Ladder, Version]]) -> list[str]:
    return [f"{ladder.name}-v{version.number}" for ladder, version in pairs]


FLAT, ROWS, REDUCTIONS, SUMS = (of_kind(kind) for kind in ("flat", "rows", "reduction", "sums of columns"))
PRODUCTS = of_kind("product")


@pytest.mark.parametrize(("ladder", "version"), FLAT, ids=ids(FLAT))
def test_elements(ladder: Ladder, version: Version) -> None:
    count = EDGE + 2 * NEAR + 3
    inputs = [random(count) for _ in range(cases.PARTS.get(ladder.name, (1, 0))[0])]
    if ladder.name in cases.FORWARD:
        inputs[1] = OPERATORS[ladder.name.removesuffix("_backward")](inputs[1])
    found = OPERATORS[ladder.name](*inputs, version=version.number)
    assert no_nan(found)
    for place in (slice(NEAR), slice(EDGE - NEAR, EDGE + NEAR), slice(count - NEAR, count)):
        cases.check(found[place], ladder, version, [x[place] for x in inputs])


@pytest.mark.parametrize(("ladder", "version"), REDUCTIONS, ids=ids(REDUCTIONS))
def test_a_reduction(ladder: Ladder, version: Version) -> None:
    count = EDGE + 4099
    x = torch.zeros(count, dtype=torch.bfloat16, device="cuda")
    x[0], x[EDGE + 7], x[-1] = 3.0, 5.0, 1.0
    inputs = [x] if ladder.name != "dot" else [x, torch.full_like(x, 2.0)]
    found = float(OPERATORS[ladder.name](*inputs, version=version.number))
    wanted = {"sum": 9.0, "dot": 18.0, "max": 5.0, "mean": 9.0 / count}[ladder.name]
    assert found == float(torch.tensor(wanted).bfloat16())


def shape_for(version: Version) -> tuple[int, int]:
    """Rows and columns of more than 2^31 elements; 1,024 columns for versions that take no longer rows."""
    columns = next(
        columns
        for columns in (4096, 1024)
        if version.can_run(Problem(BFLOAT16, EDGE // columns + 3, columns, 8, architecture(0)))
    )
    return EDGE // columns + 3, columns


@pytest.mark.parametrize(("ladder", "version"), ROWS, ids=ids(ROWS))
def test_rows(ladder: Ladder, version: Version) -> None:
    rows, columns = shape_for(version)
    arrays, parts = cases.PARTS.get(ladder.name, (1, 0))
    inputs = [random(rows, columns) for _ in range(arrays)]
    if ladder.name in cases.FORWARD:
        inputs[1] = OPERATORS[ladder.name.removesuffix("_backward")](inputs[1])
    weights = [random(columns) for _ in range(parts)]
    found = cases.results(OPERATORS[ladder.name](*inputs, *weights, version=version.number))
    assert all(no_nan(one) for one in found)
    for place in (slice(2), slice(rows - 5, rows - 2), slice(rows - 2, rows)):
        some = tuple(one[place] for one in found)
        cases.check(some, ladder, version, [*(x[place] for x in inputs), *weights])


@pytest.mark.parametrize(("ladder", "version"), SUMS, ids=ids(SUMS))
def test_sums_of_columns(ladder: Ladder, version: Version) -> None:
    """All gradients are zero but those of two rows at the beginning and four at the end, behind 2^31 elements too."""
    rows, columns = shape_for(version)
    x, weight = random(rows, columns), random(columns)
    gradient = torch.zeros_like(x)
    place = torch.tensor([0, 1, rows - 4, rows - 3, rows - 2, rows - 1], device="cuda")
    gradient[place] = random(len(place), columns)
    dx, *sums = OPERATORS[ladder.name](gradient, x, weight, version=version.number)
    assert no_nan(dx)
    assert not bool(dx[2 : rows - 4].any())
    cases.check((dx[place], *sums), ladder, version, [gradient[place], x[place], weight])


def skip_if_it_cannot_run(version: Version, rows: int, columns: int, depth: int) -> None:
    """Products whose rows are normalized take no rows so long."""
    if not version.can_run(Problem(version.elements[0], rows, columns, 8, architecture(0), depth=depth)):
        pytest.skip(f"version {version.name} takes no {rows} x {columns}")


@pytest.mark.parametrize("is_tall", [True, False], ids=["first factor", "second factor"])
@pytest.mark.parametrize(("ladder", "version"), PRODUCTS, ids=ids(PRODUCTS))
def test_a_product(ladder: Ladder, version: Version, is_tall: bool) -> None:
    """One factor has more than 2^31 elements, and a depth of 64; results at its beginning and its end are looked at."""
    depth, few = 64, 16
    many = EDGE // depth + 304
    shapes = ((many, depth), (depth, few)) if is_tall else ((few, depth), (depth, many))
    skip_if_it_cannot_run(version, shapes[0][0], shapes[1][1], depth)
    dtype = getattr(torch, version.elements[0].name)
    a, b = (torch.randn(shape, device="cuda").to(dtype) for shape in shapes)
    thin_out(ladder, a)
    out = OPERATORS[ladder.name](a, b, version=version.number)
    assert no_nan(out)
    for place in (slice(NEAR), slice(many - NEAR, many)):
        if is_tall:
            cases.check(out[place], ladder, version, [a[place], b])
        else:
            cases.check(out[:, place].contiguous(), ladder, version, [a, b[:, place].contiguous()])


@pytest.mark.parametrize(("ladder", "version"), PRODUCTS, ids=ids(PRODUCTS))
def test_a_product_of_more_elements(ladder: Ladder, version: Version) -> None:
    """The result has more than 2^31 elements; its four corners and its middle are looked at."""
    rows, columns, depth, near = 65608, 32808, 16, 300
    skip_if_it_cannot_run(version, rows, columns, depth)
    dtype = getattr(torch, version.elements[0].name)
    a, b = (torch.randn(shape, device="cuda").to(dtype) for shape in ((rows, depth), (depth, columns)))
    thin_out(ladder, a)
    out = OPERATORS[ladder.name](a, b, version=version.number)
    assert no_nan(out)
    middle = slice(rows // 2, rows // 2 + near), slice(columns // 2, columns // 2 + near)
    ends = [
        (r, c) for r in (slice(near), slice(rows - near, rows)) for c in (slice(near), slice(columns - near, columns))
    ]
    for r, c in (middle, *ends):
        cases.check(out[r, c].contiguous(), ladder, version, [a[r], b[:, c].contiguous()])
