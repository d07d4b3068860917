"""A kept set of labelled pictures, and the precision of a network's rows on it. Needs neither a server nor carla."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Detection
from perception.detection.classes import CLASSES
from perception.detection.labels import Label
from perception.detection.measure import Sample, average_precision

SCORE_MIN = 0.001
"""Lowest score of the rows that count, as in docs/detector.md."""


def pictures(folder: Path, rounds: int) -> Iterator[tuple[NDArray[np.uint8], tuple[Label, ...], str]]:
    """Each picture (BGR), its labels and its weather."""
    for number in range(rounds):
        for row in json.loads((folder / f"{number}.json").read_text()):
            labels = tuple(Label(**{**label, "box_px": tuple(label["box_px"])}) for label in row["labels"])
            yield np.asarray(cv2.imread(str(folder / row["picture"])), np.uint8), labels, row["weather"]


def mean_precision(rows: Sequence[NDArray[np.floating[Any]]], labels: Sequence[tuple[Label, ...]]) -> float:
    """mAP50-95 of rows (M, 6): box, score and class, for each picture, as `av_stack.evaluation.detection` has it."""
    samples = [Sample(of, _detections(found), "") for found, of in zip(rows, labels, strict=True)]
    each = [average_precision(samples, name) for name in CLASSES]
    return float(np.mean([precision.mean() for precision in each if precision is not None]))


def _detections(rows: NDArray[np.floating[Any]]) -> tuple[Detection, ...]:
    return tuple(
        Detection(CLASSES[int(number)], (u0 - 0.5, v0 - 0.5, u1 - 0.5, v1 - 0.5), min(score, 1.0))
        for u0, v0, u1, v1, score, number in rows.tolist()
        if score >= SCORE_MIN
    )
