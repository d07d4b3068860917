"""Shifts the scores of vehicles and of people, so that later weights find as many of them as earlier ones.

    python -m benchmarks.unreal.recalibrate OWN --before before.pt --after mixed.pt --out OUT.pt

Training that holds a class to its former outputs still lowers some of its scores a little, and the stack takes only
those above a limit. The shifts (of the logits: one number for all classes of vehicles, one for people) are fitted on
the labelled validation pictures of the data set OWN, on the networks that a CPU runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np
import torch

from av_core.types import Float, Image
from av_stack.evaluation.detection import CONFIDENCE, EVERY_SCORE
from benchmarks.plausibility import NETWORK_PX, overlaps
from perception.detection.classes import CLASSES, VEHICLES
from perception.detection.detector import Detector
from perception.detection.networks import network_for
from perception.detection.offline import ultralytics
from perception.detection.resident import UNLEARNT, read_labelled

IOU_MIN = 0.5
GROUPS = {"vehicles": VEHICLES, "people": ("pedestrian",)}
HEADS = ("cv3", "one2one_cv3")
"""The parts of YOLO26's head that give the scores: for training, and for use."""


def scores(detector: Detector, folder: Path) -> dict[str, Float]:
    """For each group the best score of a detection at each of its objects in the validation pictures; 0 if missed."""
    out: dict[str, list[float]] = {group: [] for group in GROUPS}
    for path in sorted((folder / "images" / "val").glob("*.jpg")):
        rgb, boxes = read_labelled(path)
        found = detector.detect_in(_bgr(rgb))
        for number, *edges in boxes[boxes[:, 0] != UNLEARNT].tolist():
            for group, kinds in GROUPS.items():
                if CLASSES[int(number)] in kinds:
                    box = (edges[0], edges[1], edges[2], edges[3])
                    hits = [one.confidence for one in found if one.name in kinds and overlaps(one, [box])[0] >= IOU_MIN]
                    out[group].append(max(hits, default=0.0))
    return {group: np.array(values) for group, values in out.items()}


def shift_of(before: Float, after: Float, limit: float) -> float:
    """What must be added to the logits of `after`, so that as many scores reach `limit` as in `before`."""
    wanted = int((before >= limit).sum())
    if wanted == 0 or wanted > int((after > 0.0).sum()):
        raise ValueError(f"the later weights see fewer than {wanted} of the objects at any score")
    lowest = float(np.sort(after)[::-1][wanted - 1])
    return max(_logit(limit) - _logit(lowest), 0.0)


def shift(weights: Path, by: Mapping[str, float], out: Path) -> None:
    """Write `weights` with a number added to the logits of each group's classes."""
    ultralytics()
    kept = torch.load(weights, map_location="cpu", weights_only=False)
    model = kept["model"].float()
    rows = {known: number for number, known in model.names.items()}
    with torch.no_grad():
        for part in HEADS:
            for level in getattr(model.model[-1], part):
                for group, amount in by.items():
                    level[-1].bias[[rows[kind] for kind in GROUPS[group]]] += amount
    model.half()
    torch.save(kept, out)


def _bgr(rgb: Image) -> Image:
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), dtype=np.uint8)


def _logit(score: float) -> float:
    return float(np.log(score / (1.0 - score)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("own", type=Path)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    before, after = (
        scores(Detector(network_for(weights, *NETWORK_PX, "cpu"), EVERY_SCORE), told.own)
        for weights in (told.before, told.after)
    )
    by = {group: shift_of(before[group], after[group], CONFIDENCE) for group in GROUPS}
    shift(told.after, by, told.out)
    for group, amount in by.items():
        reached = [float((some[group] >= CONFIDENCE).mean()) for some in (before, after)]
        print(
            f"{group}: {len(before[group])}, found {reached[0]:.3f} before, {reached[1]:.3f} after; shift {amount:.3f}"
        )


if __name__ == "__main__":
    main()
