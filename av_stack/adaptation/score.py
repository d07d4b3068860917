"""Measures detectors on the held-back pictures of a collected data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from rich.table import Table

from av_core.errors import ConfigError
from av_stack.evaluation.detection import EVERY_SCORE
from av_stack.evaluation.pictures.class_map import ClassMap
from av_stack.evaluation.pictures.label_files import MarkedBox, MarkedPicture
from av_stack.evaluation.pictures.scores import RECALL_SCORE, TRACK_SCORE, figures, score_picture
from av_stack.evaluation.table import Figure
from perception.detection.classes import CLASSES
from perception.detection.detector import Detector
from perception.detection.networks import TorchNetwork
from perception.detection.weights import COMPACT_SIZE_PX

OWN_NAMES = ClassMap(classes={name: name for name in CLASSES})
FALSE = f"false detections a picture, score {TRACK_SCORE:g} and more"
SHOWN = {
    "vehicles: average precision (AP50)": "vehicle: AP50",
    f"vehicles found (score {RECALL_SCORE:g} and more)": f"vehicle: recall at score {RECALL_SCORE:g}",
    f"people found (score {RECALL_SCORE:g} and more)": f"pedestrian: recall at score {RECALL_SCORE:g}",
    f"false vehicles a picture (score {TRACK_SCORE:g} and more)": f"vehicle: {FALSE}",
    f"false people a picture (score {TRACK_SCORE:g} and more)": f"pedestrian: {FALSE}",
}
"""The rows of the table and of the report: title of the row, and name of the figure."""


def held_back_pictures(folder: Path) -> list[MarkedPicture]:
    """The pictures of a data set's `val` split, each with all its objects, including objects that do not count."""
    paths = sorted((folder / "images" / "val").glob("*.jpg"))
    return [MarkedPicture(path, tuple(_boxes(folder / "objects" / "val" / f"{path.stem}.jsonl"))) for path in paths]


def _boxes(path: Path) -> Iterator[MarkedBox]:
    for line in path.read_text().splitlines():
        row = json.loads(line)
        yield MarkedBox(row["class"], tuple(row["box_px"]), row["counts"])


def measure(
    weights: Path, pictures: list[MarkedPicture], device: str, tell: Callable[[int, int], None]
) -> list[Figure]:
    """Run a detector in torch on labelled pictures and return its figures; `tell(done, all)` is called for each one.

    Raises ConfigError for a picture that cannot be read.
    """
    detector = Detector(TorchNetwork(weights, COMPACT_SIZE_PX, device), EVERY_SCORE)
    scored = []
    for number, picture in enumerate(pictures, 1):
        bgr = cv2.imread(str(picture.path))
        if bgr is None:
            raise ConfigError(f"{picture.path}: cannot be read as a picture")
        scored.append(score_picture(picture, detector.detect_in(np.asarray(bgr, dtype=np.uint8)), OWN_NAMES))
        tell(number, len(pictures))
    return figures(scored)


def shown_rows(before: list[Figure], after: list[Figure]) -> list[dict[str, Any]]:
    """The rows of the table as dictionaries: "figure", "samples", "before" and "after"; a missing value is None."""
    rows: list[dict[str, Any]] = []
    for shown, name in SHOWN.items():
        found = [next((f for f in some if f.name == name and f.group == "all"), None) for some in (before, after)]
        first, second = (None if figure is None else figure.value for figure in found)
        rows.append({"figure": shown, "samples": found[0].count if found[0] else 0, "before": first, "after": second})
    return rows


def table_of(rows: list[dict[str, Any]]) -> Table:
    table = Table("on the held-back pictures", "samples", "before", "after")
    for row in rows:
        values = ("-" if row[when] is None else f"{row[when]:.3f}" for when in ("before", "after"))
        table.add_row(str(row["figure"]), str(row["samples"]), *values)
    return table
