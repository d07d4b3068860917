"""The convolution of half-precision pictures on a GPU, against double precision.

Skipped without a GPU; `make test-gpu` runs it on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library.convolve.op import convolve  # noqa: E402
from cuda_ops.library.ladder import Element  # noqa: E402
from cuda_ops.library.matmul_half.tiles import HALF  # noqa: E402
from cuda_ops.library.run import architecture  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
SIZES = (
    (1, 64, 8, 8, 64),
    (2, 72, 13, 21, 136),
    (3, 8, 5, 3, 8),
    (1, 256, 40, 40, 256),
    (2, 128, 33, 80, 520),
    (4, 8, 80, 80, 256),
    (8, 8, 80, 80, 144),
    (8, 8, 80, 80, 128),
)
"""Pictures, channels, height, width and channels of the result."""


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """`torch.empty` is filled with NaN, so that a value no kernel wrote shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


def exact(x: Any, weight: Any, bias: Any) -> Any:
    padding = weight.shape[2] // 2, weight.shape[3] // 2
    return torch.nn.functional.conv2d(x.double(), weight.double(), bias, padding=padding)


@pytest.mark.parametrize("element", HALF, ids=lambda element: element.name)
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (5, 5), (1, 3)], ids=str)
@pytest.mark.parametrize("version", [None, 1, 2], ids=["default", "columns", "implicit"])
def test_a_convolution_gives_the_exact_result_rounded(
    version: int | None, window: tuple[int, int], element: Element
) -> None:
    if version is not None and architecture(0) != 90:
        pytest.skip(f"not on sm_{architecture(0)}")
    for pictures, channels, height, width, columns in SIZES:
        x = cases.draw(1, element, pictures, channels, height, width, device="cuda")
        weight = cases.draw(2, element, columns, channels, *window, device="cuda")
        bias = cases.draw(3, element, columns, device="cuda")
        found = convolve(x, weight, bias, version)
        terms = exact(x.abs(), weight.abs(), bias.double().abs())
        cases.check_near(found, exact(x, weight, bias.double()), 1e-6 * terms)
        assert torch.equal(found, convolve(x.contiguous(memory_format=torch.channels_last), weight, bias, version))
        cases.check_near(convolve(x, weight, None, version), exact(x, weight, None), 1e-6 * terms)


def test_numbers_beyond_the_channels_are_not_read() -> None:
    """A step has 64 channels: weights of the next tap must not meet zeros, which infinities would make NaN."""
    x, weight = torch.ones((1, 8, 8, 8), device="cuda").bfloat16(), torch.ones((8, 8, 3, 3), device="cuda").bfloat16()
    weight[:, :, 2, 2] = float("inf")
    assert bool(convolve(x, weight)[0, :, :-1, :-1].isinf().all())  # beyond the edge they do meet zeros


def test_other_channels_are_convolved_by_torch() -> None:
    x, weight = torch.randn(2, 3, 9, 9, device="cuda").bfloat16(), torch.randn(5, 3, 3, 3, device="cuda").bfloat16()
    wanted = exact(x, weight, None)
    torch.testing.assert_close(convolve(x, weight).double(), wanted, rtol=2e-2, atol=2e-2)
    assert convolve(x[:0], weight).shape == (0, 5, 9, 9)


def test_another_stream_and_a_graph() -> None:
    x, weight = (torch.randn(size, device="cuda").bfloat16() for size in ((2, 64, 24, 24), (64, 64, 3, 3)))
    wanted = convolve(x, weight)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = convolve(x, weight)
    for _ in range(2):
        captured.zero_()
        graph.replay()
        assert torch.equal(captured, wanted)
