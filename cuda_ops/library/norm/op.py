"""LayerNorm and RMSNorm over the last dimension on torch tensors, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.norm_backward.ladder import LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD, scratch_floats
from cuda_ops.library.run import check_like, check_rows, is_direct, run
from cuda_ops.runtime.registry import register

ABSENT = {
    (has_weight, sums): (() if has_weight else ("weight",)) + ("dweight", "dbias")[sums:]
    for has_weight in (False, True)
    for sums in range(3)
}
"""The arrays of a gradient's ladder that are absent in a call, by (has a weight, number of sums per column)."""


def layer_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> torch.Tensor:
    """LayerNorm over the last dimension of float32, float16 or bfloat16; `weight` and `bias` have its length.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    check_norm("layer_norm", x, weight, bias)
    if is_direct(x, weight, bias):
        return normed(LAYER_NORM, x, weight, bias, epsilon, version or 0)
    result: torch.Tensor = _layer_norm(x, weight, bias, epsilon, version or 0)
    return result


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor | None = None, epsilon: float = 1e-5, version: int | None = None
) -> torch.Tensor:
    """RMSNorm over the last dimension of float32, float16 or bfloat16; `weight` has its length.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    check_norm("rms_norm", x, weight, None)
    if is_direct(x, weight):
        return normed(RMS_NORM, x, weight, None, epsilon, version or 0)
    result: torch.Tensor = _rms_norm(x, weight, epsilon, version or 0)
    return result


def layer_norm_backward(
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of `layer_norm`'s x, weight and bias from that of its result; bit-equal in every run.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    _check_backward("layer_norm_backward", gradient, x, weight)
    return _backward(LAYER_NORM_BACKWARD, gradient, x, weight, epsilon, 2, version or 0)


def rms_norm_backward(
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of `rms_norm`'s x and weight from that of its result; bit-equal in every run.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    _check_backward("rms_norm_backward", gradient, x, weight)
    return _backward(RMS_NORM_BACKWARD, gradient, x, weight, epsilon, 1, version or 0)[:2]


def check_norm(operator: str, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> None:
    """Raise `CudaOpsError` unless the tensors are valid arguments of a norm."""
    check_rows(operator, x)
    if weight is not None:
        check_like(operator, "weight", weight, x, x.shape[-1:])
    if bias is not None:
        check_like(operator, "bias", bias, x, x.shape[-1:])


def _check_backward(operator: str, gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor | None) -> None:
    check_norm(operator, x, weight, None)
    check_like(operator, "gradient", gradient, x, x.shape)


def normed(
    ladder: Ladder,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    epsilon: float,
    version: int,
) -> torch.Tensor:
    """Run a ladder with the arrays x, weight, bias and out on a GPU; returns out."""
    x = x.contiguous()
    out = torch.empty_like(x)
    count = out.numel()
    if count:
        weight, bias = _dense(weight), _dense(bias)
        columns = x.shape[-1]
        addresses = x.data_ptr(), _address(weight), _address(bias), out.data_ptr()
        absent = tuple(name for name, given in (("weight", weight), ("bias", bias)) if given is None)
        run(ladder, version, x, addresses, count // columns, columns, epsilon, absent)
    return out


def _dense(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _address(tensor: torch.Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The gradients of x, weight and bias; those that are not required are empty."""


def _backward(
    ladder: Ladder,
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    epsilon: float,
    sums: int,
    version: int,
) -> Gradients:
    """Run a gradient's ladder; `sums` is 0 without, 1 with the gradient of the weight, 2 with that of the bias too."""
    if is_direct(gradient, x, weight):
        return _gradients(ladder, gradient, x, weight, epsilon, sums, version)
    result: Gradients = BACKWARD[ladder](gradient, x, weight, epsilon, sums, version)
    return result


def _gradients(
    ladder: Ladder,
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    epsilon: float,
    sums: int,
    version: int,
) -> Gradients:
    gradient, x, weight = gradient.contiguous(), x.contiguous(), _dense(weight)
    columns = x.shape[-1]
    dx, dweight, dbias = torch.empty_like(x), x.new_empty(columns * (sums > 0)), x.new_empty(columns * (sums > 1))
    count = x.numel()
    if count == 0:
        return dx, dweight.zero_(), dbias.zero_()
    rows = count // columns
    partials = torch.empty(scratch_floats(rows, columns), dtype=torch.float32, device=x.device)
    addresses = (
        gradient.data_ptr(),
        x.data_ptr(),
        _address(weight),
        dx.data_ptr(),
        dweight.data_ptr(),
        dbias.data_ptr(),
        partials.data_ptr(),
    )
    run(ladder, version, x, addresses, rows, columns, epsilon, ABSENT[weight is not None, sums])
    return dx, dweight, dbias


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    *tensors, epsilon, _ = inputs
    ctx.save_for_backward(*tensors[:2])
    ctx.epsilon = epsilon


def _backward_of(ladder: Ladder) -> Callable[..., tuple[Any, ...]]:
    """A backward function: returns the gradients of all arguments of a norm, in the order of its schema."""

    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        x, weight = ctx.saved_tensors
        _, *wanted = ctx.needs_input_grad[:-2]  # epsilon and version have none
        sums = max([number + 1 for number, is_wanted in enumerate(wanted) if is_wanted], default=0)
        dx, *rest = _backward(ladder, gradient, x, weight, ctx.epsilon, sums, 0)
        return (dx, *(part if is_wanted else None for part, is_wanted in zip(rest, wanted, strict=False)), None, None)

    return backward


def _fake_gradients(gradient: Any, x: Any, weight: Any, epsilon: float, sums: int, version: int) -> Gradients:
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    return dx, *(x.new_empty(x.shape[-1] if sums > number else 0) for number in range(2))


def _registered_backward(ladder: Ladder, is_rms: bool) -> Callable[..., Any]:
    return register(
        f"library_{ladder.name}(Tensor gradient, Tensor x, Tensor? weight, float epsilon, int sums, int version)"
        " -> (Tensor, Tensor, Tensor)",
        lambda *arguments: _gradients(ladder, *arguments),
        lambda gradient, x, weight, epsilon, sums, version: reference.norm_backward(
            gradient, x, weight, epsilon, is_rms, sums
        ),
        _fake_gradients,
    )


BACKWARD = {
    LAYER_NORM_BACKWARD: _registered_backward(LAYER_NORM_BACKWARD, False),
    RMS_NORM_BACKWARD: _registered_backward(RMS_NORM_BACKWARD, True),
}
"""The registered operator of each gradient's ladder."""
_layer_norm = register(
    "library_layer_norm(Tensor x, Tensor? weight, Tensor? bias, float epsilon, int version) -> Tensor",
    lambda x, weight, bias, epsilon, version: normed(LAYER_NORM, x, weight, bias, epsilon, version),
    lambda x, weight, bias, epsilon, version: reference.layer_norm(x, weight, bias, epsilon).contiguous(),
    lambda x, weight, bias, epsilon, version: torch.empty_like(x, memory_format=torch.contiguous_format),
    _backward_of(LAYER_NORM_BACKWARD),
    _keep,
)
_rms_norm = register(
    "library_rms_norm(Tensor x, Tensor? weight, float epsilon, int version) -> Tensor",
    lambda x, weight, epsilon, version: normed(RMS_NORM, x, weight, None, epsilon, version),
    lambda x, weight, epsilon, version: reference.rms_norm(x, weight, epsilon).contiguous(),
    lambda x, weight, epsilon, version: torch.empty_like(x, memory_format=torch.contiguous_format),
    _backward_of(RMS_NORM_BACKWARD),
    _keep,
)
