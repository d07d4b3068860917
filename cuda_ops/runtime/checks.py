"""Checks of an operator's arguments; an error is one line: the argument, its actual value and the allowed values."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from cuda_ops.errors import CudaOpsError


def check(
    operator: str,
    name: str,
    tensor: torch.Tensor,
    dtypes: Sequence[torch.dtype],
    shape: Sequence[int | str],
    like: torch.Tensor | None = None,
) -> torch.Tensor:
    """`tensor`, made contiguous. Raises `CudaOpsError` if its dtype, shape or device is not allowed.

    `shape` holds fixed sizes as integers, and free sizes (at least 1) as names. With `like`, both must be on the same
    device.
    """
    if not isinstance(tensor, torch.Tensor):
        raise CudaOpsError(f"{operator}: {name} is a {type(tensor).__name__}, expected a torch tensor")
    wanted = "(" + ", ".join(str(size) for size in shape) + ")"
    if tensor.dtype not in dtypes:
        allowed = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        raise CudaOpsError(f"{operator}: {name} is {str(tensor.dtype).removeprefix('torch.')}, expected {allowed}")
    fits = tensor.dim() == len(shape) and all(
        (size >= 1 if isinstance(want, str) else size == want) for size, want in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        raise CudaOpsError(f"{operator}: {name} has shape {tuple(tensor.shape)}, expected {wanted}, no size 0")
    if tensor.device.type not in ("cpu", "cuda"):
        raise CudaOpsError(f"{operator}: {name} is on {tensor.device}, expected cpu or cuda")
    if like is not None and tensor.device != like.device:
        raise CudaOpsError(f"{operator}: {name} is on {tensor.device}, the other tensors on {like.device}")
    return tensor.contiguous()


def aligned(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a clone if it does not begin at a multiple of 16 bytes, as a slice of another tensor may not."""
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


def check_number(operator: str, name: str, value: float, least: float, most: float) -> float:
    """`value`. Raises `CudaOpsError` if it is not in [least, most]."""
    if not least <= value <= most:
        raise CudaOpsError(f"{operator}: {name} is {value}, allowed is {least} to {most}")
    return value
