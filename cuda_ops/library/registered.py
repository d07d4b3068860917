"""Registers operators whose gradient is computed from their result, and these gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.library.ladder import Ladder
from cuda_ops.runtime.registry import register


def register_from_result(
    ladder: Ladder,
    gpu: Callable[[Ladder, torch.Tensor, int], torch.Tensor],
    cpu: Callable[[torch.Tensor], torch.Tensor],
    backward: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., Any]:
    """Register the torch operator (x, version) of a ladder; `backward` gets the result's gradient and the result."""
    return register(
        f"library_{ladder.name}(Tensor x, int version) -> Tensor",
        lambda x, version: gpu(ladder, x, version),
        lambda x, version: cpu(x).contiguous(),
        lambda x, version: torch.empty_like(x, memory_format=torch.contiguous_format),
        lambda ctx, gradient: (backward(gradient, *ctx.saved_tensors), None),
        _keep_out,
    )


def register_gradient(
    ladder: Ladder,
    gpu: Callable[[Ladder, torch.Tensor, torch.Tensor, int], torch.Tensor],
    cpu: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., Any]:
    """Register the torch operator (gradient, out, version) of the ladder of such a gradient."""
    return register(
        f"library_{ladder.name}(Tensor gradient, Tensor out, int version) -> Tensor",
        lambda gradient, out, version: gpu(ladder, gradient, out, version),
        lambda gradient, out, version: cpu(gradient, out).contiguous(),
        lambda gradient, out, version: torch.empty_like(out, memory_format=torch.contiguous_format),
    )


def _keep_out(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(output)
