"""ReLU and sigmoid on torch tensors, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.activation.ladder import RELU, SIGMOID
from cuda_ops.library.activation_backward.ladder import RELU_BACKWARD, SIGMOID_BACKWARD
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.registered import register_from_result, register_gradient
from cuda_ops.library.run import check_element, check_like, is_direct, run


def relu(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """max(x, 0) for float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    if is_direct(x):
        return _of_one(RELU, x, version or 0)
    check_element("relu", x)
    result: torch.Tensor = _relu(x, version or 0)
    return result


def sigmoid(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """1 / (1 + e^-x) for float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    if is_direct(x):
        return _of_one(SIGMOID, x, version or 0)
    check_element("sigmoid", x)
    result: torch.Tensor = _sigmoid(x, version or 0)
    return result


def relu_backward(gradient: torch.Tensor, out: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The gradient of `relu`'s argument from that of its result `out`: equal where `out` is not 0, otherwise 0.

    Raises `CudaOpsError` for other dtypes, other shapes, or a version that does not exist.
    """
    return _backward(RELU_BACKWARD, _relu_backward, gradient, out, version or 0)


def sigmoid_backward(gradient: torch.Tensor, out: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The gradient of `sigmoid`'s argument from that of its result `out`: gradient * out * (1 - out).

    Raises `CudaOpsError` for other dtypes, other shapes, or a version that does not exist.
    """
    return _backward(SIGMOID_BACKWARD, _sigmoid_backward, gradient, out, version or 0)


def _backward(
    ladder: Ladder, registered: Callable[..., Any], gradient: torch.Tensor, out: torch.Tensor, version: int
) -> torch.Tensor:
    check_element(ladder.name, gradient)
    check_like(ladder.name, "out", out, gradient, gradient.shape)
    if is_direct(gradient, out):
        return _of_two(ladder, gradient, out, version)
    result: torch.Tensor = registered(gradient, out, version)
    return result


def _of_one(ladder: Ladder, x: torch.Tensor, version: int) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    count = out.numel()
    if count:
        run(ladder, version, x, (x.data_ptr(), out.data_ptr()), 1, count)
    return out


def _of_two(ladder: Ladder, gradient: torch.Tensor, out: torch.Tensor, version: int) -> torch.Tensor:
    gradient, out = gradient.contiguous(), out.contiguous()
    result = torch.empty_like(gradient)
    count = result.numel()
    if count:
        run(ladder, version, out, (gradient.data_ptr(), out.data_ptr(), result.data_ptr()), 1, count)
    return result


_relu_backward = register_gradient(RELU_BACKWARD, _of_two, reference.relu_backward)
_sigmoid_backward = register_gradient(SIGMOID_BACKWARD, _of_two, reference.sigmoid_backward)
_relu = register_from_result(RELU, _of_one, reference.relu, relu_backward)
_sigmoid = register_from_result(SIGMOID, _of_one, reference.sigmoid, sigmoid_backward)
