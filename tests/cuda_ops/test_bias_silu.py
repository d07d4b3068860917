"""`bias_silu` as an operator: torch's own two steps, in any memory format; what does not fit is named."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.bias_silu.op import bias_silu  # noqa: E402
from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402

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


def test_what_does_not_fit_is_named() -> None:
    x = torch.zeros((1, 4, 2, 2), dtype=torch.half)
    with pytest.raises(CudaOpsError, match=r"bias has shape \(3,\), x has 4 channels"):
        bias_silu(x, torch.zeros(3, dtype=torch.half))
    with pytest.raises(CudaOpsError, match=r"x is torch\.float32"):
        bias_silu(x.float(), torch.zeros(4, dtype=torch.half))
    with pytest.raises(CudaOpsError, match="elements of x is 0"):
        bias_silu(x[:0], torch.zeros(4, dtype=torch.half))
