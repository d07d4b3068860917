"""Every version of the operator library on a GPU against double precision: poisoned outputs, views, streams, graphs.

Skipped without a GPU; `make test-gpu` runs it on one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.library.activation.op import relu  # noqa: E402
from cuda_ops.library.add.op import add  # noqa: E402
from cuda_ops.library.ladder import ALL_ELEMENTS, INT8, Element, Ladder, Problem, Version, lanes_for, line_of  # noqa: E402
from cuda_ops.library.matmul.op import matmul  # noqa: E402
from cuda_ops.library.operators import OPERATORS  # noqa: E402
from cuda_ops.library.reduce.op import sum_of  # noqa: E402
from cuda_ops.library.run import architecture, is_direct  # noqa: E402
from cuda_ops.library.softmax.op import softmax  # noqa: E402
from cuda_ops.runtime.control import SLAB_SETS, control  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
FLAT_SIZES = (1, 3, 1000, 4097, 1 << 22, (1 << 24) + 5)
ROW_SHAPES = ((1, 1), (7, 31), (300, 256), (33, 1000), (5, 1024), (64, 4096), (17, 5000), (9, 16384), (3, 32768))
LONG_ROWS = ((3, 50000), (70, 66048), (2, 131072), (2, 262144), (1, 300001))
"""Seventy are more than twice the clusters that run at once."""
PRODUCT_SIZES = (
    *cases.PRODUCT_SIZES,
    (129, 1000, 33),
    (257, 4096, 1000),
    (1000, 130, 4096),
    (1, 5000, 77),
    (4099, 3, 2),
    (264, 520, 136),
    (1032, 2056, 584),
)
"""Rows, columns and depth; the last ones are multiples of 8, as the copy engine needs it, and of no tile."""


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """`torch.empty` is filled with NaN, so that a value no kernel wrote shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


def shapes_for(ladder: Ladder) -> list[tuple[int, int, int]]:
    """Rows, columns and, of a product, depth."""
    if ladder.is_product:
        return list(PRODUCT_SIZES)
    return [(1, size, 0) for size in FLAT_SIZES] if ladder.is_flat else [(*size, 0) for size in ROW_SHAPES + LONG_ROWS]


def can_run(ladder: Ladder, version: Version, element: Element, rows: int, columns: int, depth: int) -> bool:
    lanes = lanes_for(element, [], None if ladder.is_flat else line_of(rows, columns, depth))
    return version.can_run(Problem(element, rows, columns, lanes, architecture(0), depth=depth))


@pytest.mark.parametrize("element", ALL_ELEMENTS, ids=lambda element: element.name)
@pytest.mark.parametrize(("ladder", "version"), cases.VERSIONS, ids=cases.IDS)
def test_a_version_gives_the_exact_result_rounded(ladder: Ladder, version: Version, element: Element) -> None:
    if element not in version.elements:
        pytest.skip(f"not for {element.name}")
    operator, ran = OPERATORS[ladder.name], 0
    for rows, columns, depth in shapes_for(ladder):
        if not can_run(ladder, version, element, rows, columns, depth):
            continue
        inputs = cases.inputs_of(ladder, element, rows, columns, "cuda", depth)
        found = operator(*inputs, version=version.number)
        cases.check(found, ladder, version, inputs)
        again = operator(*inputs, version=version.number)
        for one, other in zip(cases.results(found), cases.results(again), strict=True):
            assert torch.equal(one.reshape(-1).view(torch.uint8), other.reshape(-1).view(torch.uint8))
        ran += 1
    assert ran > 0


def dtype_of(ladder: Ladder) -> Any:
    """The first dtype that the operator takes."""
    return getattr(torch, ladder.elements[0].name)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_default_takes_any_length_and_a_view_that_is_not_aligned(name: str) -> None:
    ladder, version = next((ladder, v) for ladder, v in reversed(cases.VERSIONS) if ladder.name == name)
    for element in ladder.elements:
        for rows, columns, depth in shapes_for(ladder):
            inputs = cases.inputs_of(ladder, element, rows, columns, "cuda", depth)
            room = [torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(x.shape) for x in inputs]
            found = OPERATORS[name](*room)
            cases.check(found, ladder, version, inputs)


@pytest.mark.parametrize(("ladder", "version"), cases.VERSIONS, ids=cases.IDS)
def test_special_numbers_come_out_as_in_torch(ladder: Ladder, version: Version) -> None:
    columns = 20000 if version.name == "cluster" else 1000
    for element in version.elements:
        rows = cases.special_rows(element, columns, "cuda")
        if ladder.name in cases.REDUCTIONS:
            for row in rows:
                inputs = [row] + [torch.ones_like(row)] * (cases.PARTS.get(ladder.name, (1, 0))[0] - 1)
                found = OPERATORS[ladder.name](*inputs, version=version.number)
                rounded = cases.exact(ladder, inputs)[0].to(found.dtype)
                assert torch.equal(torch.isnan(found), torch.isnan(rounded))
                assert torch.equal(torch.isinf(found), torch.isinf(rounded))
            continue
        inputs = cases.with_special(ladder, rows.reshape(-1) if ladder.is_flat else rows)
        cases.check(OPERATORS[ladder.name](*inputs, version=version.number), ladder, version, inputs)


