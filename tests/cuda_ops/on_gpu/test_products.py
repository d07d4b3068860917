"""Products of half-precision matrices on a GPU: layouts, bias, and a network that is trained with `linear`.

Skipped without a GPU; `make test-gpu` runs it on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library.ladder import (  # noqa: E402
    BFLOAT16,
    ELEMENTS,
    FLOAT8,
    FLOAT32,
    INT8,
    Element,
    Ladder,
    Problem,
    Version,
)
from cuda_ops.library.linear.op import Linear, linear  # noqa: E402
from cuda_ops.library.matmul.ladder import MATMUL  # noqa: E402
from cuda_ops.library.matmul.op import matmul  # noqa: E402
from cuda_ops.library.matmul_fused.ladder import MATMUL_RELU, MATMUL_RESIDUAL, MATMUL_SILU  # noqa: E402
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF  # noqa: E402
from cuda_ops.library.matmul_half.op import matmul_half  # noqa: E402
from cuda_ops.library.matmul_half.shapes import Shape, shapes, shapes_for  # noqa: E402
from cuda_ops.library.matmul_half.tiles import HALF  # noqa: E402
from cuda_ops.library.matmul_parts.op import matmul_parts  # noqa: E402
from cuda_ops.library.matmul_quantized.ladder import MATMUL_FP8, MATMUL_INT8  # noqa: E402
from cuda_ops.library.matmul_quantized.op import matmul_fp8, matmul_int8  # noqa: E402
from cuda_ops.library.matmul_rows.ladder import MATMUL_LAYER_NORM, MATMUL_SOFTMAX  # noqa: E402
from cuda_ops.library.matmul_tf32.ladder import MATMUL_TF32  # noqa: E402
from cuda_ops.library.matmul_tf32.op import matmul_tf32  # noqa: E402
from cuda_ops.library.operators import OPERATORS  # noqa: E402
from cuda_ops.library.run import architecture  # noqa: E402
from cuda_ops.runtime.gpu import launcher, why_no_gpu  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
SIZES = ((8, 8, 8), (64, 64, 64), (128, 256, 64), (136, 264, 72), (520, 1032, 328), (2304, 4360, 520))
"""Rows, columns and depth, of which each is a multiple of 8."""
SHAPES = MATMUL_HALF.versions[9]


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """`torch.empty` is filled with NaN, so that a value no kernel wrote shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


def chosen(shape: Shape, problem: Problem) -> Shape:
    """A rule that answers with that shape."""
    return shape


def lying(x: Any, is_transposed: bool) -> Any:
    """The same matrix, whose columns lie in memory one behind the other if `is_transposed`."""
    return x.T.contiguous().T if is_transposed else x


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("element", HALF, ids=lambda element: element.name)
@pytest.mark.parametrize("version", MATMUL_HALF.versions, ids=lambda version: version.name)
def test_a_matrix_is_read_as_it_lies(version: Version, element: Element, transposed: tuple[bool, bool]) -> None:
    if architecture(0) < version.architecture_min or (architecture(0) != 90 and not version.has_cpu_form):
        pytest.skip(f"not on sm_{architecture(0)}")
    for rows, columns, depth in SIZES:
        a, b = cases.inputs_of(MATMUL_HALF, element, rows, columns, "cuda", depth)
        bias = cases.draw(3, element, columns, device="cuda")
        found = matmul_half(lying(a, transposed[0]), lying(b, transposed[1]), bias, version.number)
        cases.check(found, MATMUL_HALF, version, [a, b, bias])
        assert torch.equal(found, matmul_half(lying(a, transposed[0]), lying(b, transposed[1]), bias, version.number))


@pytest.mark.parametrize("version", MATMUL_FP8.versions, ids=lambda version: version.name)
def test_floats_of_8_bits_have_scales(version: Version) -> None:
    for rows, columns, depth in (*SIZES, (37, 50, 33)):
        a, b = cases.inputs_of(MATMUL_FP8, FLOAT8, rows, columns, "cuda", depth)
        check_scales(matmul_fp8, MATMUL_FP8, version, a, b)


