"""Scores one detector on labelled pictures: precision, recall by size, false detections, states of lights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from av_core.types import Detection
from av_stack.evaluation.pictures.class_map import BACKGROUND, GROUPS, IGNORE, ClassMap, group_of
from av_stack.evaluation.pictures.label_files import MarkedBox, MarkedPicture
from av_stack.evaluation.table import Figure
from perception.detection.classes import light_state
from perception.detection.labels import Label
from perception.detection.measure import Sample, average_precision, ious, match_labels
from perception.tracking.tracker import TrackerConfig

PART = "pictures"
IOU_MIN = 0.5
RECALL_SCORE = 0.25
"""Minimum score of a detection for recall, except for lights."""

LIGHT_SCORE = TrackerConfig().weak_min
"""Minimum score of a detection for the recall of lights: the stack's minimum for reading a light."""

TRACK_SCORE = TrackerConfig().sure_min
"""Minimum score of a false detection that is counted: the tracker's minimum for starting a track."""

HEIGHTS_PX = (8.0, 16.0, 32.0, 64.0, 128.0, inf)
"""Edges of the bands of box height for which recall is reported, px."""

COVERED_MIN = 0.5
"""A detection is ignored when at least this share of its area lies inside an ignored box."""

CYCLES = ("bicycle", "motorcycle")
STATES = ("red", "yellow", "green", "off")


