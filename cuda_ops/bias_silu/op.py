"""`bias_silu` on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.bias_silu import host, reference
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def bias_silu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """SiLU of `x` (N, C, H, W) float16 plus `bias` (C,) float16, in the memory format of `x`.

    Raises `CudaOpsError`.
    """
    for name, tensor, dimensions in (("x", x, 4), ("bias", bias, 1)):
        if tensor.dtype != torch.float16 or tensor.dim() != dimensions or tensor.device != x.device:
            raise CudaOpsError(
                f"bias_silu: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected float16 with "
                f"{dimensions} dimensions on {x.device}"
            )
    if bias.shape[0] != x.shape[1]:
        raise CudaOpsError(f"bias_silu: bias has shape {tuple(bias.shape)}, x has {x.shape[1]} channels")
    check_number("bias_silu", "elements of x", x.numel(), 1, host.COUNT_MAX)
    result: torch.Tensor = _bias_silu(x, bias)
    return result


def _gpu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    is_last = x.is_contiguous(memory_format=torch.channels_last)
    x = x if is_last else x.contiguous()
    out = torch.empty_like(x)
    inner = 1 if is_last else x.shape[2] * x.shape[3]
    kernels = launcher("bias_silu", x.get_device())
    host.run(kernels, x, bias.contiguous(), out, x.numel(), x.shape[1], inner)
    return out


def _cpu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(reference.bias_silu(x.numpy(), bias.numpy()))


_bias_silu = register("bias_silu(Tensor x, Tensor bias) -> Tensor", _gpu, _cpu, lambda x, bias: torch.empty_like(x))
