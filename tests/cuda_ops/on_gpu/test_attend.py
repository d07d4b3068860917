"""`attend` as an operator: the steps of a framework in float32; what does not fit is named."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.attend.op import attend  # noqa: E402
from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]
LAST = torch.channels_last


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 4, 12, 20), (2, 2, 7, 11), (1, 1, 1, 1), (1, 2, 28, 32), (1, 1, 29, 31)])
@pytest.mark.parametrize("is_part", [False, True])
def test_is_attention_and_the_neighbours_sum(device: str, shape: tuple[int, int, int, int], is_part: bool) -> None:
    images, heads, height, width = shape
    generator = torch.Generator().manual_seed(height)
    wide = (2 * torch.randn((images, 128 * heads + 16, height, width), generator=generator)).half()
    wide = wide.to(memory_format=LAST)
    weight = torch.randn((64 * heads, 1, 3, 3), generator=generator).half()
    bias = torch.randn(64 * heads, generator=generator).half()
    qkv = wide[:, 8:-8].float()
    query, key, value = qkv.view(images, heads, 128, -1).split([32, 32, 64], dim=2)
    powers = (query.transpose(-2, -1) @ key * 32**-0.5).softmax(dim=-1)
    mixed = (value @ powers.transpose(-2, -1)).reshape(images, -1, height, width)
    picture = value.reshape(mixed.shape)
    expected = mixed + torch.nn.functional.conv2d(picture, weight.float(), bias.float(), padding=1, groups=64 * heads)
    given = wide.to(device)[:, 8:-8] if is_part else wide[:, 8:-8].contiguous().to(device)
    found = attend(given, weight.to(device), bias.to(device))
    assert found.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(found.float().cpu(), expected, rtol=4e-3, atol=4e-3)
    assert torch.equal(found, attend(given, weight.to(device), bias.to(device)))


def test_what_does_not_fit_is_named() -> None:
    qkv, weight, bias = torch.zeros((1, 128, 3, 3)).half(), torch.zeros((64, 1, 3, 3)).half(), torch.zeros(64).half()
    with pytest.raises(CudaOpsError, match=r"attend: qkv is torch\.float32"):
        attend(qkv.float(), weight, bias)
    with pytest.raises(CudaOpsError, match=r"attend: weight is torch\.float16 \(32, 1, 3, 3\)"):
        attend(qkv, weight[:32], bias)
    with pytest.raises(CudaOpsError, match=r"attend: bias is torch\.float16 \(63,\)"):
        attend(qkv, weight, bias[1:])
