"""The derivative of a product a b of matrices: two products of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def keep_factors(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    """Save a and b, the first inputs, for the derivative."""
    ctx.save_for_backward(*inputs[:2])


def derivative_by(multiply: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """The backward function of the operator (a, b, version) whose product is computed by `multiply`."""

    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None, None]:
        a, b = ctx.saved_tensors
        wants_a, wants_b, _ = ctx.needs_input_grad
        return multiply(gradient, b.T) if wants_a else None, multiply(a.T, gradient) if wants_b else None, None

    return backward
