"""`conv` as an operator: torch's own steps in float32, inputs put together or not; what does not fit is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.best_rows.op import best_rows
from cuda_ops.canny.op import canny
from cuda_ops.conv.host import TILES, Plan, Tile
from cuda_ops.conv.op import conv
from cuda_ops.errors import CudaOpsError
from cuda_ops.hough.op import hough_lines
from cuda_ops.runtime.gpu import why_no_gpu

HAS_GPU = why_no_gpu() is None
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not HAS_GPU, reason="no GPU here"))]
LAST = torch.channels_last


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))
    return values.half().to(memory_format=LAST) if len(shape) == 4 else values.half()


def near(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(found.float().cpu(), expected, rtol=4e-3, atol=4e-3)


def plainly(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int = 1) -> torch.Tensor:
    total = torch.nn.functional.conv2d(x.float(), weight.float(), bias.float(), stride, weight.shape[2] // 2)
    return torch.nn.functional.silu(total)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (3, 2), (5, 3)])
@pytest.mark.parametrize("shape", [(1, 8, 1, 1), (1, 64, 24, 40), (2, 24, 17, 13), (1, 256, 12, 20), (1, 3, 9, 11)])
def test_is_torchs_convolution_and_silu(device: str, shape: tuple[int, ...], size: int, stride: int) -> None:
    x, bias = drawn(*shape), drawn(72)
    weight = drawn(72, shape[1], size, size) * (shape[1] * size * size) ** -0.5
    near(conv(x.to(device), weight.to(device), bias.to(device), stride), plainly(x, weight, bias, stride))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("is_half", [False, True])
def test_two_inputs_are_as_one(device: str, is_half: bool) -> None:
    wide, more = drawn(1, 48, 6, 10, seed=1), drawn(1, 40, 12, 20, seed=2) if is_half else drawn(1, 40, 6, 10, seed=2)
    weight, bias = drawn(20, 72, 1, 1) * 72**-0.5, drawn(20)
    residual = drawn(1, 36, *more.shape[2:], seed=3)
    x = wide[:, 8:40]
    whole = x.repeat_interleave(2, 2).repeat_interleave(2, 3) if is_half else x
    expected = plainly(torch.cat([whole, more], 1), weight, bias) + residual[:, 8:28].float()
    found = conv(
        wide.to(device)[:, 8:40], weight.to(device), bias.to(device), residual=residual.to(device)[:, 8:28],
        more=more.to(device),
    )  # fmt: skip
    near(found, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_inputs_may_lie_anyhow(device: str) -> None:
    x, weight, bias = drawn(2, 16, 7, 9), drawn(8, 16, 3, 3) * 0.1, drawn(9)[1:]
    expected = plainly(x, weight, bias)
    for given in (
        x.contiguous(),
        x.flip(3).flip(3),
        drawn(2, 17, 7, 9)[:, 1:].copy_(x),
        x.transpose(2, 3).transpose(2, 3),
    ):
        near(conv(given.to(device), weight.contiguous().to(device), bias.to(device)), expected)


@pytest.mark.skipif(not HAS_GPU, reason="no GPU here")
@pytest.mark.parametrize("tile", TILES, ids=lambda tile: tile.name)
@pytest.mark.parametrize("shares", [1, 3, 8])
def test_every_tile_in_a_graph(monkeypatch: pytest.MonkeyPatch, tile: Tile, shares: int) -> None:
    """A chain whose kernels begin while the one before still runs; replays are the same to the bit."""
    monkeypatch.setattr("cuda_ops.conv.op.plan_for", lambda *_: Plan(tile, shares))
    x, weight, bias = drawn(1, 64, 12, 20), drawn(64, 64, 3, 3) * 0.05, drawn(64) * 0.1
    expected = x.float()
    for _ in range(6):
        expected = plainly(expected, weight, bias) + expected
    x, weight, bias = x.cuda(), weight.cuda(), bias.cuda()

    def chain() -> torch.Tensor:
        made = x
        for _ in range(6):
            made = conv(made, weight, bias, residual=made)
        return made

    chain()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = chain()
    found = []
    for _ in range(20):
        made.fill_(float("nan"))
        graph.replay()
        found.append(made.clone())
    assert all(torch.equal(found[0], other) for other in found)
    torch.testing.assert_close(found[0].float().cpu(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.skipif(not HAS_GPU, reason="no GPU here")
def test_shared_sums_after_other_kernels_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one stream, not captured, counters are those that cooperative kernels use too: three barriers, then five."""
    monkeypatch.setattr("cuda_ops.conv.op.plan_for", lambda *_: Plan(TILES[6], 4))
    x, weight, bias = drawn(1, 64, 12, 20), drawn(64, 64, 3, 3) * 0.05, drawn(64) * 0.1
    boxes, scores = [drawn(1, 4, 12, 20).cuda()], [drawn(1, 20, 12, 20).cuda()]
    expected, rows = plainly(x, weight, bias), best_rows(boxes, scores, [8.0])
    edges = (drawn(97, 131) > 1.5).to(torch.uint8).cuda()
    for _ in range(2):
        hough_lines(edges, 20)
        near(conv(x.cuda(), weight.cuda(), bias.cuda()), expected)
        assert torch.equal(best_rows(boxes, scores, [8.0]), rows)
        canny(edges, 1, 2)


def test_what_does_not_fit_is_named() -> None:
    x, weight, bias = drawn(1, 8, 4, 4), drawn(16, 8, 3, 3), drawn(16)
    with pytest.raises(CudaOpsError, match=r"x is torch\.float32"):
        conv(x.float(), weight, bias)
    with pytest.raises(CudaOpsError, match=r"expected \(K, 8, size, size\) with an odd size"):
        conv(x, weight[..., :2, :2], bias)
    with pytest.raises(CudaOpsError, match=r"expected \(K, 16, size, size\)"):
        conv(x, weight, bias, more=x)
    with pytest.raises(CudaOpsError, match=r"x has shape \(1, 8, 3, 4\), more \(1, 8, 4, 4\)"):
        conv(x[:, :, :3], drawn(16, 16, 3, 3), bias, more=x)
    with pytest.raises(CudaOpsError, match=r"bias is torch\.float16 \(15,\), weight has 16 channels"):
        conv(x, weight, bias[1:])
    with pytest.raises(CudaOpsError, match=r"residual has shape \(1, 16, 4, 4\), expected \(1, 16, 2, 2\)"):
        conv(x, weight, bias, 2, residual=drawn(1, 16, 4, 4))
