"""Detection metrics: COCO's average precision and recall over the objects that count.

An object that does not count (`classes.HEIGHT_MIN_PX`, `classes.VISIBLE_MIN`) is not a miss if it is not detected. A
detection of its class that matches it is ignored, as in KITTI's "don't care" areas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Detection
from perception.detection.labels import Label

Float = NDArray[np.float64]
IOUS = np.linspace(0.5, 0.95, 10)
"""COCO's thresholds of intersection over union."""

RECALLS = np.linspace(0.0, 1.0, 101)
"""COCO's recall levels."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture's labels and detections; `group` is its weather."""

    labels: tuple[Label, ...]
    found: tuple[Detection, ...]
    group: str


def ious(a: Float, b: Float) -> Float:
    """Intersection over union of boxes (N, 4) and (M, 4) as (u0, v0, u1, v1): (N, M)."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=2)
    areas = (a[:, 2:] - a[:, :2]).prod(axis=1)[:, None] + (b[:, 2:] - b[:, :2]).prod(axis=1)[None]
    return np.asarray(shared / np.maximum(areas - shared, 1e-12))


@dataclass(frozen=True, slots=True)
class Ranked:
    """The detections of one class in one picture.

    * `count`: number of objects that count.
    * `scores`: score of each detection.
    * `outcomes`: for each detection and threshold of `IOUS`, 1 if it is right, 0 if wrong, nan if ignored.
    """

    count: int
    scores: tuple[float, ...]
    outcomes: Float


def average_precision(samples: Sequence[Sample], name: str) -> Float | None:
    """Average precision of class `name` at each of `IOUS`; None if no object of the class counts."""
    return precision_of([ranked(sample, name) for sample in samples])


def ranked(sample: Sample, name: str) -> Ranked:
    """Match the detections of class `name` in one picture with its labels, for `precision_of`."""
    labels = [label for label in sample.labels if label.name == name]
    found = sorted((d for d in sample.found if d.name == name), key=lambda d: -d.confidence)
    count = sum(label.counts for label in labels)
    return Ranked(count, tuple(d.confidence for d in found), _outcomes(found, labels))


def precision_of(pictures: Sequence[Ranked]) -> Float | None:
    """Average precision at each of `IOUS` over pictures; None if no object counts."""
    total = sum(picture.count for picture in pictures)
    if total == 0:
        return None
    scores = np.array([score for picture in pictures for score in picture.scores])
    if not len(scores):
        return np.zeros(len(IOUS))
    together = np.concatenate([picture.outcomes for picture in pictures])[np.argsort(-scores, kind="stable")]
    return np.array([_area(together[:, k], total) for k in range(len(IOUS))])


def match_labels(
    sample: Sample, names: Iterable[str], confidence_min: float, iou_min: float = 0.5, any_of: bool = True
) -> tuple[list[Label], list[bool]]:
    """The counting objects of `names` in the picture, and for each whether a detection matches it.

    With `any_of` a detection of any class in `names` matches (a van detected as a truck is still found).
    """
    wanted = set(names)
    labels = [label for label in sample.labels if label.counts and label.name in wanted]
    found = [d for d in sample.found if d.name in wanted and d.confidence >= confidence_min]
    seen = [False] * len(labels)
    if not labels or not found:
        return labels, seen
    overlap = ious(_edges(found), np.array([label.box_px for label in labels], dtype=np.float64))
    if not any_of:
        overlap *= np.array([[d.name == label.name for label in labels] for d in found])
    for i in np.argsort([-d.confidence for d in found], kind="stable"):
        best = int(np.argmax(overlap[i]))
        if overlap[i, best] >= iou_min:
            seen[best] = True
            overlap[:, best] = 0.0
    return labels, seen


def _edges(found: Sequence[Detection]) -> Float:
    """Boxes (N, 4) in the convention of labels, where pixel edges are at whole numbers.

    In the image frame of a `Detection`, pixel centres are at whole numbers.
    """
    return np.array([d.box_px for d in found], dtype=np.float64) + 0.5


def _outcomes(found: Sequence[Detection], labels: Sequence[Label]) -> Float:
    out = np.zeros((len(found), len(IOUS)))
    if not labels or not found:
        return out
    overlap = ious(_edges(found), np.array([label.box_px for label in labels], dtype=np.float64))
    counts = np.array([label.counts for label in labels])
    for k, iou_min in enumerate(IOUS):
        free = np.ones(len(labels), dtype=bool)
        for i in range(len(found)):
            fits = free & counts & (overlap[i] >= iou_min)
            if fits.any():
                best = int(np.argmax(np.where(fits, overlap[i], -1.0)))
                free[best], out[i, k] = False, 1.0
            elif (~counts & (overlap[i] >= iou_min)).any():
                out[i, k] = np.nan
    return out


def _area(outcome: Float, total: int) -> float:
    """Mean interpolated precision over COCO's 101 recall levels."""
    kept = outcome[~np.isnan(outcome)]
    if not len(kept):
        return 0.0
    right = np.cumsum(kept)
    precision = right / np.arange(1, len(kept) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(right / total, RECALLS - 1e-12)
    return float(np.where(at < len(kept), precision[np.minimum(at, len(kept) - 1)], 0.0).mean())