def test_integers_have_scales_and_exact_sums() -> None:
    (version,) = MATMUL_INT8.versions
    for rows, columns, depth in (*SIZES, (37, 50, 33)):
        a, b = cases.inputs_of(MATMUL_INT8, INT8, rows, columns, "cuda", depth)
        check_scales(matmul_int8, MATMUL_INT8, version, a, b)
    a, b = (torch.full(size, -128, dtype=torch.int8, device="cuda") for size in ((64, 1 << 16), (1 << 16, 64)))
    assert bool((matmul_int8(a, b).double() == 2.0**30).all())


def check_scales(operator: Any, ladder: Ladder, version: Version, a: Any, b: Any) -> None:
    """Each combination of scales, in both layouts of `b`, is near the product in double precision."""
    rows, columns = a.shape[0], b.shape[1]
    of_rows, of_columns = (
        cases.draw(3 + i, FLOAT32, n, device="cuda").abs() + 0.5 for i, n in enumerate((rows, columns))
    )
    exact, terms = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    for scale_a, scale_b in ((of_rows, of_columns), (of_rows[-1:], of_columns), (of_rows, None), (None, of_columns[0])):
        factor = torch.ones((1, 1), device="cuda", dtype=torch.float64)
        factor = factor if scale_a is None else factor * scale_a.double().reshape(-1, 1)
        factor = factor if scale_b is None else factor * scale_b.double().reshape(1, -1)
        for other in (b, lying(b, True)):
            found = operator(a, other, scale_a, scale_b, version.number)
            tolerance = cases.product_tolerance(ladder, version, a.shape[1])
            cases.check_near(found, exact * factor, tolerance * terms * factor)


@pytest.mark.parametrize("version", [None, 1, 2], ids=["default", "deep", "registers"])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
def test_tf32_takes_any_layout(version: int | None, transposed: tuple[bool, bool]) -> None:
    for rows, columns, depth in (*SIZES, (37, 50, 33), (300, 129, 4098)):
        a, b = cases.inputs_of(MATMUL_TF32, FLOAT32, rows, columns, "cuda", depth)
        found = matmul_tf32(lying(a, transposed[0]), lying(b, transposed[1]), version)
        cases.check(found, MATMUL_TF32, MATMUL_TF32.versions[0], [a, b])
        exact = a.double() @ b.double()
        assert float((found.double() - exact).norm() / exact.norm()) < 1e-3


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("version", [None, 9], ids=["default", "layouts"])
def test_float32_matrices_are_read_as_they_lie(version: int | None, transposed: tuple[bool, bool]) -> None:
    for rows, columns, depth in (*SIZES, (37, 50, 33), (300, 129, 1001), (1030, 1026, 514)):
        a, b = cases.inputs_of(MATMUL, FLOAT32, rows, columns, "cuda", depth)
        found = matmul(lying(a, transposed[0]), lying(b, transposed[1]), version)
        cases.check(found, MATMUL, MATMUL.versions[-1], [a, b])
        assert torch.equal(found, matmul(a, b, 8))  # the same sums in the same order


