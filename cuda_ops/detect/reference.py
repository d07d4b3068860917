"""CPU reference of the detection kernels in numpy: decoding, greedy suppression per class, depth statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_ops.depth.reference import depth_in_boxes
from cuda_ops.detect.host import CAPACITY, DepthView, Results, float_below

Float = NDArray[np.float32]


def dense(heads: NDArray[Any], score_min: float, iou_max: float, limit: int, depth: DepthView | None = None) -> Results:
    """Final boxes of `heads` (B, 4 + classes, anchors): cx, cy, w, h in px of the network's input, then the scores."""
    return _stacked([_dense_one(head.astype(np.float32), score_min, iou_max, limit) for head in heads], limit, depth)


def end_to_end(heads: NDArray[Any], score_min: float, limit: int, depth: DepthView | None = None) -> Results:
    """Final boxes of `heads` (B, rows, 6): x0, y0, x1, y1, score, class."""
    rows = []
    for head in heads.astype(np.float32):
        found = np.flatnonzero((head[:, 4] > np.float32(score_min)) & np.isfinite(head[:, :5]).all(axis=1))
        found = found[np.argsort(-head[found, 4], kind="stable")]
        best = head[found]
        rows.append((best[:, :4], best[:, 4], np.rint(best[:, 5]).astype(np.int32), len(found) > limit))
    return _stacked(rows, limit, depth)


def candidates(head: Float, score_min: float) -> tuple[Float, Float, NDArray[np.int32]]:
    """Candidates before suppression, best first: boxes (N, 4) rounded to 1/64 px, scores (N,), classes (N,)."""
    scores = np.where(np.isnan(head[4:]), -np.inf, head[4:])
    labels = scores.argmax(axis=0).astype(np.int32)
    best = scores.max(axis=0)
    centre, half = head[:2], head[2:4] * np.float32(0.5)
    with np.errstate(invalid="ignore"):
        corners = np.concatenate([centre - half, centre + half]).T * np.float32(64.0)
    boxes = np.floor(corners + np.float32(0.5)) * np.float32(1.0 / 64.0)
    take = np.flatnonzero((best > np.float32(score_min)) & np.isfinite(best) & np.isfinite(boxes).all(axis=1))
    take = take[np.argsort(-best[take], kind="stable")]
    return boxes[take], best[take].astype(np.float32), labels[take]


def keep_set(boxes: Float, labels: NDArray[np.int32], iou_max: float) -> NDArray[np.intp]:
    """Greedy suppression within each class: the indices of the kept boxes, in order; `boxes` are sorted by score."""
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    dropped = np.zeros(len(boxes), dtype=bool)
    kept: list[int] = []
    for i in range(len(boxes)):
        if dropped[i]:
            continue
        kept.append(i)
        low, high = np.maximum(boxes[i, :2], boxes[:, :2]), np.minimum(boxes[i, 2:], boxes[:, 2:])
        side = np.maximum(high - low, np.float32(0.0))
        both = side[:, 0] * side[:, 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            over = both / (area[i] + area - both)
        dropped |= (over > np.float32(float_below(iou_max))) & (labels == labels[i])
    return np.array(kept, dtype=np.intp)


_Row = tuple[Float, Float, NDArray[np.int32], bool]


def _dense_one(head: Float, score_min: float, iou_max: float, limit: int) -> _Row:
    boxes, scores, labels = candidates(head, score_min)
    overflow = len(boxes) > CAPACITY
    boxes, scores, labels = boxes[:CAPACITY], scores[:CAPACITY], labels[:CAPACITY]
    kept = keep_set(boxes, labels, iou_max)
    return boxes[kept], scores[kept], labels[kept], overflow or len(kept) > limit


def _stacked(rows: list[_Row], limit: int, depth: DepthView | None) -> Results:
    images = len(rows)
    results = Results(
        np.zeros((images, limit, 4), np.float32),
        np.zeros((images, limit), np.float32),
        np.full((images, limit), -1, np.int32),
        np.zeros((images, 2), np.int32),
        None if depth is None else np.zeros((images, limit, 3), np.float32),
    )
    for image, (boxes, scores, labels, overflow) in enumerate(rows):
        count = min(len(boxes), limit)
        results.boxes[image, :count] = boxes[:count]
        results.scores[image, :count] = scores[:count]
        results.labels[image, :count] = labels[:count]
        results.counts[image] = count, overflow
        if depth is not None:
            place = np.array([depth.left, depth.top] * 2, np.float32)
            step = np.array([depth.step_x, depth.step_y] * 2, np.float32)
            results.depths[image, :count] = depth_in_boxes(depth.data[image], (boxes[:count] - place) * step)
    return results
