"""The linear layer on torch tensors: x w^T + bias, with its gradients, by the library's products of matrices."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library.matmul.op import matmul
from cuda_ops.library.matmul_half.op import matmul_half


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """`x` (..., inputs) times the transpose of `weight` (outputs, inputs), plus `bias` (outputs).

    In bfloat16 and float16 it is one launch (`matmul_half`), which reads the weight without a transposed copy; the
    gradients of `x` and of the weight are one launch each. In float32 (`matmul`) the bias is added by a second kernel.
    Under `torch.autocast` all three arguments are cast, as in torch. Raises `CudaOpsError` for other dtypes or shapes.
    """
    device = x.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        x, weight = x.to(dtype), weight.to(dtype)
        bias = None if bias is None else bias.to(dtype)
    if x.dim() == 0 or weight.dim() != 2 or x.shape[-1] != weight.shape[1]:
        raise CudaOpsError(
            f"linear: x has shape {tuple(x.shape)} and weight {tuple(weight.shape)}, expected (..., inputs) and "
            "(outputs, inputs)"
        )
    rows = x.reshape(-1, x.shape[-1])
    if x.dtype == torch.float32:
        out = matmul(rows, weight.T)
        out = out if bias is None else out + bias
    else:
        out = matmul_half(rows, weight.T, bias)
    return out.reshape(*x.shape[:-1], weight.shape[0])


class Linear(torch.nn.Linear):
    """`torch.nn.Linear` with the same arguments, parameters and names of parameters, computed by `linear`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.weight, self.bias)