@pytest.mark.parametrize("depth", [1000, 4096, 16384, 20000])
def test_errors_of_parts_do_not_grow_with_the_depth(depth: int) -> None:
    """Those of version 3, of the norm; those of TF32 are 3e-4."""
    a, b = (torch.randn(size, device="cuda") for size in ((256, depth), (depth, 256)))
    exact = a.double() @ b.double()
    assert float((matmul_parts(a, b, 3).double() - exact).norm() / exact.norm()) < 5e-6


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("element", HALF, ids=lambda element: element.name)
@pytest.mark.parametrize("ladder", [MATMUL_RESIDUAL, MATMUL_RELU, MATMUL_SILU], ids=lambda ladder: ladder.name)
def test_what_follows_a_product(ladder: Ladder, element: Element, transposed: tuple[bool, bool]) -> None:
    """Bias, activation and residual in one kernel; sizes that it does not take are computed in float32."""
    for rows, columns, depth in (*SIZES, (37, 50, 33)):
        a, b = cases.inputs_of(ladder, element, rows, columns, "cuda", depth)
        bias = cases.draw(3, element, columns, device="cuda")
        residual = cases.draw(4, element, rows, columns, device="cuda")
        found = OPERATORS[ladder.name](lying(a, transposed[0]), lying(b, transposed[1]), bias, residual)
        cases.check(found, ladder, ladder.versions[0], [a, b, bias, residual])
        cases.check(OPERATORS[ladder.name](a, b, bias), ladder, ladder.versions[0], [a, b, bias])


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("element", HALF, ids=lambda element: element.name)
@pytest.mark.parametrize("ladder", [MATMUL_SOFTMAX, MATMUL_LAYER_NORM], ids=lambda ladder: ladder.name)
def test_rows_of_a_product_are_normalized(ladder: Ladder, element: Element, transposed: tuple[bool, bool]) -> None:
    """In clusters of each size, with blocks that have no column; other sizes are computed in float32."""
    sizes = (*SIZES[:-1], (70, 256, 64), (130, 1024, 136), (65, 2056, 64), (2304, 4096, 128), (3000, 3000, 200))
    for rows, columns, depth in (*sizes, (37, 50, 33), (5, 4104, 64)):
        a, b = cases.inputs_of(ladder, element, rows, columns, "cuda", depth)
        parts = [cases.draw(3 + i, element, columns, device="cuda") for i in range(3)]
        parts = parts[:1] if ladder is MATMUL_SOFTMAX else parts
        found = OPERATORS[ladder.name](lying(a, transposed[0]), lying(b, transposed[1]), *parts)
        cases.check(found, ladder, ladder.versions[0], [a, b, *parts])
        again = OPERATORS[ladder.name](lying(a, transposed[0]), lying(b, transposed[1]), *parts)
        assert torch.equal(found, again)
        cases.check(OPERATORS[ladder.name](a, b), ladder, ladder.versions[0], [a, b])


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: element.name)
def test_batches_have_factors(element: Element, transposed: tuple[bool, bool]) -> None:
    """Pairs of matrices, one matrix with many, and sizes that the copy engine does not take; c may be left out."""
    for of_a, of_b in ((3, 3), (0, 3), (3, 0), (0, 0)):
        for rows, columns, depth in ((8, 8, 8), (136, 264, 72), (300, 520, 64), (37, 50, 33), (1, 7, 5)):
            a = cases.draw(7, element, *[of_a] * (of_a > 0), rows, depth, device="cuda")
            b = cases.draw(8, element, *[of_b] * (of_b > 0), depth, columns, device="cuda")
            c = cases.draw(9, element, *(a @ b).shape, device="cuda")
            bias = None if element == FLOAT32 else cases.draw(3, element, columns, device="cuda")
            parts: dict[str, Any] = {} if bias is None else {"bias": bias}
            multiply = matmul if element == FLOAT32 else matmul_half
            one = a.mT.contiguous().mT if transposed[0] else a
            other = b.mT.contiguous().mT if transposed[1] else b
            product, terms = a.double() @ b.double(), a.double().abs() @ b.double().abs()
            shift: Any = 0.0 if bias is None else bias.double()
            for alpha, beta in ((0.5, -2.0), (1.0, 0.0)):
                found = multiply(one, other, alpha=alpha, beta=beta, c=c, **parts)
                wanted = alpha * product + beta * c.double() + shift
                allowed = 1e-6 * (terms + 2.0 * c.double().abs() + abs(shift))
                cases.check_near(found, wanted, allowed)
                assert torch.equal(found, multiply(one, other, alpha=alpha, beta=beta, c=c, **parts))
            cases.check_near(multiply(one, other, alpha=-1.5, **parts), -1.5 * product + shift, allowed + 1e-6 * terms)


