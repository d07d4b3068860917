"""`max_pools` as an operator: torch's own, round after round, in any memory format; what does not fit is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError
from cuda_ops.max_pool.op import max_pools
from cuda_ops.runtime.gpu import why_no_gpu

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 3, 5, 7), (1, 256, 12, 20), (3, 16, 11, 13), (1, 8, 32, 32)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("size", "rounds"), [(1, 1), (5, 3), (9, 2)])
def test_is_torchs(
    device: str, shape: tuple[int, int, int, int], layout: torch.memory_format, size: int, rounds: int
) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).half().to(memory_format=layout)
    parts = [x.float()]
    for _ in range(rounds):
        parts.append(torch.nn.functional.max_pool2d(parts[-1], size, 1, size // 2))
    assert torch.equal(max_pools(x.to(device), size, rounds).cpu(), torch.cat(parts, 1).half())


def test_what_does_not_fit_is_named() -> None:
    x = torch.zeros((1, 4, 2, 2), dtype=torch.half)
    with pytest.raises(CudaOpsError, match="size is 4, allowed are"):
        max_pools(x, 4, 3)
    with pytest.raises(CudaOpsError, match=r"x is torch\.float32"):
        max_pools(x.float(), 5, 3)
    with pytest.raises(CudaOpsError, match="rounds is 0"):
        max_pools(x, 5, 0)
