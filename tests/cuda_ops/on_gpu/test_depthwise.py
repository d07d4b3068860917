"""`depthwise` as an operator: torch's own steps in float32, in any memory format; what does not fit is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.depthwise.op import depthwise
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.gpu import why_no_gpu

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 8, 1, 1), (2, 3, 5, 7), (1, 128, 48, 80), (3, 16, 11, 13)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_is_torchs_convolution_and_silu(
    device: str, shape: tuple[int, int, int, int], layout: torch.memory_format
) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=generator).half().to(memory_format=layout)
    weight = torch.randn((shape[1], 1, 3, 3), generator=generator).half()
    bias = torch.randn(shape[1], generator=generator).half()
    total = torch.nn.functional.conv2d(x.float(), weight.float(), bias.float(), padding=1, groups=shape[1])
    found = depthwise(x.to(device), weight.to(device), bias.to(device))
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found.float().cpu(), torch.nn.functional.silu(total), rtol=2e-3, atol=2e-3)


def test_what_does_not_fit_is_named() -> None:
    x, weight, bias = torch.zeros((1, 8, 2, 2)).half(), torch.zeros((8, 1, 3, 3)).half(), torch.zeros(8).half()
    with pytest.raises(CudaOpsError, match=r"depthwise: x is torch\.float32"):
        depthwise(x.float(), weight, bias)
    with pytest.raises(CudaOpsError, match=r"depthwise: weight is torch\.float16 \(8, 1, 5, 3\)"):
        depthwise(x, torch.zeros((8, 1, 5, 3)).half(), bias)
    with pytest.raises(CudaOpsError, match=r"depthwise: bias is torch\.float16 \(7,\)"):
        depthwise(x, weight, bias[1:])