def test_a_factor_of_zero_leaves_nan_out() -> None:
    a, b = torch.ones((2, 64, 64), device="cuda"), torch.ones((64, 64), device="cuda")
    c = torch.full((2, 64, 64), float("nan"), device="cuda")
    assert bool((matmul(a, b, beta=0.0, c=c) == 64.0).all())
    half = matmul_half(a.bfloat16(), b.bfloat16(), beta=0.0, c=c.bfloat16())
    assert bool((half == 64.0).all())
    assert bool(matmul(a, b, c=c).isnan().all())


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=str)
def test_tiles_of_all_shapes_give_the_same_result(transposed: tuple[bool, bool]) -> None:
    """Each tile of version 10, in clusters and with shared depths, as far as the sizes allow it."""
    kernels = launcher(MATMUL_HALF.source(SHAPES), 0, SHAPES.fused_multiply_add)
    for rows, columns, depth in ((264, 520, 648), (1032, 2056, 136)):
        a, b = cases.inputs_of(MATMUL_HALF, BFLOAT16, rows, columns, "cuda", depth)
        bias = cases.draw(3, BFLOAT16, columns, device="cuda")
        problem = Problem(BFLOAT16, rows, columns, 8, 90, 0.0, depth, *transposed)
        lain = [x.T.contiguous() if is_other else x for x, is_other in zip((a, b), transposed, strict=True)]
        for shape in shapes_for(problem):
            for _ in range(2):
                out = torch.full((rows, columns), float("nan"), device="cuda", dtype=torch.bfloat16)
                size = shape.tiles(problem) * shape.parts * shape.rows * shape.columns
                room = torch.full((size if shape.parts > 1 else 1,), float("nan"), device="cuda")
                launch = shapes(partial(chosen, shape))
                launch(kernels, problem, [*lain, bias, out, None, None, room])
                cases.check(out, MATMUL_HALF, SHAPES, [a, b, bias])


def test_a_map_follows_its_matrix_to_another_address() -> None:
    """One prepared launch serves all matrices of a size: on several streams at once, too."""
    inputs = [cases.inputs_of(MATMUL_HALF, BFLOAT16, 256, 512, "cuda", 128) for _ in range(2)]
    moved = [
        [torch.cat([x.new_zeros(8 * i), x.reshape(-1)])[8 * i :].view(x.shape) for x in inputs[0]] for i in range(6)
    ]
    wanted = matmul_half(inputs[0][0], inputs[0][1])
    streams = [torch.cuda.Stream() for _ in moved]
    torch.cuda.synchronize()
    found = []
    for stream, (a, b) in zip(streams, moved, strict=True):
        with torch.cuda.stream(stream):
            found += [matmul_half(a, b) for _ in range(5)]
    torch.cuda.synchronize()
    assert all(torch.equal(one, wanted) for one in found)


def losses(layer: Any, dtype: Any) -> list[float]:
    """The loss of each step of a small network with layers of that class, from fixed weights and pictures."""
    torch.manual_seed(1)
    network = torch.nn.Sequential(layer(96, 256), torch.nn.GELU(), layer(256, 128), torch.nn.GELU(), layer(128, 10)).to(
        "cuda", dtype
    )
    centres = torch.randn(10, 96, device="cuda")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(150):
        label = torch.randint(0, 10, (512,), device="cuda")
        x = (centres[label] + 2.0 * torch.randn(512, 96, device="cuda")).to(dtype)
        loss = torch.nn.functional.cross_entropy(network(x).float(), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    return found


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: element.name)
def test_a_network_learns_as_with_torchs_layers(element: Element) -> None:
    """The losses begin alike and end at the same one: roundings differ, the noise of the batches is the same."""
    dtype = getattr(torch, element.name)
    ours, theirs = losses(Linear, dtype), losses(torch.nn.Linear, dtype)
    assert ours[0] == pytest.approx(theirs[0], rel=0.01)
    assert ours[0] > 2.0
    ends = [sum(one[-20:]) / 20 for one in (ours, theirs)]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)
    assert ends[0] < 0.3 * ours[0]


def test_autocast_casts_as_torch_does() -> None:
    layer = Linear(64, 32).cuda()
    x = torch.randn(16, 64, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        found, wanted = layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias)
    assert found.dtype == wanted.dtype == torch.bfloat16
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)
    found.sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32


def test_linear_takes_any_leading_dimensions() -> None:
    x, weight = torch.randn(2, 3, 5, 64, device="cuda").bfloat16(), torch.randn(24, 64, device="cuda").bfloat16()
    wanted = x.double() @ weight.double().T
    torch.testing.assert_close(linear(x, weight).double(), wanted, rtol=1e-2, atol=1e-2 * float(wanted.abs().max()))
