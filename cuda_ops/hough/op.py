"""Hough transform for lines and segments, on torch tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import pi

import torch

from cuda_ops.hough import host, reference
from cuda_ops.hough.host import Grid, Results, Scratch, SegmentRule
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


@dataclass(frozen=True, slots=True)
class HoughLines:
    """Lines found by the Hough transform, most votes first.

    * `lines` (N, 3) float32: rho px, theta rad, votes; zeros after the last line.
    * `count` (2,) int32: number of lines, and 1 if weaker lines were left out, else 0.
    * `segments` (N, 4, 4) int32: x0, y0, x1, y1 px of up to four segments of each line; -1 for missing ones.
    """

    lines: torch.Tensor
    count: torch.Tensor
    segments: torch.Tensor


def hough_lines(
    edges: torch.Tensor,
    votes_min: int,
    rho_step_px: float = 1.0,
    theta_step_rad: float = pi / 180.0,
    limit: int = 64,
    length_min_px: float = 0.0,
    gap_max_px: int = 0,
    has_segments: bool = True,
) -> HoughLines:
    """The lines of cv2.HoughLines, in its order: more than `votes_min` nonzero pixels of `edges` (H, W) uint8 each.

    With `has_segments`, it also returns the first four segments along each line that are at least `length_min_px` long;
    gaps of up to `gap_max_px` are bridged. A pixel belongs to each line that passes through it or beside it.

    In contrast, cv2.HoughLinesP draws points at random and removes the points of each segment that it finds; here,
    neighbouring lines can share a segment. Raises `CudaOpsError` for other shapes, dtypes or ranges.
    """
    edges = check("hough_lines", "edges", edges, [torch.uint8], ["H", "W"])
    check_number("hough_lines", "the larger side of edges", max(edges.shape), 1, host.SIZE_MAX)
    check_number("hough_lines", "rho_step_px", rho_step_px, 0.1, 100.0)
    check_number("hough_lines", "theta_step_rad", theta_step_rad, 1e-3, pi)
    check_number("hough_lines", "votes_min", votes_min, 0, 2**30)
    check_number("hough_lines", "limit", limit, 1, 65536)
    parts = _hough(edges, votes_min, rho_step_px, theta_step_rad, limit, length_min_px, gap_max_px, has_segments)
    return HoughLines(*parts)


_Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@lru_cache(maxsize=32)
def _table(grid: Grid, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(host.directions(grid)).to(device)


def _gpu(
    edges: torch.Tensor,
    votes_min: int,
    rho_step: float,
    theta_step: float,
    limit: int,
    length_min: float,
    gap: int,
    has_segments: bool,
) -> _Parts:
    grid = Grid(edges.shape[1], edges.shape[0], rho_step, theta_step)
    points, bins, peaks = host.scratch_sizes(grid)
    scratch = Scratch(
        edges.new_empty(points, dtype=torch.int32),
        edges.new_empty(bins, dtype=torch.int32),
        edges.new_empty(peaks, dtype=torch.int64),
    )
    lines, segments, count = (
        edges.new_empty((limit, 4), dtype=torch.float32),
        edges.new_empty((limit * has_segments, host.SEGMENTS, 4), dtype=torch.int32),
        edges.new_empty(2, dtype=torch.int32),
    )
    table = _table(grid, edges.device)
    kernels = launcher("hough", edges.get_device())
    results = Results(lines, count, segments if has_segments else None)
    host.run(kernels, edges, grid, table, votes_min, scratch, results, SegmentRule(length_min, gap))
    return lines[:, :3], count, segments


def _cpu(
    edges: torch.Tensor,
    votes_min: int,
    rho_step: float,
    theta_step: float,
    limit: int,
    length_min: float,
    gap: int,
    has_segments: bool,
) -> _Parts:
    grid = Grid(edges.shape[1], edges.shape[0], rho_step, theta_step)
    lines, count = reference.hough_lines(edges.numpy(), grid, votes_min, limit)
    asked = lines[: limit * has_segments]
    segments = reference.segments_along(edges.numpy(), grid, asked, min(int(count[0]), len(asked)), length_min, gap)
    return torch.from_numpy(lines), torch.from_numpy(count), torch.from_numpy(segments)


def _fake(
    edges: torch.Tensor,
    votes_min: int,
    rho_step: float,
    theta_step: float,
    limit: int,
    length_min: float,
    gap: int,
    has_segments: bool,
) -> _Parts:
    return (
        edges.new_empty((limit, 3), dtype=torch.float32),
        edges.new_empty(2, dtype=torch.int32),
        edges.new_empty((limit * has_segments, host.SEGMENTS, 4), dtype=torch.int32),
    )


_hough = register(
    "hough_lines(Tensor edges, int votes_min, float rho_step, float theta_step, int limit, float length_min, "
    "int gap_max, bool has_segments) -> (Tensor, Tensor, Tensor)",
    _gpu,
    _cpu,
    _fake,
)
