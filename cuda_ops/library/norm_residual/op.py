"""x + residual and a norm of this sum in one kernel, on torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.norm.op import check_norm, layer_norm_backward, rms_norm_backward
from cuda_ops.library.norm_residual.ladder import RESIDUAL_LAYER_NORM, RESIDUAL_RMS_NORM
from cuda_ops.library.run import check_like, is_direct, run
from cuda_ops.runtime.registry import register

Pair = tuple[torch.Tensor, torch.Tensor]


def residual_layer_norm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> Pair:
    """(x + residual, `layer_norm` of this sum before it is rounded).

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    return _residual(RESIDUAL_LAYER_NORM, _residual_layer_norm, x, residual, weight, bias, epsilon, version or 0)


def residual_rms_norm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> Pair:
    """(x + residual, `rms_norm` of this sum before it is rounded). Raises the errors of `residual_layer_norm`."""
    return _residual(RESIDUAL_RMS_NORM, _residual_rms_norm, x, residual, weight, None, epsilon, version or 0)


def _residual(
    ladder: Ladder,
    registered: Callable[..., Any],
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    epsilon: float,
    version: int,
) -> Pair:
    check_norm(ladder.name, x, weight, bias)
    check_like(ladder.name, "residual", residual, x, x.shape)
    if is_direct(x, residual, weight, bias):
        return _gpu(ladder, x, residual, weight, bias, epsilon, version)
    result: Pair = registered(x, residual, weight, bias, epsilon, version)
    return result


def _gpu(
    ladder: Ladder,
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    epsilon: float,
    version: int,
) -> Pair:
    given = [None if one is None else one.contiguous() for one in (x, residual, weight, bias)]
    made = torch.empty(x.shape, dtype=x.dtype, device=x.device), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    count = x.numel()
    if count:
        addresses = [0 if one is None else one.data_ptr() for one in (*given, *made)]
        columns = x.shape[-1]
        run(ladder, version, x, addresses, count // columns, columns, epsilon)
    return made


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Pair) -> None:
    ctx.save_for_backward(output[0], inputs[2])
    ctx.epsilon = inputs[4]


def _backward_of(norm_backward: Callable[..., tuple[torch.Tensor, ...]]) -> Callable[..., tuple[Any, ...]]:
    def backward(ctx: Any, of_total: torch.Tensor, of_out: torch.Tensor) -> tuple[Any, ...]:
        total, weight = ctx.saved_tensors
        dx, *rest = norm_backward(of_out, total, weight, ctx.epsilon)
        dx = dx + of_total
        dweight, dbias = (*rest, None)[:2]
        wants_weight, wants_bias = ctx.needs_input_grad[2:4]
        return dx, dx, dweight if wants_weight else None, dbias if wants_bias else None, None, None

    return backward


def _registered(ladder: Ladder, is_rms: bool, backward: Callable[..., tuple[torch.Tensor, ...]]) -> Callable[..., Any]:
    return register(
        f"library_{ladder.name}(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float epsilon, int version)"
        " -> (Tensor, Tensor)",
        lambda *arguments: _gpu(ladder, *arguments),
        lambda x, residual, weight, bias, epsilon, version: reference.residual_norm(
            x, residual, weight, bias, epsilon, is_rms
        ),
        lambda x, residual, weight, bias, epsilon, version: (
            torch.empty_like(x, memory_format=torch.contiguous_format),
            torch.empty_like(x, memory_format=torch.contiguous_format),
        ),
        _backward_of(backward),
        _keep,
    )


_residual_layer_norm = _registered(RESIDUAL_LAYER_NORM, False, layer_norm_backward)
_residual_rms_norm = _registered(RESIDUAL_RMS_NORM, True, rms_norm_backward)
