"""Bias, SiLU and residual after a convolution, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.bias_silu import host, reference
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import aligned, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def bias_silu(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor | None = None) -> torch.Tensor:
    """SiLU(`x` + `bias`) + `residual`, for `x` (N, C, H, W), `bias` (C,) and optional `residual` like `x`, all float16.

    The result has the memory format of `x`; with a residual it is channels last. A residual that is a slice of a wider
    channels-last tensor is read without a copy. Raises `CudaOpsError` for other shapes or dtypes.
    """
    parts = [("x", x, 4), ("bias", bias, 1)] + ([] if residual is None else [("residual", residual, 4)])
    for name, tensor, dimensions in parts:
        if tensor.dtype != torch.float16 or tensor.dim() != dimensions or tensor.device != x.device:
            raise CudaOpsError(
                f"bias_silu: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected float16 with "
                f"{dimensions} dimensions on {x.device}"
            )
    if bias.shape[0] != x.shape[1]:
        raise CudaOpsError(f"bias_silu: bias has shape {tuple(bias.shape)}, x has {x.shape[1]} channels")
    if residual is not None and residual.shape != x.shape:
        raise CudaOpsError(f"bias_silu: residual has shape {tuple(residual.shape)}, x {tuple(x.shape)}")
    check_number("bias_silu", "elements of x", x.numel(), 1, host.COUNT_MAX)
    result: torch.Tensor = _bias_silu(x, bias, residual)
    return result


def _gpu(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor | None) -> torch.Tensor:
    is_last = residual is not None or x.is_contiguous(memory_format=torch.channels_last)
    x = aligned(x.contiguous(memory_format=torch.channels_last if is_last else torch.contiguous_format))
    out = torch.empty_like(x)
    channels, height, width = x.shape[1:]
    pitch = 0
    if residual is not None:
        residual, pitch = _by_pixels(residual)
    inner = 1 if is_last else height * width
    kernels = launcher("bias_silu", x.get_device())
    host.run(kernels, x, aligned(bias.contiguous()), residual, out, channels, inner, pitch)
    return out


def _by_pixels(residual: torch.Tensor) -> tuple[torch.Tensor, int]:
    """(the tensor, distance of its pixels in elements); it is copied only if its pixels are not evenly spaced."""
    images, channels, height, width = residual.shape
    pitch = residual.stride(3)
    is_even = residual.stride()[1:] == (1, width * pitch, pitch) and (
        images == 1 or residual.stride(0) == height * width * pitch
    )
    if not is_even or (pitch % host.EACH == 0 and residual.data_ptr() % 16):
        residual, pitch = residual.contiguous(memory_format=torch.channels_last), channels
    return residual, pitch


def _cpu(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor | None) -> torch.Tensor:
    return torch.from_numpy(
        reference.bias_silu(x.numpy(), bias.numpy(), None if residual is None else residual.numpy())
    )


_bias_silu = register(
    "bias_silu(Tensor x, Tensor bias, Tensor? residual) -> Tensor",
    _gpu,
    _cpu,
    lambda x, bias, residual: torch.empty_like(x),
)
