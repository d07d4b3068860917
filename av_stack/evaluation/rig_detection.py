"""Detection figures of a rig with several cameras: an object is found if it is detected in any camera's picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from av_core.types import CameraModel
from av_stack.evaluation.detection import CLEAR, CONFIDENCE, PEDESTRIANS, RANGES_M, detection_figure, mean_precision
from av_stack.evaluation.detection_samples import Moment
from av_stack.evaluation.table import Figure
from perception.detection.classes import CLASSES, VEHICLES, light_state
from perception.detection.labels import Label
from perception.detection.measure import Sample, match_labels

VEHICLE_REACH_M, PEDESTRIAN_REACH_M, LIGHT_REACH_M = 80.0, 50.0, 60.0
"""Largest distance at which each kind of object is scored, m."""

LIGHTS = tuple(name for name in CLASSES if light_state(name) is not None)


def rig_figures(moments: Sequence[Moment], rig: Sequence[CameraModel]) -> list[Figure]:
    """All figures: recall over all cameras, by weather and range; precision and light states of each camera."""
    clear = [moment for moment in moments if moment[0].group == CLEAR]
    out = [*_recalls(clear, CLEAR, (0.95, 0.90)), *_recalls(moments, "all presets", (0.85, 0.75))]
    for low, high in RANGES_M:
        out += _recalls(moments, f"{low:.0f}-{high:.0f} m", (None, None), (low, high))
    for number, camera in enumerate(rig):
        own = [moment[number] for moment in moments]
        out += [
            mean_precision(own, f"all presets, {camera.name}", None),
            *_recalls([(sample,) for sample in own], f"all presets, {camera.name} alone", (None, None)),
            _light_states(own, camera.name),
        ]
    return [*out, _best_light_states(moments)]


def seen_by_any(moment: Moment, names: Sequence[str]) -> list[tuple[float, bool]]:
    """(distance, whether found) of each object of the classes `names` that counts in at least one picture.

    A picture in which an object does not count is ignored for this object.
    """
    things: dict[int, tuple[float, bool]] = {}
    for sample in moment:
        for label, hit in zip(*match_labels(sample, names, CONFIDENCE), strict=True):
            distance_m, before = things.get(label.number, (label.distance_m, False))
            things[label.number] = (distance_m, before or hit)
    return list(things.values())


def _recalls(
    moments: Sequence[Moment],
    group: str,
    goals: tuple[float | None, float | None],
    range_m: tuple[float, float] = (0.0, np.inf),
) -> list[Figure]:
    out = []
    for what, names, reach_m, goal in (
        ("vehicles", VEHICLES, VEHICLE_REACH_M, goals[0]),
        ("pedestrians", PEDESTRIANS, PEDESTRIAN_REACH_M, goals[1]),
    ):
        far_m = min(range_m[1], reach_m)
        seen = [hit for m in moments for at, hit in seen_by_any(m, names) if range_m[0] <= at < far_m]
        if range_m[0] < far_m:
            name = f"recall of {what} at IoU 0.5, to {reach_m:.0f} m"
            out.append(detection_figure(name, group, _mean(seen), len(seen), goal))
    return out


def _light_states(samples: Sequence[Sample], camera: str) -> Figure:
    """The fraction of the detected signal heads within reach whose state is right."""
    right = [is_right for sample in samples for is_right, _ in _read_states(sample).values()]
    return detection_figure("state of lights found", f"to {LIGHT_REACH_M:.0f} m, {camera}", _mean(right), len(right))


def _best_light_states(moments: Sequence[Moment]) -> Figure:
    """The same for all cameras together: each head counts once, in the picture in which it is largest."""
    right = []
    for moment in moments:
        best: dict[int, tuple[bool, float]] = {}
        for sample in moment:
            for number, reading in _read_states(sample).items():
                best[number] = max(best.get(number, reading), reading, key=lambda r: r[1])
        right += [is_right for is_right, _ in best.values()]
    return detection_figure("state of lights found", f"to {LIGHT_REACH_M:.0f} m", _mean(right), len(right), 0.98)


def _read_states(sample: Sample) -> dict[int, tuple[bool, float]]:
    """(whether its state is right, its height in px) of each detected head, by the head's number."""
    near = Sample(tuple(x for x in sample.labels if x.distance_m <= LIGHT_REACH_M), sample.found, sample.group)
    labels, found = match_labels(near, LIGHTS, CONFIDENCE)
    _, right = match_labels(near, LIGHTS, CONFIDENCE, any_of=False)
    return {
        label.number: (is_right, _height_px(label))
        for label, is_found, is_right in zip(labels, found, right, strict=True)
        if is_found
    }


def _height_px(label: Label) -> float:
    return label.box_px[3] - label.box_px[1]


def _mean(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")
