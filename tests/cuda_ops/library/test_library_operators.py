"""The library's operators on torch tensors with no GPU: the reference's results, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.library.activation.ladder import RELU  # noqa: E402
from cuda_ops.library.activation.op import relu, sigmoid  # noqa: E402
from cuda_ops.library.add.ladder import ADD  # noqa: E402
from cuda_ops.library.add.op import add  # noqa: E402
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Element, Ladder, Problem, lanes_for  # noqa: E402
from cuda_ops.library.linear.op import Linear, linear  # noqa: E402
from cuda_ops.library.matmul.op import matmul  # noqa: E402
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF  # noqa: E402
from cuda_ops.library.matmul_half.op import matmul_half  # noqa: E402
from cuda_ops.library.matmul_half.shapes import Shape, shape_for, shapes_for, split_for  # noqa: E402
from cuda_ops.library.matmul_half.tiles import tile_for  # noqa: E402
from cuda_ops.library.matmul_parts.op import matmul_parts  # noqa: E402
from cuda_ops.library.matmul_quantized.op import matmul_fp8, matmul_int8  # noqa: E402
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM  # noqa: E402
from cuda_ops.library.norm.op import layer_norm, rms_norm  # noqa: E402
from cuda_ops.library.norm_backward.ladder import LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD  # noqa: E402
from cuda_ops.library.reduce.op import dot, max_of, mean_of, sum_of  # noqa: E402
from cuda_ops.library.softmax.ladder import SOFTMAX  # noqa: E402
from cuda_ops.library.softmax.op import softmax  # noqa: E402
from cuda_ops.library.softmax_backward.ladder import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402

X, Y = cases.draw(0, FLOAT32, 7, 33), cases.draw(1, FLOAT32, 7, 33)
EIGHT = X.to(torch.float8_e4m3fn), Y.T.to(torch.float8_e4m3fn)
EIGHT_PRODUCT = (3.0 * Y[0, :7].double() * (EIGHT[0].double() @ EIGHT[1].double())).bfloat16().float()
INTEGERS = (20.0 * X).to(torch.int8), (20.0 * Y).T.to(torch.int8)
INTEGER_PRODUCT = (X[:, :1].double() * (INTEGERS[0].double() @ INTEGERS[1].double())).bfloat16().float()
HALF_PRODUCT = (X.half().double() @ Y.T.half().double() + Y[0, :7].half().double()).half().float()


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: add(X, Y), X + Y),
        (lambda: relu(X), X.clamp_min(0.0)),
        (lambda: sigmoid(X), torch.sigmoid(X)),
        (lambda: sum_of(X), X.sum()),
        (lambda: max_of(X), X.max()),
        (lambda: mean_of(X), X.mean()),
        (lambda: dot(X[0], Y[0]), torch.dot(X[0], Y[0])),
        (lambda: matmul(X, Y.T), X @ Y.T),
        (lambda: matmul_parts(X, Y.T), X @ Y.T),
        (lambda: matmul_half(X.half(), Y.T.half(), Y[0, :7].half()).float(), HALF_PRODUCT),
        (lambda: matmul_fp8(*EIGHT, torch.tensor(3.0), Y[0, :7]).float(), EIGHT_PRODUCT),
        (lambda: matmul_int8(*INTEGERS, X[:, 0].contiguous()).float(), INTEGER_PRODUCT),
        (lambda: linear(X[None], Y, Y[:, 0]), (X @ Y.T + Y[:, 0])[None]),
        (lambda: softmax(X.T), torch.softmax(X.T, -1)),
        (lambda: layer_norm(X, Y[0], Y[1]), torch.nn.functional.layer_norm(X, (33,), Y[0], Y[1])),
        (lambda: rms_norm(X, Y[0]), torch.nn.functional.rms_norm(X, (33,), Y[0], 1e-5)),
    ],
    ids=[
        "add",
        "relu",
        "sigmoid",
        "sum",
        "max",
        "mean",
        "dot",
        "matmul",
        "matmul_parts",
        "matmul_half",
        "matmul_fp8",
        "matmul_int8",
        "linear",
        "softmax",
        "layer_norm",
        "rms_norm",
    ],
)
def test_the_cpu_gives_what_torch_gives(call: Callable[[], Any], wanted: Any) -> None:
    torch.testing.assert_close(call(), wanted, rtol=2e-6, atol=2e-6)
    compiled = torch.compile(call, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(), wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: relu(X.double()), "x is float64, allowed are float32, float16, bfloat16"),
        (lambda: add(X, Y[:3]), r"y is torch.float32 \(3, 33\) on cpu, expected torch.float32 \(7, 33\)"),
        (lambda: max_of(X[:0]), "max: x has no elements"),
        (lambda: dot(X, Y), "expected one dimension"),
        (lambda: matmul(X.half(), Y.T.half()), "a is float16, allowed is float32"),
        (lambda: matmul(X, Y[0]), "expected two dimensions"),
        (lambda: matmul_half(X, Y.T), "a is float32, allowed are bfloat16 and float16"),
        (lambda: matmul_half(X.half(), Y.half()), r"b is torch.float16 \(7, 33\) on cpu, expected .*\(33, 33\)"),
        (lambda: matmul_half(X.half(), Y.T.half(), Y[0]), "bias is torch.float32"),
        (lambda: matmul_parts(X.half(), Y.T.half()), "a is float16, allowed is float32"),
        (lambda: linear(X, Y.T), r"linear: x has shape \(7, 33\) and weight \(33, 7\)"),
        (lambda: matmul(X, Y), r"b is torch.float32 \(7, 33\) on cpu, expected torch.float32 \(33, 33\)"),
        (lambda: softmax(X[0, 0]), "x has no dimension"),
        (lambda: layer_norm(X, Y), "weight is"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(CudaOpsError, match=complaint):
        call()


def test_the_default_version_goes_by_length_and_architecture() -> None:
    def chosen(columns: int, architecture: int, element: Element = FLOAT32) -> int:
        return SOFTMAX.choose(Problem(element, 2, columns, 4, architecture)).number

    lengths = (8, 512, 516, 4092, 4096, 262144, 262148)
    assert [chosen(columns, 90) for columns in lengths] == [3, 3, 4, 4, 6, 6, 2]
    assert [chosen(columns, 80) for columns in (8, 512, 516, 16384, 32768, 32772)] == [3, 3, 4, 4, 4, 2]
    sizes = (1024, 1028, 16384, 16388, 131072, 131076)
    assert [chosen(columns, 90, BFLOAT16) for columns in sizes] == [3, 4, 4, 5, 5, 2]
    assert [chosen(columns, 80, BFLOAT16) for columns in (1024, 32768, 32772)] == [3, 4, 2]
    with pytest.raises(CudaOpsError, match="version is 5, but 2 x 64 float32 on sm_80 can be run by 1, 2, 3, 4"):
        SOFTMAX.choose(Problem(FLOAT32, 2, 64, 4, 80), 5)


def test_the_default_version_goes_by_packs_and_type() -> None:
    assert ADD.choose(Problem(FLOAT32, 1, 999, 4, 90)).number == 2
    assert ADD.choose(Problem(BFLOAT16, 1, 999, 4, 90)).number == 4
    assert RELU.choose(Problem(BFLOAT16, 1, 999, 8, 90)).number == 2
    assert RELU.choose(Problem(FLOAT32, 1, 999, 1, 90)).number == 3

    def chosen(element: Element, columns: int, lanes: int) -> int:
        return LAYER_NORM.choose(Problem(element, 2, columns, lanes, 90)).number

    assert [chosen(BFLOAT16, columns, 8) for columns in (1024, 4096, 4104, 262144, 262152)] == [3, 4, 6, 6, 2]
    assert [chosen(BFLOAT16, 16384, lanes) for lanes in (4, 8)] == [4, 6]
    assert [chosen(FLOAT32, columns, 4) for columns in (4092, 4096)] == [4, 6]

    def of_rms(element: Element, columns: int, lanes: int) -> int:
        return RMS_NORM.choose(Problem(element, 2, columns, lanes, 90)).number

    assert [of_rms(FLOAT32, columns, 4) for columns in (4092, 4096, 32768)] == [4, 6, 6]
    assert [of_rms(BFLOAT16, columns, 8) for columns in (65536, 262152)] == [6, 2]
    assert [of_rms(BFLOAT16, 65536, lanes) for lanes in (4, 8)] == [5, 6]


def test_the_default_version_of_a_norms_gradient_goes_by_length_type_and_architecture() -> None:
    def chosen(element: Element, columns: int, architecture: int) -> int:
        return LAYER_NORM_BACKWARD.choose(Problem(element, 2, columns, 1, architecture)).number

    sizes = (512, 1024, 4096, 8192, 16384, 131072, 262144)
    assert [chosen(FLOAT32, columns, 90) for columns in sizes] == [3, 4, 4, 7, 6, 6, 2]
    assert [chosen(BFLOAT16, columns, 90) for columns in sizes] == [3, 3, 4, 4, 6, 6, 1]
    assert [chosen(FLOAT32, columns, 80) for columns in sizes] == [3, 4, 4, 4, 2, 2, 2]
    assert [chosen(BFLOAT16, columns, 80) for columns in sizes] == [3, 3, 4, 4, 2, 1, 1]
    of_rms = [RMS_NORM_BACKWARD.choose(Problem(BFLOAT16, 2, columns, 1, 90)).number for columns in (8192, 16384, 65536)]
    assert of_rms == [6, 7, 7]


def test_the_default_version_of_a_softmaxs_gradient_goes_by_length_and_type() -> None:
    def chosen(ladder: Ladder, element: Element, columns: int) -> int:
        return ladder.choose(Problem(element, 2, columns, 4, 90)).number

    sizes = (512, 1024, 2048, 4096, 8192, 16384, 65536, 131072, 262144)
    assert [chosen(SOFTMAX_BACKWARD, BFLOAT16, columns) for columns in sizes] == [3, 4, 4, 2, 4, 4, 5, 5, 2]
    assert [chosen(LOG_SOFTMAX_BACKWARD, FLOAT32, columns) for columns in sizes] == [3, 4, 4, 2, 4, 4, 5, 5, 2]
    assert [chosen(LOG_SOFTMAX_BACKWARD, BFLOAT16, columns) for columns in sizes] == [3, 4, 4, 4, 2, 4, 5, 2, 2]


def test_packs_are_as_large_as_addresses_and_rows_allow() -> None:
    assert lanes_for(FLOAT32, [64, 512]) == 4
    assert lanes_for(FLOAT32, [64, 512], 1002) == 2
    assert lanes_for(BFLOAT16, [64, 512], 1000) == 8
    assert lanes_for(BFLOAT16, [66, 512]) == 1
    assert lanes_for(BFLOAT16, [72], 12) == 4


def test_the_default_version_of_a_half_precision_product_goes_by_its_size_and_its_lines() -> None:
    def chosen(rows: int, columns: int, depth: int, lanes: int = 8, architecture: int = 90) -> str:
        return MATMUL_HALF.choose(Problem(BFLOAT16, rows, columns, lanes, architecture, depth=depth)).name

    assert chosen(4096, 4096, 4096) == "persistent"
    assert chosen(512, 512, 16384) == "shapes"  # few tiles share their depth
    assert chosen(1032, 2056, 4104) == "shapes"  # lines begin at multiples of 16 bytes, not of 32
    assert chosen(64, 4096, 4096) == "shapes"
    assert chosen(5120, 5120, 5120) == "shapes"  # tiles of 128 x 224 fill the last round
    assert chosen(4095, 4095, 4095, 1) == "padded"
    assert chosen(33, 31, 77, 1) == "mma"
    assert [chosen(4096, 4096, 4096, 8, architecture) for architecture in (75, 80, 100)] == ["naive", "mma", "mma"]


def test_small_half_precision_products_take_small_tiles() -> None:
    def problem(rows: int, columns: int, depth: int) -> Problem:
        return Problem(BFLOAT16, rows, columns, 8, 90, depth=depth)

    sizes = ((4096, 4096), (1536, 1536), (512, 4096), (1024, 1024))
    assert [tile_for(problem(*size, 4096)).columns for size in sizes] == [256, 192, 128, 64]
    assert split_for(problem(512, 512, 16384)).blocks == 4
    shared = ((4104, 4104, 4104), (64, 4096, 4096), (512, 512, 16384), (1024, 512, 8192))
    assert [shape_for(problem(*size)) for size in shared] == [
        Shape(192, 192, 2),
        Shape(64, 64),
        Shape(64, 128, parts=3),
        Shape(128, 128, parts=3),
    ]


def test_parts_of_a_depth_may_fill_all_processors() -> None:
    """As 128 blocks of 132, with one counter for each of 16 or 32 tiles; but not where tiles outnumber counters."""
    problem = Problem(BFLOAT16, 512, 512, 8, 90, depth=16384)
    made = shapes_for(problem)
    assert {Shape(128, 128, 1, 8), Shape(64, 128, 2, 4)} <= set(made)
    assert all(one.tiles(problem) * one.parts <= 132 for one in made if one.parts > 1)
    wide = Problem(BFLOAT16, 128, 128 * 64, 8, 90, depth=4096)
    assert Shape(64, 64).tiles(wide) == 256
    assert all(one.parts == 1 for one in shapes_for(wide) if (one.rows, one.columns) == (64, 64))


def test_linear_takes_the_place_of_torchs_layer() -> None:
    ours, theirs = Linear(33, 5), torch.nn.Linear(33, 5)
    ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours(X), theirs(X), rtol=2e-6, atol=2e-6)
    with torch.autocast("cpu", torch.bfloat16):
        found, wanted = ours(X), theirs(X)
    assert found.dtype == wanted.dtype == torch.bfloat16
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)
