"""Launches the detection kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS, ANCHORS_A_BLOCK, BOXES_A_BLOCK = 256, 32, 1
CAPACITY = 1024
"""Maximum number of candidates per image for suppression: those with the highest scores. A flag says if more exist."""

FOUND_BYTES = CAPACITY * (16 + 8 + 4 + 4 + 4 + CAPACITY // 8)
ROWS_MAX = 512
IMAGES_MAX = 32
ANCHORS_MAX, BLOCKS_MAX = 2**20 - 1, 2**12 - 1  # one 32-bit word counts both


@dataclass(frozen=True, slots=True)
class DepthView:
    """Depth pictures (images, H, W) float32; network pixel x is at (x - left) * step_x in them, y likewise."""

    data: Any
    left: float
    top: float
    step_x: float
    step_y: float


@dataclass(frozen=True, slots=True)
class Results:
    """Output arrays for B images with K rows; `op.Detections` describes them.

    `boxes` (B, K, 4) float32, `scores` (B, K) float32, `labels` (B, K) int32, `counts` (B, 2) int32, `depths` (B, K, 3)
    float32 or None.
    """

    boxes: Any
    scores: Any
    labels: Any
    counts: Any
    depths: Any


@dataclass(frozen=True, slots=True)
class Scratch:
    """Scratch arrays, whose content does not matter.

    `keys` (B, anchors) uint64, `labels` (B, anchors) int32, `found` (B, `FOUND_BYTES`) bytes.
    """

    keys: Any
    labels: Any
    found: Any


def run_dense(
    launcher: Launcher,
    heads: Any,
    is_half: bool,
    score_min: float,
    iou_max: float,
    scratch: Scratch,
    results: Results,
    depth: DepthView | None,
) -> None:
    """Decode `heads` (B, 4 + classes, anchors), suppress overlapping boxes and measure their depth."""
    images, rows, anchors = (int(size) for size in heads.shape)
    kernel = f"detect_dense_{'half' if is_half else 'float'}"
    resident = min(launcher.resident_blocks(kernel, THREADS) // images, BLOCKS_MAX)
    blocks = max(1, min(ceil_div(anchors, ANCHORS_A_BLOCK), resident))
    arguments = [
        Ptr(heads), I32(rows - 4), I32(anchors), F32(score_min), F32(float_below(iou_max)),
        Ptr(scratch.keys), Ptr(scratch.labels), Ptr(scratch.found), Ptr(launcher.control_words()),
        *_results(results, depth),
    ]  # fmt: skip
    launcher.launch(kernel, (blocks, images, 1), THREADS, arguments, cooperative=True)


def run_end_to_end(
    launcher: Launcher, heads: Any, is_half: bool, score_min: float, results: Results, depth: DepthView | None
) -> None:
    """Filter and sort `heads` (B, rows, 6), and measure the depth of the boxes."""
    images, rows = int(heads.shape[0]), int(heads.shape[1])
    blocks = ceil_div(int(results.boxes.shape[1]), BOXES_A_BLOCK) if depth is not None else 1
    arguments = [Ptr(heads), I32(rows), F32(score_min), *_results(results, depth)]
    kernel = f"detect_end_to_end_{'half' if is_half else 'float'}"
    launcher.launch(kernel, (blocks, images, 1), THREADS, arguments, early=True)


def float_below(value: float) -> float:
    """The largest float32 that is at most `value`; a float32 is above it if and only if it is above `value`."""
    nearest = np.float32(value)
    return float(nearest if float(nearest) <= value else np.nextafter(nearest, np.float32(-np.inf)))


def _results(results: Results, depth: DepthView | None) -> list[Argument]:
    arguments: list[Argument] = [
        Ptr(results.boxes), Ptr(results.scores), Ptr(results.labels), Ptr(results.counts), Ptr(results.depths),
        I32(int(results.boxes.shape[1])),
    ]  # fmt: skip
    if depth is None:
        return [*arguments, Ptr(None), I32(0), I32(0), *[F32(0.0)] * 4]
    height, width = int(depth.data.shape[1]), int(depth.data.shape[2])
    place = (depth.left, depth.top, depth.step_x, depth.step_y)
    return [*arguments, Ptr(depth.data), I32(width), I32(height), *(F32(value) for value in place)]
