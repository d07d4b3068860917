"""Measures what a change of the detector costs on own pictures of Town02, which no training used.

    python -m benchmarks.unreal.own_pictures render OWN --maps MAPS
    python -m benchmarks.unreal.own_pictures measure OWN --weights before.pt --weights after.pt --out FILE.json

The pictures are one round of those of `av-stack eval perception --parts detection`: every named preset, with 8 cameras.
They are kept, so that all weights see the same ones. The report also has the differences from the first weights, with
their standard deviations over random choices of the pictures (bootstrap).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_stack.evaluation.detection import CONFIDENCE, EVERY_SCORE, figures
from av_stack.evaluation.detection_samples import FIRST_SEED, GUESTS, VIEWS
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, capture
from av_stack.world.carla.client import connect
from av_stack.world.carla.weather import named_weathers
from benchmarks.plausibility import HELD_BACK, NETWORK_PX
from perception.detection.classes import CLASSES, VEHICLES
from perception.detection.detector import Detector
from perception.detection.labels import Label
from perception.detection.measure import Ranked, Sample, match_labels, precision_of, ranked
from perception.detection.networks import network_for

LABELS_FILE = "labels.json"
DRAWS, DRAWS_OF_PRECISION = 2000, 60
"""Random choices of the pictures for recall, and for average precision, which takes longer."""


def render(out: Path, maps: Path) -> int:
    """Render the pictures into `out`; returns their number."""
    presets = named_weathers()
    out.mkdir(parents=True, exist_ok=True)
    spec = CaptureSpec(
        HELD_BACK, FIRST_SEED, weathers=presets, scenes=len(presets), shots=1, views=VIEWS, guests=GUESTS
    )  # fmt: skip
    rows = []
    with ServerProcess(["--map", HELD_BACK, "--seed", str(FIRST_SEED), "--maps", str(maps)]) as address:
        for number, shot in enumerate(capture(connect(address), spec, presets)):
            cv2.imwrite(str(out / f"{number:04d}.png"), shot.bgr)
            rows.append({"labels": [asdict(label) for label in shot.labels], "group": shot.weather})
    (out / LABELS_FILE).write_text(json.dumps(rows) + "\n")
    return len(rows)


def samples_of(folder: Path, detector: Detector) -> list[Sample]:
    """Labels and detections of every picture. Raises ConfigError where a picture is missing."""
    out = []
    for number, row in enumerate(json.loads((folder / LABELS_FILE).read_text())):
        path = folder / f"{number:04d}.png"
        bgr = cv2.imread(str(path))
        if bgr is None:
            raise ConfigError(f"{path} is not a picture; {folder} was not rendered completely")
        labels = tuple(Label(**{**label, "box_px": tuple(label["box_px"])}) for label in row["labels"])
        out.append(Sample(labels, detector.detect_in(np.asarray(bgr, dtype=np.uint8)), row["group"]))
    return out


def table(samples: Sequence[Sample]) -> dict[str, tuple[float, int | None]]:
    """By figure and group: its value and the number of objects."""
    return {f"{one.name}, {one.group}": (round(one.value, 4), one.count) for one in figures(samples)}


def differences(before: Sequence[Sample], after: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """How recall and mean average precision change, with the standard deviation of each change.

    Recall of objects that the pictures do not show is left out.
    """
    out = {}
    for name, kinds in (("recall of vehicles", VEHICLES), ("recall of pedestrians", ("pedestrian",))):
        first, second = (
            [match_labels(one, kinds, CONFIDENCE)[1] for one in samples] for samples in (before, after)
        )  # fmt: skip
        sums = np.array([[len(a), sum(a), sum(b)] for a, b in zip(first, second, strict=True)], dtype=np.float64)

        def change(chosen: np.ndarray[Any, Any], sums: np.ndarray[Any, Any] = sums) -> float:
            of, was, now = sums[chosen].sum(axis=0)
            return float((now - was) / of)

        if sums[:, 0].any():
            out[name] = _spread(change, len(sums), DRAWS)

    tables = [[[ranked(sample, name) for sample in samples] for name in CLASSES] for samples in (before, after)]

    def precision_change(chosen: np.ndarray[Any, Any]) -> float:
        was, now = (_mean_precision(table, chosen) for table in tables)
        return now - was

    return {**out, "mAP50-95": _spread(precision_change, len(before), DRAWS_OF_PRECISION)}


def _mean_precision(by_class: Sequence[Sequence[Ranked]], chosen: np.ndarray[Any, Any]) -> float:
    each = [precision_of([pictures[i] for i in chosen]) for pictures in by_class]
    return float(np.mean([one.mean() for one in each if one is not None]))


def _spread(change: Callable[[np.ndarray[Any, Any]], float], count: int, draws: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    drawn = [change(rng.integers(count, size=count)) for _ in range(draws)]
    value = change(np.arange(count))
    return {"difference": round(value, 4), "standard deviation": round(float(np.std(drawn)), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("render", "measure"))
    parser.add_argument("own", type=Path)
    parser.add_argument("--maps", type=Path)
    parser.add_argument("--weights", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path)
    told = parser.parse_args()
    if told.what == "render":
        print(f"{render(told.own, told.maps)} pictures in {told.own}/")
        return
    report: dict[str, Any] = {}
    first: list[Sample] | None = None
    for weights in told.weights:
        samples = samples_of(told.own, Detector(network_for(weights, *NETWORK_PX, "cpu"), EVERY_SCORE))
        name = f"{weights.resolve().parent.name}/{weights.stem}"
        report[name] = {"figures": table(samples)}
        if first is not None:
            report[name]["from the first weights"] = differences(first, samples)
        first = first or samples
        told.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
