"""CPU reference of `best_rows`: sorts all scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def best_rows(
    boxes: Sequence[NDArray[np.float16]],
    scores: Sequence[NDArray[np.float16]],
    strides: Sequence[float],
    least: float,
    limit: int,
) -> NDArray[np.float32]:
    """The best detections, (N, limit, 6) float32: corners, score, class.

    Each level has `boxes` (N, H, W, 4) and `scores` (N, H, W, C). Rows are sorted by score, best first; of equal scores
    the earlier place comes first. Rows after the last score above `least` are zeros.
    """
    images, classes = scores[0].shape[0], scores[0].shape[3]
    rows = np.zeros((images, limit, 6), np.float32)
    corners = np.concatenate([_corners(box, stride) for box, stride in zip(boxes, strides, strict=True)], axis=1)
    for image in range(images):
        values = np.concatenate([score[image].ravel() for score in scores]).astype(np.float32)
        order = np.argsort(-values, kind="stable")  # puts NaN last
        order = order[values[order] > np.float32(least)][:limit]
        rows[image, : len(order), :4] = corners[image, order // classes]
        with np.errstate(over="ignore"):
            rows[image, : len(order), 4] = np.float32(1.0) / (np.float32(1.0) + np.exp(-values[order]))
        rows[image, : len(order), 5] = order % classes
    return rows


def _corners(box: NDArray[np.float16], stride: float) -> NDArray[Any]:
    images, height, width, _ = box.shape
    offset = box.astype(np.float32)
    x = (np.arange(width, dtype=np.float32) + np.float32(0.5))[None, None, :]
    y = (np.arange(height, dtype=np.float32) + np.float32(0.5))[None, :, None]
    sides = [x - offset[..., 0], y - offset[..., 1], x + offset[..., 2], y + offset[..., 3]]
    return (np.stack(sides, axis=-1) * np.float32(stride)).reshape(images, height * width, 4)