@pytest.mark.parametrize(("ladder", "version"), cases.VERSIONS, ids=cases.IDS)
def test_denormal_numbers_are_not_taken_for_zero(ladder: Ladder, version: Version) -> None:
    """But for products of float32 in parts of bfloat16, whose later parts would be less than the least number."""
    if ladder.name == "matmul_parts":
        pytest.skip("parts of bfloat16 hold no denormal number of float32")
    columns = 20000 if version.name == "cluster" else 1000
    for element in version.elements:
        if element == INT8:
            continue
        inputs = cases.with_denormals(ladder, element, columns, "cuda")
        found = OPERATORS[ladder.name](*inputs, version=version.number)
        cases.check(found, ladder, version, inputs, cases.DENORMAL_UNIT)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "max"])
def test_empty_tensors(name: str) -> None:
    ladder = next(ladder for ladder, _ in cases.VERSIONS if ladder.name == name)
    shapes: tuple[tuple[int, ...], ...] = ((0,),) if ladder.is_flat else ((0, 5), (5, 0))
    for shape in ((0, 0),) if ladder.is_product else shapes:
        inputs = [torch.empty(shape, device="cuda", dtype=dtype_of(ladder))] * cases.PARTS.get(name, (1, 0))[0]
        found = cases.results(OPERATORS[name](*inputs))
        for one, wanted in zip(found, cases.exact(ladder, inputs), strict=True):
            torch.testing.assert_close(one, wanted.to(one.dtype), rtol=0.0, atol=0.0, equal_nan=True)


def test_a_product_of_no_depth_is_zero() -> None:
    x = torch.ones((7, 5), device="cuda")
    assert torch.equal(matmul(x[:, :0], x[:0]), torch.zeros((7, 5), device="cuda"))
    assert matmul(x[:0], x.T).shape == (0, 7)
    assert matmul(x, x.T[:, :0]).shape == (7, 0)


@pytest.mark.parametrize("name", OPERATORS)
def test_another_stream_and_a_graph(name: str) -> None:
    ladder = next(ladder for ladder, _ in cases.VERSIONS if ladder.name == name)
    inputs = cases.prepared(ladder, cases.inputs_of(ladder, ladder.elements[0], 33, 5000, "cuda"))
    operator = OPERATORS[name]
    wanted = cases.results(operator(*inputs))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        on_stream = cases.results(operator(*inputs))
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = cases.results(operator(*inputs))
    for one, other in zip(on_stream, wanted, strict=True):
        assert torch.equal(one, other)
    for _ in range(3):
        for one in captured:
            one.zero_()
        graph.replay()
        for one, other in zip(captured, wanted, strict=True):
            assert torch.equal(one, other)


def captured_sums(x: Any, launches: int) -> Any:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            sum_of(x)
    return graph


def test_graphs_give_their_control_words_back() -> None:
    """A sum counts its finished blocks in control words: each of its captured launches has a set of its own."""
    x = torch.ones(1 << 20, device="cuda")
    assert float(sum_of(x)) == 1 << 20
    pool = control(0)._pool
    graph = captured_sums(x, 100)
    graph.replay()
    torch.cuda.synchronize()
    before = len(pool._free) + len(pool._lent)
    for _ in range(3 * SLAB_SETS // 100):
        del graph
        gc.collect()
        graph = captured_sums(x, 100)
        graph.replay()
    torch.cuda.synchronize()
    assert len(pool._free) + len(pool._lent) <= before + SLAB_SETS


def test_one_graph_holds_more_captured_launches_than_a_slab_has_sets() -> None:
    x = torch.ones(1 << 20, device="cuda")
    sum_of(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = [sum_of(x) for _ in range(4 * SLAB_SETS + 200)]
    for _ in range(2):
        graph.replay()
    assert bool((torch.stack(made) == 1 << 20).all())


def test_a_call_that_torch_need_not_see_goes_past_its_dispatcher() -> None:
    x = torch.zeros(3, device="cuda")
    assert is_direct(x)
    assert is_direct(x, None, torch.nn.Parameter(x, requires_grad=False))
    needs = torch.zeros(3, device="cuda", requires_grad=True)
    assert not is_direct(needs)
    assert not is_direct(x, needs)
    with torch.no_grad():
        assert is_direct(needs, x)
    assert not is_direct(torch.zeros(3))
    with torch.device("cuda"):
        assert not is_direct(x)
    assert torch.equal(torch.func.vmap(relu)(x), x)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_a_tensor_of_another_gpu_than_the_current_one() -> None:
    x = torch.randn(5000, device="cuda:1")
    assert torch.equal(relu(x), torch.relu(x))
    assert float(sum_of(x)) == pytest.approx(float(x.sum()), rel=1e-5)


def test_a_version_that_cannot_run_is_named() -> None:
    with pytest.raises(CudaOpsError, match="version is 3, but 2 x 5000 float32"):
        softmax(torch.zeros((2, 5000), device="cuda"), version=3)
    with pytest.raises(CudaOpsError, match="version is 9"):
        add(torch.zeros(3, device="cuda"), torch.zeros(3, device="cuda"), version=9)
