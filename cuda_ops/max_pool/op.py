"""Repeated max pooling (YOLO's SPPF) on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.conv.op import by_pixels
from cuda_ops.errors import CudaOpsError
from cuda_ops.max_pool import host
from cuda_ops.runtime.checks import check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

LAST = torch.channels_last


def max_pools(x: torch.Tensor, size: int, rounds: int) -> torch.Tensor:
    """Concatenation of `x` (N, C, H, W) float16 and `rounds` max pools, each of the previous result.

    A round is torch's max_pool2d with stride 1 and a padding of half a window; `size` is odd, 1 to 31. The result is
    (N, (rounds + 1) C, H, W), channels last. Raises `CudaOpsError` for other shapes, dtypes or ranges.
    """
    if x.dtype != torch.float16 or x.dim() != 4:
        raise CudaOpsError(f"max_pools: x is {x.dtype} {tuple(x.shape)}, expected float16 (N, C, H, W)")
    if size not in range(1, 32, 2):
        raise CudaOpsError(f"max_pools: size is {size}, allowed are 1, 3, 5 .. 31")
    check_number("max_pools", "rounds", rounds, 1, 8)
    check_number("max_pools", "elements of x", x.numel(), 1, 2**31 - 1)
    result: torch.Tensor = _max_pools(x, size, rounds)
    return result


def _gpu(x: torch.Tensor, size: int, rounds: int) -> torch.Tensor:
    images, channels, height, width = x.shape
    if channels % host.EACH or height * width > host.PIXELS_MAX or images > 65535:
        return _by_torch(x, size, rounds)
    x, pitch = by_pixels(x)
    shape = (images, (rounds + 1) * channels, height, width)
    out = torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=LAST)
    kernels = launcher("max_pool", x.get_device())
    host.run(kernels, x, pitch, out, (images, channels, height, width), size, rounds, early=True)
    return out


def _by_torch(x: torch.Tensor, size: int, rounds: int) -> torch.Tensor:
    parts = [x]
    for _ in range(rounds):
        parts.append(torch.nn.functional.max_pool2d(parts[-1], size, 1, size // 2))
    return torch.cat(parts, dim=1).contiguous(memory_format=LAST)


_max_pools = register(
    "max_pools(Tensor x, int size, int rounds) -> Tensor",
    _gpu,
    _by_torch,
    lambda x, size, rounds: torch.empty(
        (x.shape[0], (rounds + 1) * x.shape[1], *x.shape[2:]), dtype=x.dtype, device=x.device, memory_format=LAST
    ),
)
