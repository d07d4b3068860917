"""CPU reference of the depth statistics; the kernel equals it to the bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDE, INNER = 64, np.float32(0.5)


def depth_in_boxes(depth: NDArray[np.float32], boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """(median, interquartile range, number of valid samples) in the middle of each box (N, 4) xyxy px, (N, 3) float32.

    The inner half of width and height is sampled at up to 64 x 64 points; only positive, finite values are valid.
    Quartile i of n sorted samples is the sample at (n - 1) * i // 4. Without a valid sample the row is zeros.
    """
    return np.stack([_one(depth, box) for box in boxes]) if len(boxes) else np.zeros((0, 3), np.float32)


def _one(depth: NDArray[np.float32], box: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width = depth.shape
    margin = (box[2:] - box[:2]) * (np.float32(0.5) - np.float32(0.5) * INNER)
    x = _places(box[0] + margin[0], box[2] - margin[0], width)
    y = _places(box[1] + margin[1], box[3] - margin[1], height)
    values = depth[np.ix_(y, x)]
    values = np.sort(values[np.isfinite(values) & (values > 0.0)])
    if not len(values):
        return np.zeros(3, np.float32)
    first, median, third = (values[(len(values) - 1) * i // 4] for i in (1, 2, 3))
    return np.array([median, third - first, len(values)], np.float32)


def _places(start: np.float32, end: np.float32, size: int) -> NDArray[np.intp]:
    count = int(np.clip(np.ceil(end - start), 1, SIDE))
    share = (np.arange(count, dtype=np.float32) + np.float32(0.5)) / np.float32(count)
    return np.asarray(np.clip(np.floor(start + (end - start) * share).astype(np.intp), 0, size - 1))
