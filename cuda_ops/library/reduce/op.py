"""Sum, maximum and mean of all elements, and dot product, on torch tensors."""

from __future__ import annotations

import math
from typing import Any

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.reduce.ladder import DOT, MAX, MEAN, PARTIALS_MAX, SUM
from cuda_ops.library.run import check_element, check_like, is_direct, run
from cuda_ops.runtime.registry import register


def sum_of(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The sum of all elements of float32, float16 or bfloat16, as a scalar tensor; bit-equal in every run.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    check_element("sum", x)
    if is_direct(x):
        return _reduced(SUM, version or 0, x, None)
    result: torch.Tensor = _sum(x, version or 0)
    return result


def max_of(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The greatest element of float32, float16 or bfloat16, as a scalar tensor; NaN if any element is NaN.

    Raises `CudaOpsError` for other dtypes, no elements, or a version that does not exist.
    """
    check_element("max", x)
    if x.numel() == 0:
        raise CudaOpsError("max: x has no elements")
    if is_direct(x):
        return _reduced(MAX, version or 0, x, None)
    result: torch.Tensor = _max(x, version or 0)
    return result


def mean_of(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The mean of all elements of float32, float16 or bfloat16, as a scalar tensor; NaN without elements.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    check_element("mean", x)
    if is_direct(x):
        return _reduced(MEAN, version or 0, x, None)
    result: torch.Tensor = _mean(x, version or 0)
    return result


def dot(x: torch.Tensor, y: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The sum of x * y over two vectors of float32, float16 or bfloat16; bit-equal in every run.

    Raises `CudaOpsError` for other dtypes, other shapes, or a version that does not exist.
    """
    check_element("dot", x)
    if x.dim() != 1:
        raise CudaOpsError(f"dot: x has shape {tuple(x.shape)}, expected one dimension")
    check_like("dot", "y", y, x, x.shape)
    if is_direct(x, y):
        return _reduced(DOT, version or 0, x, y)
    result: torch.Tensor = _dot(x, y, version or 0)
    return result


def _reduced(ladder: Ladder, version: int, x: torch.Tensor, y: torch.Tensor | None) -> torch.Tensor:
    count = x.numel()
    if count == 0:
        return x.new_full((), float("nan") if ladder is MEAN else 0.0)
    x = x.contiguous()
    out = x.new_empty(())
    partials = torch.empty(PARTIALS_MAX, dtype=torch.float64, device=x.device)
    if y is None:
        run(ladder, version, x, (x.data_ptr(), 0, partials.data_ptr(), out.data_ptr()), 1, count, absent=("y",))
    else:
        y = y.contiguous()
        run(ladder, version, x, (x.data_ptr(), y.data_ptr(), partials.data_ptr(), out.data_ptr()), 1, count)
    return out


def _keep_shape(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.shape = inputs[0].shape


def _keep_both(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])


def _keep_x_and_out(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(inputs[0], output)


def _max_backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
    """The gradient of `max_of`: divided equally among all greatest elements, as in torch."""
    x, out = ctx.saved_tensors
    is_greatest = (x == out) | (torch.isnan(x) & torch.isnan(out))
    return torch.where(is_greatest, gradient / is_greatest.sum().to(gradient.dtype), 0.0), None


def _dot_backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
    x, y = ctx.saved_tensors
    return gradient * y, gradient * x, None


_sum = register(
    "library_sum(Tensor x, int version) -> Tensor",
    lambda x, version: _reduced(SUM, version, x, None),
    lambda x, version: reference.sum_of(x),
    lambda x, version: x.new_empty(()),
    lambda ctx, gradient: (gradient.expand(ctx.shape), None),
    _keep_shape,
)
_mean = register(
    "library_mean(Tensor x, int version) -> Tensor",
    lambda x, version: _reduced(MEAN, version, x, None),
    lambda x, version: reference.mean_of(x),
    lambda x, version: x.new_empty(()),
    lambda ctx, gradient: ((gradient / math.prod(ctx.shape)).expand(ctx.shape), None),
    _keep_shape,
)
_max = register(
    "library_max(Tensor x, int version) -> Tensor",
    lambda x, version: _reduced(MAX, version, x, None),
    lambda x, version: torch.max(x),
    lambda x, version: x.new_empty(()),
    _max_backward,
    _keep_x_and_out,
)
_dot = register(
    "library_dot(Tensor x, Tensor y, int version) -> Tensor",
    lambda x, y, version: _reduced(DOT, version, x, y),
    lambda x, y, version: reference.dot(x, y),
    lambda x, y, version: x.new_empty(()),
    _dot_backward,
    _keep_both,
)
