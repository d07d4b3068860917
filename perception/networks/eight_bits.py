"""Halves the size of a weights file: large weights are stored in eight bits, with one scale for each output channel.

The file is still a checkpoint of ultralytics that `torch.load` and `ultralytics.YOLO` can read. A weight in it is
pickled as the call `restore(version, levels, scale)`, which returns the tensor in fp16 when the file is read. Small
weights, batch norm and everything else are stored unchanged. The file is then compressed without loss.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from perception.networks.compressed import deflate, is_large, pickle_module

VERSION = 1
"""Version of the format; files of a later version are refused."""

LEVEL_MAX = 127

CLIPS = tuple(1.0 - 0.025 * k for k in range(17))
"""Fractions of a channel's largest magnitude that are tried as its range; the smallest squared error decides."""


def save_eight_bits(checkpoint: dict[str, Any], path: Path) -> None:
    """Write an ultralytics checkpoint to `path`, the large weights of its model in eight bits."""
    torch.save(checkpoint, path, pickle_module=pickle_module(_Pickler))
    deflate(path)


def quantize_weight(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The int8 levels of a weight (channels, ...), and the scale (channels,) float32 of each output channel."""
    rows = weight.detach().float().flatten(1)
    largest = rows.abs().amax(dim=1, keepdim=True).clamp_min(1e-12)
    best_scale, best_error = largest / LEVEL_MAX, torch.full_like(largest, torch.inf)
    for clip in CLIPS:
        scale = clip * largest / LEVEL_MAX
        error = (_levels(rows, scale) * scale - rows).square().sum(dim=1, keepdim=True)
        better = error < best_error
        best_scale, best_error = torch.where(better, scale, best_scale), torch.where(better, error, best_error)
    return _levels(rows, best_scale).to(torch.int8).reshape(weight.shape), best_scale[:, 0]


def restore(version: int, levels: torch.Tensor, scale: torch.Tensor) -> torch.nn.Parameter:
    """The fp16 weight of stored `levels`; called while a file is read.

    Raises ValueError if `version` is not `VERSION`.
    """
    if version != VERSION:
        raise ValueError(f"weights in eight bits of version {version}, while this code reads version {VERSION}")
    rows = levels.float().flatten(1) * scale[:, None]
    return torch.nn.Parameter(rows.reshape(levels.shape).half(), requires_grad=False)


def _levels(rows: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (rows / scale).round().clamp(-LEVEL_MAX, LEVEL_MAX)


class _Pickler(pickle.Pickler):
    """Pickles each large weight as a call of `restore`."""

    def reducer_override(self, value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | Any:
        if is_large(value):
            return restore, (VERSION, *quantize_weight(value))
        return NotImplemented
