"""Decoding and non-maximum suppression of YOLO heads, with depth statistics, on torch tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from cuda_ops.detect import host, reference
from cuda_ops.detect.host import DepthView, Results, Scratch
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

FLOATS = (torch.float16, torch.float32)
LIMIT_MAX = 4096
Place = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Detections:
    """Final boxes of B images, K rows each, highest score first; rows after the last box are zero with label -1.

    * `boxes` (B, K, 4) float32: xyxy, px of the network's input.
    * `scores` (B, K) float32, `labels` (B, K) int32.
    * `counts` (B, 2) int32: number of boxes, and 1 if candidates of lower score were left out, else 0.
    * `depths` (B, K, 3) float32: median, interquartile range, number of valid samples; None without a depth picture.
    """

    boxes: torch.Tensor
    scores: torch.Tensor
    labels: torch.Tensor
    counts: torch.Tensor
    depths: torch.Tensor | None


def detect_dense(
    heads: torch.Tensor,
    score_min: float = 0.25,
    iou_max: float = 0.7,
    limit: int = 300,
    depth: torch.Tensor | None = None,
    depth_place: Place = (0.0, 0.0, 1.0, 1.0),
) -> Detections:
    """Decode a one-to-many head (B, 4 + classes, anchors) float16 or float32: cx, cy, w, h, then one score per class.

    Greedy non-maximum suppression within each class above `iou_max` keeps the boxes of torchvision.ops.batched_nms on
    corners rounded to 1/64 px. It uses the best `host.CAPACITY` candidates of an image; NaN scores and boxes that are
    not finite are dropped. With `depth` (B, H, W) float32, the depth of each box is measured; network pixel x is at
    (x - left) * step_x in it, where `depth_place` is (left, top, step_x, step_y). Raises `CudaOpsError` for other
    shapes, dtypes or ranges.
    """
    heads = check("detect_dense", "heads", heads, FLOATS, ["B", "4+C", "A"])
    check_number("detect_dense", "classes (size 1 of heads - 4)", heads.shape[1] - 4, 1, 65536)
    check_number("detect_dense", "anchors (size 2 of heads)", heads.shape[2], 1, host.ANCHORS_MAX)
    check_number("detect_dense", "iou_max", iou_max, 0.0, 1.0)
    depth = _checked("detect_dense", heads, score_min, limit, depth)
    return _detections(_dense(heads, score_min, iou_max, limit, depth, list(depth_place)), depth)


def detect_end_to_end(
    heads: torch.Tensor,
    score_min: float = 0.25,
    limit: int = 300,
    depth: torch.Tensor | None = None,
    depth_place: Place = (0.0, 0.0, 1.0, 1.0),
) -> Detections:
    """Decode an end-to-end head (B, rows, 6) float16 or float32: x0, y0, x1, y1, score, class; at most 512 rows.

    Like `detect_dense`, but without suppression and without rounding of the corners.
    """
    heads = check("detect_end_to_end", "heads", heads, FLOATS, ["B", "N", 6])
    check_number("detect_end_to_end", "rows (size 1 of heads)", heads.shape[1], 1, host.ROWS_MAX)
    depth = _checked("detect_end_to_end", heads, score_min, limit, depth)
    return _detections(_end_to_end(heads, score_min, limit, depth, list(depth_place)), depth)


def _checked(
    operator: str, heads: torch.Tensor, score_min: float, limit: int, depth: torch.Tensor | None
) -> torch.Tensor | None:
    check_number(operator, "images (size 0 of heads)", heads.shape[0], 1, host.IMAGES_MAX)
    check_number(operator, "score_min", score_min, 0.0, 1.0)
    check_number(operator, "limit", limit, 1, LIMIT_MAX)
    return (
        None if depth is None else check(operator, "depth", depth, [torch.float32], [heads.shape[0], "H", "W"], heads)
    )


def _detections(parts: tuple[torch.Tensor, ...], depth: torch.Tensor | None) -> Detections:
    boxes, scores, labels, counts, depths = parts
    return Detections(boxes, scores, labels, counts, None if depth is None else depths)


_Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def _empty(heads: torch.Tensor, limit: int, depth: torch.Tensor | None) -> _Parts:
    images = heads.shape[0]
    return (
        heads.new_empty((images, limit, 4), dtype=torch.float32),
        heads.new_empty((images, limit), dtype=torch.float32),
        heads.new_empty((images, limit), dtype=torch.int32),
        heads.new_empty((images, 2), dtype=torch.int32),
        heads.new_empty((images, limit if depth is not None else 0, 3), dtype=torch.float32),
    )


def _dense_gpu(
    heads: torch.Tensor, score_min: float, iou_max: float, limit: int, depth: torch.Tensor | None, place: list[float]
) -> _Parts:
    images, _, anchors = heads.shape
    scratch = Scratch(
        heads.new_empty((images, anchors), dtype=torch.int64),
        heads.new_empty((images, anchors), dtype=torch.int32),
        heads.new_empty((images, host.FOUND_BYTES), dtype=torch.uint8),
    )
    parts = _empty(heads, limit, depth)
    view = None if depth is None else DepthView(depth, *place)
    is_half = heads.dtype == torch.float16
    kernels = launcher("detect", heads.get_device())
    host.run_dense(kernels, heads, is_half, score_min, iou_max, scratch, Results(*parts), view)
    return parts


def _end_to_end_gpu(
    heads: torch.Tensor, score_min: float, limit: int, depth: torch.Tensor | None, place: list[float]
) -> _Parts:
    parts = _empty(heads, limit, depth)
    view = None if depth is None else DepthView(depth, *place)
    kernels = launcher("detect", heads.get_device())
    host.run_end_to_end(kernels, heads, heads.dtype == torch.float16, score_min, Results(*parts), view)
    return parts


def _to_parts(results: Results) -> _Parts:
    depths = np.zeros((len(results.boxes), 0, 3), np.float32) if results.depths is None else results.depths
    arrays = (results.boxes, results.scores, results.labels, results.counts, depths)
    boxes, scores, labels, counts, depths = (torch.from_numpy(array) for array in arrays)
    return boxes, scores, labels, counts, depths


def _dense_cpu(
    heads: torch.Tensor, score_min: float, iou_max: float, limit: int, depth: torch.Tensor | None, place: list[float]
) -> _Parts:
    view = None if depth is None else DepthView(depth.numpy(), *place)
    return _to_parts(reference.dense(heads.numpy(), score_min, iou_max, limit, view))


def _end_to_end_cpu(
    heads: torch.Tensor, score_min: float, limit: int, depth: torch.Tensor | None, place: list[float]
) -> _Parts:
    view = None if depth is None else DepthView(depth.numpy(), *place)
    return _to_parts(reference.end_to_end(heads.numpy(), score_min, limit, view))


_RESULT = "(Tensor, Tensor, Tensor, Tensor, Tensor)"
_dense = register(
    f"detect_dense(Tensor heads, float score_min, float iou_max, int limit, Tensor? depth, float[] place) -> {_RESULT}",
    _dense_gpu,
    _dense_cpu,
    lambda heads, score_min, iou_max, limit, depth, place: _empty(heads, limit, depth),
)
_end_to_end = register(
    f"detect_end_to_end(Tensor heads, float score_min, int limit, Tensor? depth, float[] place) -> {_RESULT}",
    _end_to_end_gpu,
    _end_to_end_cpu,
    lambda heads, score_min, limit, depth, place: _empty(heads, limit, depth),
)
