"""Checks of an operator's tensors; each failure is one line that names the tensor, what it is and what it may be."""

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
    """`tensor` made contiguous; raises `CudaOpsError` unless dtype, shape and device fit.

    `shape` holds sizes, or names of sizes that may be anything from 1.
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
    """The tensor, moved if it does not begin at a multiple of 16 bytes, as a part of another may not."""
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


def check_number(operator: str, name: str, value: float, least: float, most: float) -> float:
    """`value`; raises `CudaOpsError` unless it is in [least, most]."""
    if not least <= value <= most:
        raise CudaOpsError(f"{operator}: {name} is {value}, allowed is {least} to {most}")
    return value
