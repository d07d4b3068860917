"""Registers torch operators: schema, GPU and CPU implementations, and the output shapes (`register_fake`).

It uses `torch.library.Library` instead of `custom_op`, because a call takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.runtime.gpu import why_no_gpu

NAMESPACE = "av_stack"
_LIBRARY = torch.library.Library(NAMESPACE, "DEF")


def register(
    schema: str,
    gpu: Callable[..., Any],
    cpu: Callable[..., Any],
    fake: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    keep: Callable[..., None] | None = None,
) -> Callable[..., Any]:
    """Define the operator `schema` ("name(Tensor x) -> Tensor") and return it, ready to be called.

    * `cpu`: also used for GPU tensors on machines where kernels cannot run; the tensors are copied to the host and
      back.
    * `backward(ctx, *gradients)`: returns the gradients of the arguments.
    * `keep(ctx, inputs, output)`: saves the values that `backward` needs; called by keyword
      (`torch.library.register_autograd`).

    Without the last two the operator has no derivative.
    """
    name = schema.split("(", 1)[0]
    _LIBRARY.define(schema)
    _LIBRARY.impl(name, cpu, "CPU")
    _LIBRARY.impl(name, _with_host_fallback(gpu, cpu), "CUDA")
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=_LIBRARY)
    if backward is not None:
        torch.library.register_autograd(f"{NAMESPACE}::{name}", backward, setup_context=keep, lib=_LIBRARY)
    operator: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), name).default
    return operator


def _with_host_fallback(gpu: Callable[..., Any], cpu: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if why_no_gpu() is None:
            return gpu(*arguments)
        device = next(t.device for t in _tensors(arguments))
        result = cpu(*(_moved(argument, "cpu") for argument in arguments))
        return _moved(result, device)

    return call


def _tensors(arguments: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            found.append(argument)
        elif isinstance(argument, (list, tuple)):
            found.extend(_tensors(argument))
    return found


def _moved(value: Any, device: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(part, device) for part in value)
    return value
