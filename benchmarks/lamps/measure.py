"""Confusion tables, calibration and cost of the states read in single heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from av_core.types import Image
from av_stack.evaluation.lights import LabelledHead, read_head
from benchmarks.lamps.heads import read_picture, shaken, size_group
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import HeadModel, head_probabilities

Float = NDArray[np.float64]
Table = dict[str, dict[str, int]]

BIN_EDGES = (0.0, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Ranges of confidence in the reliability table."""

REPEATS = 3
"""Readings of each head in the reliability table, each in a box with another error."""


def confusion(
    heads: Sequence[LabelledHead], rng: np.random.Generator, shake: bool, model: HeadModel | None = None
) -> Table:
    """How often each state was read, by "source, height range, true state"; `shake` gives boxes a random error."""
    table: dict[str, Counter[str]] = {}
    pictures = _Pictures()
    for head in heads:
        box = shaken(head.box_px, rng) if shake else head.box_px
        read = read_head(pictures.of(head), box, model)
        name = f"{head.source}, {size_group(head)}, {head.state.value}{' aside' if head.is_aside else ''}"
        table.setdefault(name, Counter())[read.value] += 1
    return {name: dict(sorted(table[name].items())) for name in sorted(table)}


def summary(table: Table) -> dict[str, Any]:
    """Totals over lit heads of 16 px and more that face the camera: right, and wrong readings of reds."""
    rows = [(name, row) for name, row in table.items() if "9-16" not in name and not name.endswith(("aside", "off"))]
    count = sum(sum(row.values()) for _, row in rows)
    right = sum(row.get(name.rpartition(" ")[2], 0) for name, row in rows)
    red = Counter[str]()
    for name, row in rows:
        if name.endswith("red"):
            red.update(row)
    return {
        "heads": count,
        "right": right,
        "right_share": round(right / max(count, 1), 4),
        "reds": red.total(),
        "red_as_green": red["green"],
        "red_as_yellow": red["yellow"],
        "unread": sum(row.get("unknown", 0) for _, row in rows),
    }


def calibration(heads: Sequence[LabelledHead], rng: np.random.Generator, model: HeadModel) -> dict[str, Any]:
    """Expected calibration error and reliability table of the likeliest state's probability, in boxes with errors."""
    confidence, right = [], []
    pictures = _Pictures()
    for head in heads:
        for _ in range(REPEATS):
            probabilities = head_probabilities(pictures.of(head), shaken(head.box_px, rng), model)
            if probabilities is not None:
                confidence.append(float(probabilities.max()))
                right.append(LIGHT_STATES[int(probabilities.argmax())] is head.state)
    told, is_right = np.array(confidence), np.array(right, dtype=np.float64)
    rows, error = [], 0.0
    for low, high in pairwise(BIN_EDGES):
        within = (told > low) & (told <= high)
        if within.any():
            mean, share = float(told[within].mean()), float(is_right[within].mean())
            error += float(within.mean()) * abs(mean - share)
            rows.append(
                {"to": high, "readings": int(within.sum()), "confidence": round(mean, 3), "right": round(share, 3)}
            )
    return {"readings": len(told), "expected_calibration_error": round(error, 4), "reliability": rows}


def cost_ms(heads: Sequence[LabelledHead], count: int = 2000) -> dict[str, float]:
    """Median wall time, ms, of one reading of one head with the shipped coefficients, by height range."""
    out: dict[str, float] = {}
    for head in heads:
        if size_group(head) in out:
            continue
        bgr, times = read_picture(head.picture), []
        for _ in range(count):
            start = perf_counter()
            head_probabilities(bgr, head.box_px)
            times.append(perf_counter() - start)
        out[size_group(head)] = round(1e3 * float(np.median(times)), 4)
    return dict(sorted(out.items()))


class _Pictures:
    """Reads pictures, and keeps the last one."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._bgr: Image = np.zeros((0, 0, 3), np.uint8)

    def of(self, head: LabelledHead) -> Image:
        if head.picture != self._path:
            self._path, self._bgr = head.picture, read_picture(head.picture)
        return self._bgr
