"""Precision and recall of the detector on rendered pictures with true labels (part of `av-stack eval perception`)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, CameraModel, Stamp
from av_stack.evaluation.table import Figure
from perception.detection.classes import CLASSES, VEHICLES, light_state
from perception.detection.detector import Detector
from perception.detection.labels import Label
from perception.detection.measure import Sample, average_precision, match_labels
from perception.tracking.tracker import TrackerConfig

PEDESTRIANS = ("pedestrian",)
CLEAR = "ClearNoon"
EVERY_SCORE = 0.001
"""Minimum score of a detection for average precision, which needs weak detections too."""

CONFIDENCE = TrackerConfig().weak_min
"""Minimum score of a detection for recall: the tracker's minimum."""

RANGES_M = ((0.0, 20.0), (20.0, 40.0), (40.0, 80.0))
LIGHT_RANGE_M = 25.0
DASHCAM_CARS = Path(__file__).parent / "dashcam_cars.json"
"""By picture: boxes (u0, v0, u1, v1) of the cars, marked by hand."""


def figures(samples: Sequence[Sample]) -> list[Figure]:
    """All figures: average precision in all presets and in clear weather, recall by preset and range, light states."""
    by_weather: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_weather[sample.group].append(sample)
    out = [mean_precision(samples, "all presets", 0.60), mean_precision(by_weather[CLEAR], CLEAR, None)]
    for name in CLASSES:
        precision = average_precision(samples, name)
        if precision is not None:
            count = sum(label.counts and label.name == name for s in samples for label in s.labels)
            out.append(detection_figure("AP50-95", name, float(precision.mean()), count))
    out += _recalls(by_weather[CLEAR], CLEAR, (0.95, 0.90)) + _recalls(samples, "all presets", (0.85, 0.75))
    for group, some in ((CLEAR, by_weather[CLEAR]), ("all presets", samples)):
        out += _recalls(some, f"{group}, any score", (None, None), confidence_min=EVERY_SCORE)
    for low, high in RANGES_M:
        out += _recalls(samples, f"{low:.0f}-{high:.0f} m", (None, None), (low, high))
    for weather in sorted(by_weather):
        if weather != CLEAR:
            out += _recalls(by_weather[weather], weather, (None, None))
    return [*out, _light_states(samples)]


def detection_figure(name: str, group: str, value: float, count: int, goal: float | None = None) -> Figure:
    return Figure("detection", name, group, value, count=count, goal=goal, more_is_better=True)


def mean_precision(samples: Sequence[Sample], group: str, goal: float | None) -> Figure:
    """Mean average precision as COCO defines it, over the classes with at least one object that counts."""
    each = [average_precision(samples, name) for name in CLASSES]
    present = [float(p.mean()) for p in each if p is not None]
    count = sum(label.counts for sample in samples for label in sample.labels)
    return detection_figure("mAP50-95", group, float(np.mean(present)) if present else float("nan"), count, goal)


def _recalls(
    samples: Sequence[Sample],
    group: str,
    goals: tuple[float | None, float | None],
    range_m: tuple[float, float] = (0.0, np.inf),
    confidence_min: float = CONFIDENCE,
) -> list[Figure]:
    out = []
    for what, names, goal in (("vehicles", VEHICLES, goals[0]), ("pedestrians", PEDESTRIANS, goals[1])):
        seen: list[bool] = []
        for sample in samples:
            labels, hits = match_labels(sample, names, confidence_min)
            seen += [
                hit for label, hit in zip(labels, hits, strict=True) if range_m[0] <= label.distance_m < range_m[1]
            ]
        value = float(np.mean(seen)) if seen else float("nan")
        out.append(detection_figure(f"recall of {what} at IoU 0.5", group, value, len(seen), goal))
    return out


def _light_states(samples: Sequence[Sample]) -> Figure:
    """The fraction of the detected signal heads within `LIGHT_RANGE_M` whose state is right."""
    lights = tuple(name for name in CLASSES if light_state(name) is not None)
    right = total = 0
    for sample in samples:
        near = tuple(label for label in sample.labels if label.distance_m <= LIGHT_RANGE_M)
        cut = Sample(near, sample.found, sample.group)
        total += sum(match_labels(cut, lights, CONFIDENCE)[1])
        right += sum(match_labels(cut, lights, CONFIDENCE, any_of=False)[1])
    value = right / total if total else float("nan")
    return detection_figure("state of lights found", f"within {LIGHT_RANGE_M:.0f} m", value, total, 0.98)


def dashcam_figures(detector: Detector, pictures: Path) -> list[Figure]:
    """The recall of cars in real dashcam stills; the cars were marked by hand before the detector was tuned.

    `pictures` is the folder with the stills that `DASHCAM_CARS` names. Raises ConfigError if one is missing.
    """
    seen: list[bool] = []
    for name, boxes in json.loads(DASHCAM_CARS.read_text()).items():
        bgr = cv2.imread(str(pictures / name))
        if bgr is None:
            raise ConfigError(f"{pictures / name}: no such picture")
        camera = CameraModel("dashcam", bgr.shape[1], bgr.shape[0], 1.0, 0.0, 0.0, 0.0)
        found = detector.detect(CameraImage(Stamp(0, 0.0), camera, np.asarray(bgr, dtype=np.uint8)))
        labels = tuple(Label("car", (box[0], box[1], box[2], box[3]), 1.0, 0.0) for box in boxes)
        seen += match_labels(Sample(labels, found, name), VEHICLES, CONFIDENCE)[1]
    return [detection_figure("cars found at IoU 0.5", "real stills", float(np.mean(seen)), len(seen))]