@dataclass(frozen=True, slots=True)
class ScoredPicture:
    """One picture with the labels and detections of the measured groups.

    * `truth`: the labels, named by their meaning.
    * `grouped`: labels and detections, named by their group.
    * `names`: the detector's class of each detection in `grouped.found`.
    """

    picture: MarkedPicture
    truth: tuple[Label, ...]
    grouped: Sample
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Mistakes in one picture: boxes (u0, v0, u1, v1) px of missed labels, and detections that match no label."""

    missed: tuple[tuple[float, float, float, float], ...]
    false: tuple[Detection, ...]


def score_picture(picture: MarkedPicture, found: Iterable[Detection], classes: ClassMap) -> ScoredPicture:
    """Sort labels and detections of a picture into the measured groups; ignored labels and detections are dropped.

    Raises ConfigError for a label whose name is not in `classes`.
    """
    labels, ignored, cycles = [], [], []
    for box in picture.boxes:
        meaning = classes.meaning(box.name)
        if meaning == IGNORE:
            ignored.append(box.box_px)
        elif meaning != BACKGROUND:
            labels.append(_label(box, meaning))
        if meaning in CYCLES:
            cycles.append(box.box_px)
    grouped, names = [], []
    for detection in found:
        group = group_of(detection.name)
        inside = ignored + (cycles if group == "pedestrian" else [])  # a cycle's box includes its rider
        if group is not None and group not in classes.unlabelled and not _is_covered(detection, inside):
            grouped.append(replace(detection, name=group))
            names.append(detection.name)
    truth = tuple(label for label in labels if group_of(label.name) not in (None, *classes.unlabelled))
    sample = Sample(tuple(replace(label, name=group_of(label.name) or "") for label in truth), tuple(grouped), "")
    return ScoredPicture(picture, truth, sample, tuple(names))


def _label(box: MarkedBox, meaning: str) -> Label:
    return Label(meaning, box.box_px, 1.0 if box.counts else 0.0, 0.0)


def _is_covered(detection: Detection, ignored: Sequence[tuple[float, float, float, float]]) -> bool:
    u0, v0, u1, v1 = (edge + 0.5 for edge in detection.box_px)
    area = max((u1 - u0) * (v1 - v0), 1e-9)
    return any(
        max(min(u1, right) - max(u0, left), 0.0) * max(min(v1, low) - max(v0, top), 0.0) >= COVERED_MIN * area
        for left, top, right, low in ignored
    )


def figures(pictures: Sequence[ScoredPicture], unlabelled: Sequence[str] = ()) -> list[Figure]:
    """The figures of one detector, without those of the `unlabelled` groups."""
    samples = [picture.grouped for picture in pictures]
    out = []
    for group in GROUPS:
        if group in unlabelled:
            continue
        count = sum(label.counts and label.name == group for sample in samples for label in sample.labels)
        precision = average_precision(samples, group)
        if precision is not None:
            out.append(_figure(f"{group}: AP50", "all", float(precision[0]), count))
            out.append(_figure(f"{group}: AP50-95", "all", float(precision.mean()), count))
            out += _recalls(samples, group)
        false = sum(detection.name == group for picture in pictures for detection in mistakes(picture).false)
        name = f"{group}: false detections a picture, score {TRACK_SCORE:g} and more"
        out.append(Figure(PART, name, "all", false / max(len(pictures), 1), count=len(pictures)))
    return out + _states(pictures)


def _figure(name: str, group: str, value: float, count: int) -> Figure:
    return Figure(PART, name, group, value, count=count, more_is_better=True)


def _recalls(samples: Sequence[Sample], group: str) -> list[Figure]:
    score = LIGHT_SCORE if group == "light" else RECALL_SCORE
    heights: list[float] = []
    seen: list[bool] = []
    for sample in samples:
        labels, hits = match_labels(sample, (group,), score, IOU_MIN)
        heights += [label.box_px[3] - label.box_px[1] for label in labels]
        seen += hits
    name, of, hit = f"{group}: recall at score {score:g}", np.array(heights), np.array(seen, dtype=bool)
    out = [_figure(name, "all", float(hit.mean()) if len(hit) else float("nan"), len(hit))]
    for low, high in pairwise(HEIGHTS_PX):
        within = (of >= low) & (of < high)
        if within.any():
            size = f"{low:g} px and more" if high == inf else f"{low:g}-{high:g} px"
            out.append(_figure(name, size, float(hit[within].mean()), int(within.sum())))
    return out


def mistakes(picture: ScoredPicture) -> Mistakes:
    """The labels without a detection at the scores for recall, and the false detections at `TRACK_SCORE` or more."""
    missed = []
    for group in GROUPS:
        score = LIGHT_SCORE if group == "light" else RECALL_SCORE
        labels, hits = match_labels(picture.grouped, (group,), score, IOU_MIN)
        missed += [label.box_px for label, hit in zip(labels, hits, strict=True) if not hit]
    strong = [detection for detection in picture.grouped.found if detection.confidence >= TRACK_SCORE]
    return Mistakes(tuple(missed), tuple(one for one in strong if not _fits_any(one, picture.grouped.labels)))


def _fits_any(detection: Detection, labels: Sequence[Label]) -> bool:
    """Whether the detection overlaps a label of its group. A second detection of the same object is not false."""
    same = [label.box_px for label in labels if label.name == detection.name]
    return bool(same) and bool((_overlaps(detection, same) >= IOU_MIN).any())


def _overlaps(detection: Detection, boxes: Sequence[tuple[float, float, float, float]]) -> NDArray[np.float64]:
    return np.asarray(ious(np.array([detection.box_px]) + 0.5, np.array(boxes, dtype=np.float64))[0])


def _states(pictures: Sequence[ScoredPicture]) -> list[Figure]:
    """How often the detector gives each state to the found signal heads of each labelled state."""
    read: Counter[tuple[str, str]] = Counter()
    for picture in pictures:
        lights = [
            (detection, name)
            for detection, name in zip(picture.grouped.found, picture.names, strict=True)
            if detection.name == "light" and detection.confidence >= LIGHT_SCORE
        ]
        for label in picture.truth:
            true = light_state(label.name)
            if true is None or not label.counts or not lights:
                continue
            overlap = [float(_overlaps(detection, [label.box_px])[0]) for detection, _ in lights]
            best = int(np.argmax(overlap))
            state = light_state(lights[best][1])
            if overlap[best] >= IOU_MIN and state is not None:
                read[true.value, state.value] += 1
    out = []
    for shown in STATES:
        total = sum(count for (true_state, _), count in read.items() if true_state == shown)
        for said in STATES:
            if total and (said == shown or read[shown, said]):
                out.append(
                    _figure(f"light: {shown} heads read as {said}", "found heads", read[shown, said] / total, total)
                )
    return out
