"""`bias_silu` as an operator: torch's own two steps, in any memory format; what does not fit is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.bias_silu.op import bias_silu
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.gpu import why_no_gpu

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 3, 5, 7), (1, 64, 48, 80), (3, 16, 11, 13), (1, 512, 12, 20)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_is_silu_of_the_sum(device: str, shape: tuple[int, int, int, int], layout: torch.memory_format) -> None:
    generator = torch.Generator().manual_seed(0)
    x = (torch.randn(shape, generator=generator) * 4).half().to(memory_format=layout)
    bias = torch.randn(shape[1], generator=generator).half()
    expected = torch.nn.functional.silu(x.float() + bias.float()[:, None, None])
    found = bias_silu(x.to(device), bias.to(device))
    assert found.shape == x.shape
    torch.testing.assert_close(found.float().cpu(), expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("channels", [1, 7, 16, 64])
@pytest.mark.parametrize("first", [0, 3, 8])
def test_a_residual_may_be_part_of_a_wider_tensor(device: str, channels: int, first: int) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn((2, channels, 9, 11), generator=generator).half().to(memory_format=torch.channels_last)
    bias = torch.randn(channels, generator=generator).half()
    wide = torch.randn((2, channels + 16, 9, 11), generator=generator).half().to(memory_format=torch.channels_last)
    expected = torch.nn.functional.silu(x.float() + bias.float()[:, None, None])
    for whole in (wide, wide.contiguous()):
        residual = whole[:, first : first + channels]
        found = bias_silu(x.to(device), bias.to(device), whole.to(device)[:, first : first + channels])
        torch.testing.assert_close(found.float().cpu(), expected + residual.float(), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_may_begin_anywhere(device: str) -> None:
    pile = torch.randn((2, 8, 3, 3), generator=torch.Generator().manual_seed(2)).half().to(device)
    x, bias = pile.flatten()[3 : 3 + 72].view(1, 8, 3, 3), pile.flatten()[5:13]
    expected = torch.nn.functional.silu(x.float() + bias.float()[:, None, None])
    torch.testing.assert_close(bias_silu(x, bias).float(), expected, rtol=1e-3, atol=1e-6)


def test_what_does_not_fit_is_named() -> None:
    x = torch.zeros((1, 4, 2, 2), dtype=torch.half)
    with pytest.raises(CudaOpsError, match=r"bias has shape \(3,\), x has 4 channels"):
        bias_silu(x, torch.zeros(3, dtype=torch.half))
    with pytest.raises(CudaOpsError, match=r"x is torch\.float32"):
        bias_silu(x.float(), torch.zeros(4, dtype=torch.half))
    with pytest.raises(CudaOpsError, match=r"residual has shape \(1, 4, 2, 1\)"):
        bias_silu(x, torch.zeros(4, dtype=torch.half), x[..., :1])
    with pytest.raises(CudaOpsError, match="elements of x is 0"):
        bias_silu(x[:0], torch.zeros(4, dtype=torch.half))
