"""Softmax over the last dimension on torch tensors, and its gradient."""

from __future__ import annotations

from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.run import check_like, check_rows, is_direct, run
from cuda_ops.library.softmax.ladder import SOFTMAX
from cuda_ops.library.softmax_backward.ladder import SOFTMAX_BACKWARD
from cuda_ops.runtime.registry import register


def softmax(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """Softmax over the last dimension of float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist or cannot take rows of this length.
    """
    check_rows("softmax", x)
    if is_direct(x):
        return _gpu(x, version or 0)
    result: torch.Tensor = _softmax(x, version or 0)
    return result


def softmax_backward(gradient: torch.Tensor, out: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The gradient of softmax's argument from that of its result `out`.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    check_rows("softmax_backward", gradient)
    check_like("softmax_backward", "out", out, gradient, gradient.shape)
    if is_direct(gradient, out):
        return _gpu_backward(gradient, out, version or 0)
    result: torch.Tensor = _softmax_backward(gradient, out, version or 0)
    return result


def _gpu(x: torch.Tensor, version: int) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    count = out.numel()
    if count:
        columns = x.shape[-1]
        run(SOFTMAX, version, x, (x.data_ptr(), out.data_ptr()), count // columns, columns)
    return out


def _gpu_backward(gradient: torch.Tensor, out: torch.Tensor, version: int) -> torch.Tensor:
    gradient, out = gradient.contiguous(), out.contiguous()
    result = torch.empty_like(out)
    count = result.numel()
    if count:
        columns = out.shape[-1]
        addresses = gradient.data_ptr(), out.data_ptr(), result.data_ptr()
        run(SOFTMAX_BACKWARD, version, out, addresses, count // columns, columns)
    return result


def _keep_out(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(output)


_softmax_backward = register(
    "library_softmax_backward(Tensor gradient, Tensor out, int version) -> Tensor",
    _gpu_backward,
    lambda gradient, out, version: reference.softmax_backward(gradient, out).contiguous(),
    lambda gradient, out, version: torch.empty_like(out, memory_format=torch.contiguous_format),
)
_softmax = register(
    "library_softmax(Tensor x, int version) -> Tensor",
    _gpu,
    lambda x, version: reference.softmax(x).contiguous(),
    lambda x, version: torch.empty_like(x, memory_format=torch.contiguous_format),
    lambda ctx, gradient: (softmax_backward(gradient, *ctx.saved_tensors), None),
    _keep_out,
)
