"""Softmax and its logarithm over the last dimension on torch tensors, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.registered import register_from_result, register_gradient
from cuda_ops.library.run import check_like, check_rows, is_direct, run
from cuda_ops.library.softmax.ladder import LOG_SOFTMAX, SOFTMAX
from cuda_ops.library.softmax_backward.ladder import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD


def softmax(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """Softmax over the last dimension of float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist or cannot take rows of this length.
    """
    return _forward(SOFTMAX, _softmax, x, version or 0)


def log_softmax(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The logarithm of `softmax`, computed directly. Raises the errors of `softmax`."""
    return _forward(LOG_SOFTMAX, _log_softmax, x, version or 0)


def softmax_backward(gradient: torch.Tensor, out: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The gradient of softmax's argument from that of its result `out`.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    return _backward(SOFTMAX_BACKWARD, _softmax_backward, gradient, out, version or 0)


def log_softmax_backward(gradient: torch.Tensor, out: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The gradient of log_softmax's argument from that of its result `out`. Raises the errors of `softmax_backward`."""
    return _backward(LOG_SOFTMAX_BACKWARD, _log_softmax_backward, gradient, out, version or 0)


def _forward(ladder: Ladder, registered: Callable[..., Any], x: torch.Tensor, version: int) -> torch.Tensor:
    check_rows(ladder.name, x)
    if is_direct(x):
        return _gpu(ladder, x, version)
    result: torch.Tensor = registered(x, version)
    return result


def _backward(
    ladder: Ladder, registered: Callable[..., Any], gradient: torch.Tensor, out: torch.Tensor, version: int
) -> torch.Tensor:
    check_rows(ladder.name, gradient)
    check_like(ladder.name, "out", out, gradient, gradient.shape)
    if is_direct(gradient, out):
        return _gpu_backward(ladder, gradient, out, version)
    result: torch.Tensor = registered(gradient, out, version)
    return result


def _gpu(ladder: Ladder, x: torch.Tensor, version: int) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    count = out.numel()
    if count:
        columns = x.shape[-1]
        run(ladder, version, x, (x.data_ptr(), out.data_ptr()), count // columns, columns)
    return out


def _gpu_backward(ladder: Ladder, gradient: torch.Tensor, out: torch.Tensor, version: int) -> torch.Tensor:
    gradient, out = gradient.contiguous(), out.contiguous()
    result = torch.empty_like(out)
    count = result.numel()
    if count:
        columns = out.shape[-1]
        addresses = gradient.data_ptr(), out.data_ptr(), result.data_ptr()
        run(ladder, version, out, addresses, count // columns, columns)
    return result


_softmax_backward = register_gradient(SOFTMAX_BACKWARD, _gpu_backward, reference.softmax_backward)
_log_softmax_backward = register_gradient(LOG_SOFTMAX_BACKWARD, _gpu_backward, reference.log_softmax_backward)
_softmax = register_from_result(SOFTMAX, _gpu, reference.softmax, softmax_backward)
_log_softmax = register_from_result(LOG_SOFTMAX, _gpu, reference.log_softmax, log_softmax_backward)
