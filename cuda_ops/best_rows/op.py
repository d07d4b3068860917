"""Selects the best detections of a one-to-one head, on torch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

import torch

from cuda_ops.best_rows import host, reference
from cuda_ops.best_rows.host import Level
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

LAST = torch.channels_last


def best_rows(
    boxes: Sequence[torch.Tensor],
    scores: Sequence[torch.Tensor],
    strides: Sequence[float],
    score_min: float = 0.0,
    limit: int = 300,
) -> torch.Tensor:
    """The best detections of a one-to-one head, (N, limit, 6) float32: x0, y0, x1, y1 in px, score, class.

    Rows are sorted by score, best first; unused rows are zeros. Only scores above `score_min` count, never NaN; of
    equal scores the earlier place comes first. For each level of the head:

    * `boxes` (N, 4, H, W) float16: distances from the centre of a pixel to left, top, right and bottom, in strides.
    * `scores` (N, C, H, W) float16: scores before the sigmoid.
    * `strides`: distance of two pixels, px of the picture.

    Raises `CudaOpsError` for other shapes, dtypes or ranges.
    """
    if not 1 <= len(boxes) <= host.LEVELS_MAX or not len(boxes) == len(scores) == len(strides):
        raise CudaOpsError(
            f"best_rows: {len(boxes)} boxes, {len(scores)} scores, {len(strides)} strides, expected 1 to "
            f"{host.LEVELS_MAX} of each"
        )
    images, classes = scores[0].shape[:2]
    for name, tensors, channels in (("boxes", boxes, 4), ("scores", scores, classes)):
        for level, tensor in enumerate(tensors):
            wanted = (images, channels, *scores[level].shape[2:])
            if tensor.dtype != torch.float16 or tensor.shape != wanted or tensor.device != scores[0].device:
                raise CudaOpsError(
                    f"best_rows: {name} of level {level} are {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, "
                    f"expected float16 {wanted} on {scores[0].device}"
                )
    check_number("best_rows", "images", images, 1, host.IMAGES_MAX)
    check_number("best_rows", "limit", limit, 1, host.LIMIT_MAX)
    check_number("best_rows", "score_min", score_min, 0.0, 1.0)
    check_number("best_rows", "places times classes", _pairs(scores), 1, host.PAIRS_MAX)
    result: torch.Tensor = _best_rows(list(boxes), list(scores), [float(one) for one in strides], score_min, limit)
    return result


def _pairs(scores: Sequence[torch.Tensor]) -> int:
    return sum(score.numel() // score.shape[0] for score in scores)


def _before_sigmoid(score: float) -> float:
    return -inf if score <= 0.0 else (inf if score >= 1.0 else log(score / (1.0 - score)))


def _gpu(
    boxes: list[torch.Tensor], scores: list[torch.Tensor], strides: list[float], score_min: float, limit: int
) -> torch.Tensor:
    images, classes = scores[0].shape[:2]
    levels = [
        Level(
            box.contiguous(memory_format=LAST), score.contiguous(memory_format=LAST), score.shape[3],
            score.shape[2] * score.shape[3], stride,
        )
        for box, score, stride in zip(boxes, scores, strides, strict=True)
    ]  # fmt: skip
    rows = scores[0].new_empty((images, limit, 6), dtype=torch.float32)
    keys = scores[0].new_empty(images * _pairs(scores), dtype=torch.int64)
    kernels = launcher("best_rows", scores[0].get_device())
    host.run(kernels, levels, images, classes, _before_sigmoid(score_min), keys, rows, early=True)
    return rows


def _cpu(
    boxes: list[torch.Tensor], scores: list[torch.Tensor], strides: list[float], score_min: float, limit: int
) -> torch.Tensor:
    parts = [[part.permute(0, 2, 3, 1).numpy() for part in tensors] for tensors in (boxes, scores)]
    return torch.from_numpy(reference.best_rows(parts[0], parts[1], strides, _before_sigmoid(score_min), limit))


_best_rows = register(
    "best_rows(Tensor[] boxes, Tensor[] scores, float[] strides, float score_min, int limit) -> Tensor",
    _gpu,
    _cpu,
    lambda boxes, scores, strides, score_min, limit: scores[0].new_empty(
        (scores[0].shape[0], limit, 6), dtype=torch.float32
    ),
)
