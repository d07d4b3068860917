"""Pyramidal Lucas-Kanade tracking on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.flow import host, reference
from cuda_ops.flow.host import Settings
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

DEFAULT = Settings()


def track_points(
    before: torch.Tensor, after: torch.Tensor, points: torch.Tensor, settings: Settings = DEFAULT
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Track `points` (N, 2) float32 px from `before` to `after`, both (H, W) uint8, by pyramidal Lucas-Kanade.

    Returns positions (N, 2) float32, the mean absolute residual (N,) float32 in grey levels, and a status (N,) uint8,
    1 for points that were found. Raises `CudaOpsError` for other shapes, dtypes or settings.
    """
    before = check("track_points", "before", before, [torch.uint8], ["H", "W"])
    after = check("track_points", "after", after, [torch.uint8], list(before.shape), before)
    points = check("track_points", "points", points, [torch.float32], ["N", 2], before)
    check_number("track_points", "levels", settings.levels, 1, 10)
    check_number("track_points", "reach_px", settings.reach_px, 1, host.REACH_MAX)
    positions, residual, status = _track(
        before, after, points, settings.levels, settings.reach_px, settings.iterations, settings.step_min_px,
        settings.eigenvalue_min,
    )  # fmt: skip
    return positions, residual, status


_Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _empty(points: torch.Tensor) -> _Parts:
    count = points.shape[0]
    return torch.empty_like(points), points.new_empty(count), points.new_empty(count, dtype=torch.uint8)


def _gpu(
    before: torch.Tensor, after: torch.Tensor, points: torch.Tensor, levels: int, reach: int, turns: int, step: float,
    least: float,
) -> _Parts:  # fmt: skip
    height, width = before.shape
    kernels = launcher("flow", before.get_device())
    sizes = host.level_sizes(height, width, levels)
    total = sum(tall * wide for tall, wide in sizes[1:])
    images, halves = (before, after), (before.new_empty(total), before.new_empty(total))
    host.build_pyramids(kernels, images, halves, sizes)
    parts = _empty(points)
    settings = Settings(levels, reach, turns, step, least)
    host.run(kernels, images, halves, (height, width), points, *parts, settings)
    return parts


def _cpu(
    before: torch.Tensor, after: torch.Tensor, points: torch.Tensor, levels: int, reach: int, turns: int, step: float,
    least: float,
) -> _Parts:  # fmt: skip
    settings = Settings(levels, reach, turns, step, least)
    positions, residual, status = reference.track(before.numpy(), after.numpy(), points.numpy(), settings)
    return torch.from_numpy(positions), torch.from_numpy(residual), torch.from_numpy(status)


_track = register(
    "track_points(Tensor before, Tensor after, Tensor points, int levels, int reach, int turns, float step, "
    "float least) -> (Tensor, Tensor, Tensor)",
    _gpu,
    _cpu,
    lambda before, after, points, levels, reach, turns, step, least: _empty(points),
)
