"""`max_pool` on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.max_pool import host, reference
from cuda_ops.runtime.checks import aligned, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def max_pool(x: torch.Tensor, size: int) -> torch.Tensor:
    """torch's max_pool2d of `x` (N, C, H, W) float16 with stride 1 and half a window of padding.

    On a GPU the result is channels last. `size` is odd, up to 31. Raises `CudaOpsError`.
    """
    if x.dtype != torch.float16 or x.dim() != 4:
        raise CudaOpsError(f"max_pool: x is {x.dtype} {tuple(x.shape)}, expected float16 (N, C, H, W)")
    if size not in range(1, 32, 2):
        raise CudaOpsError(f"max_pool: size is {size}, allowed are 1, 3, 5 .. 31")
    check_number("max_pool", "elements of x", x.numel(), 1, host.COUNT_MAX)
    result: torch.Tensor = _max_pool(x, size)
    return result


def _gpu(x: torch.Tensor, size: int) -> torch.Tensor:
    x = aligned(x.contiguous(memory_format=torch.channels_last))
    out = torch.empty_like(x, memory_format=torch.channels_last)
    images, channels, height, width = x.shape
    host.run(launcher("max_pool", x.get_device()), x, out, (images, channels, height, width), size)
    return out


def _cpu(x: torch.Tensor, size: int) -> torch.Tensor:
    return torch.from_numpy(reference.max_pool(x.numpy(), size))


_max_pool = register("max_pool(Tensor x, int size) -> Tensor", _gpu, _cpu, lambda x, size: torch.empty_like(x))
