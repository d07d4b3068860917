"""Runs detectors over a folder of labelled pictures and writes the report."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from rich.table import Table

from av_core.errors import ConfigError
from av_core.types import CameraImage, CameraModel, Stamp
from av_stack.evaluation.detection import EVERY_SCORE
from av_stack.evaluation.pictures.class_map import load_class_map
from av_stack.evaluation.pictures.label_files import MarkedPicture, read_pictures
from av_stack.evaluation.pictures.scores import ScoredPicture, figures, score_picture
from av_stack.evaluation.pictures.sheet import write_sheet
from av_stack.evaluation.table import Figure
from perception.detection.detector import Detector
from perception.detection.networks import network_for

WIDTH_PX, HEIGHT_PX = 640, 360
"""Input size of the network, px: that of the compact rig. Larger pictures are scaled down to it."""

Report = Mapping[str, Sequence[Figure]]
"""Figures by the label of the weights."""


@dataclass(frozen=True, slots=True)
class PicturesSpec:
    """What to measure: all `weights` run on the pictures in `folder`, on `device` ("cpu" or "cuda").

    `classes` is the name of a class map, or of its YAML file.
    """

    folder: Path
    weights: tuple[Path, ...]
    classes: str = "common"
    device: str = "cpu"


def evaluate_pictures(spec: PicturesSpec, out: Path, tell: Callable[[str], None]) -> Report:
    """Measure each detector of `spec.weights`; writes pictures.json, pictures.md and sheets of mistakes to `out`.

    `tell` is called with the current activity. Raises ConfigError for unusable pictures, labels, class maps or weights.
    """
    class_map = load_class_map(spec.classes)
    pictures = read_pictures(spec.folder)
    for name in {box.name for picture in pictures for box in picture.boxes}:
        class_map.meaning(name)  # an unknown name is an error before anything is loaded
    out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Sequence[Figure]] = {}
    sheets = []
    for label, weights in zip(_labels(spec.weights), spec.weights, strict=True):
        detector = Detector(network_for(weights, WIDTH_PX, HEIGHT_PX, spec.device), EVERY_SCORE)
        scored: list[ScoredPicture] = []
        for number, picture in enumerate(pictures):
            tell(f"{label}: picture {number + 1} of {len(pictures)}")
            scored.append(score_picture(picture, detector.detect(_image(picture)), class_map))
        report[label] = figures(scored, class_map.unlabelled)
        sheet = out / f"worst_{label}.jpg"
        if write_sheet(scored, sheet):
            sheets.append(sheet.name)
    about = {
        "folder": spec.folder.name,
        "pictures": len(pictures),
        "labels": dict(sorted(Counter(box.name for picture in pictures for box in picture.boxes).items())),
        "class map": spec.classes,
        "unlabelled": class_map.unlabelled,
        "device": spec.device,
        "weights_sha256": {
            label: hashlib.sha256(path.read_bytes()).hexdigest()
            for label, path in zip(report, spec.weights, strict=True)
        },
        "sheets": sheets,
    }
    plain = {label: [asdict(figure) for figure in some] for label, some in report.items()}
    (out / "pictures.json").write_text(json.dumps({"about": about, "figures": plain}, indent=1) + "\n")
    (out / "pictures.md").write_text(_markdown(report))
    return report


def _labels(weights: Sequence[Path]) -> list[str]:
    """A label for each weights file: its name, with the folder's name before it if two files have the same name."""
    if len(set(weights)) < len(weights):
        raise ConfigError("--weights: the same file is named twice")
    stems = Counter(path.stem for path in weights)
    return [path.stem if stems[path.stem] == 1 else f"{path.resolve().parent.name}_{path.stem}" for path in weights]


def _image(picture: MarkedPicture) -> CameraImage:
    bgr = cv2.imread(str(picture.path))
    if bgr is None:
        raise ConfigError(f"{picture.path}: cannot be read as a picture")
    camera = CameraModel("picture", bgr.shape[1], bgr.shape[0], 1.0, 0.0, 0.0, 0.0)
    return CameraImage(Stamp(0, 0.0), camera, np.asarray(bgr, dtype=np.uint8))


def _rows(report: Report) -> list[list[str]]:
    """One row for each figure: name, group, number of samples, then the value of each detector."""
    keys = dict.fromkeys((figure.name, figure.group) for some in report.values() for figure in some)
    rows = []
    for key in keys:
        found = [
            next((figure for figure in some if (figure.name, figure.group) == key), None) for some in report.values()
        ]
        count = max(figure.count for figure in found if figure is not None)
        rows.append([*key, str(count), *("" if figure is None else f"{figure.value:.3f}" for figure in found)])
    return rows


def pictures_table(report: Report) -> Table:
    """A table for a terminal, with one column for each detector."""
    table = Table("figure", "over", "samples", *report)
    for row in _rows(report):
        table.add_row(*row)
    return table


def _markdown(report: Report) -> str:
    lines = [f"| figure | over | samples | {' | '.join(report)} |", "|---|---|---:|" + "---:|" * len(report)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in _rows(report))]) + "\n"
