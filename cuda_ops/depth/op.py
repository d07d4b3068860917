"""Depth statistics in boxes, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.depth import host, reference
from cuda_ops.runtime.checks import check
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def depth_in_boxes(depth: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    """(median, interquartile range, number of valid samples) of the depth in the middle of each box, (N, 3) float32.

    `depth` is (H, W) float32, `boxes` (N, 4) float32, xyxy, px. `reference.depth_in_boxes` defines the samples. Raises
    `CudaOpsError` for other shapes or dtypes.
    """
    depth = check("depth_in_boxes", "depth", depth, [torch.float32], ["H", "W"])
    boxes = check("depth_in_boxes", "boxes", boxes, [torch.float32], ["N", 4], depth)
    result: torch.Tensor = _depth_in_boxes(depth, boxes)
    return result


def _gpu(depth: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    out = torch.empty((boxes.shape[0], 3), dtype=torch.float32, device=depth.device)
    host.run(launcher("depth", depth.get_device()), depth, boxes, out)
    return out


def _cpu(depth: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(reference.depth_in_boxes(depth.numpy(), boxes.numpy()))


_depth_in_boxes = register(
    "depth_in_boxes(Tensor depth, Tensor boxes) -> Tensor",
    _gpu,
    _cpu,
    lambda depth, boxes: boxes.new_empty((boxes.shape[0], 3)),
)
