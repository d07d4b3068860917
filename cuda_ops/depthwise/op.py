"""Depthwise 3x3 convolution on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.conv.op import by_pixels
from cuda_ops.depthwise import host
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import aligned, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

LAST = torch.channels_last


def depthwise(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Depthwise convolution with SiLU: `x` (N, C, H, W) by `weight` (C, 1, 3, 3) and `bias` (C,), channels last.

    Equals SiLU of torch's conv2d with C groups, stride 1 and a padding of 1. All tensors are float16; sums are float32
    and rounded once. Raises `CudaOpsError` for other shapes or dtypes.
    """
    channels = x.shape[1] if x.dim() == 4 else 0
    wanted = (("x", x, x.shape), ("weight", weight, (channels, 1, 3, 3)), ("bias", bias, (channels,)))
    for name, tensor, shape in wanted:
        if tensor.dtype != torch.float16 or tensor.shape != shape or x.dim() != 4 or tensor.device != x.device:
            raise CudaOpsError(
                f"depthwise: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected float16: x "
                f"(N, C, H, W), weight (C, 1, 3, 3), bias (C,) on one device"
            )
    check_number("depthwise", "elements of x", x.numel(), 1, host.COUNT_MAX)
    result: torch.Tensor = _depthwise(x, weight, bias)
    return result


def _gpu(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    if x.shape[1] % host.EACH:
        return _by_torch(x, weight, bias)
    images, channels, height, width = x.shape
    weights, biases = aligned(weight.contiguous()), aligned(bias.contiguous())
    is_constant = (
        weights is weight and biases is bias and torch.cuda.is_current_stream_capturing()
    )  # arguments of a captured graph are constant
    x, pitch = by_pixels(x)
    out = torch.empty((images, channels, height, width), dtype=x.dtype, device=x.device, memory_format=LAST)
    kernels = launcher("depthwise", x.get_device())
    host.run(kernels, x, pitch, weights, biases, out, (images, channels, height, width), is_constant)
    return out


def _by_torch(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    total = torch.nn.functional.conv2d(x.float(), weight.float(), bias.float(), padding=1, groups=x.shape[1])
    return torch.nn.functional.silu(total).half().contiguous(memory_format=LAST)


_depthwise = register(
    "depthwise(Tensor x, Tensor weight, Tensor bias) -> Tensor",
    _gpu,
    _by_torch,
    lambda x, weight, bias: torch.empty_like(x, memory_format=LAST),
)
