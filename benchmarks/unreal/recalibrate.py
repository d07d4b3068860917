"""Shifts the scores of one class, so that later weights find as many of its objects as earlier ones.

    python -m benchmarks.unreal.recalibrate OWN --before before.pt --after mixed.pt --out OUT.pt

Training that holds a class to its former outputs still lowers some of its scores a little, and the stack takes only
those above a limit. The shift (of the logit, one number) is fitted on the labelled validation pictures of the data set
OWN, on the networks that a CPU runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
import torch

from av_core.types import Float, Image
from av_stack.evaluation.detection import CONFIDENCE, EVERY_SCORE
from benchmarks.plausibility import NETWORK_PX, overlaps
from perception.detection.classes import CLASSES
from perception.detection.detector import Detector
from perception.detection.networks import network_for
from perception.detection.offline import ultralytics
from perception.detection.resident import UNLEARNT, read_labelled

IOU_MIN = 0.5
HEADS = ("cv3", "one2one_cv3")
"""The parts of YOLO26's head that give the scores: for training, and for use."""


def scores(detector: Detector, folder: Path, name: str) -> Float:
    """The best score of a detection at each object of a class in the validation pictures; 0 where it was missed."""
    out = []
    for path in sorted((folder / "images" / "val").glob("*.jpg")):
        rgb, boxes = read_labelled(path)
        found = [one for one in detector.detect_in(_bgr(rgb)) if one.name == name]
        for row in boxes[(boxes[:, 0] != UNLEARNT) & (boxes[:, 0] == CLASSES.index(name))]:
            box = (float(row[1]), float(row[2]), float(row[3]), float(row[4]))
            hits = [one.confidence for one in found if float(overlaps(one, [box])[0]) >= IOU_MIN]
            out.append(max(hits, default=0.0))
    return np.array(out)


def shift_of(before: Float, after: Float, limit: float) -> float:
    """What must be added to the logits of `after`, so that as many scores reach `limit` as in `before`."""
    wanted = int((before >= limit).sum())
    if wanted == 0 or wanted > int((after > 0.0).sum()):
        raise ValueError(f"the later weights see fewer than {wanted} of the objects at any score")
    lowest = float(np.sort(after)[::-1][wanted - 1])
    return max(_logit(limit) - _logit(lowest), 0.0)


def shift(weights: Path, name: str, by: float, out: Path) -> None:
    """Write `weights` with `by` added to the logits of a class."""
    ultralytics()
    kept = torch.load(weights, map_location="cpu", weights_only=False)
    model = kept["model"].float()
    row = next(number for number, known in model.names.items() if known == name)
    with torch.no_grad():
        for part in HEADS:
            for level in getattr(model.model[-1], part):
                level[-1].bias[row] += by
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
    parser.add_argument("--kind", default="pedestrian", choices=CLASSES)
    told = parser.parse_args()
    before, after = (
        scores(Detector(network_for(weights, *NETWORK_PX, "cpu"), EVERY_SCORE), told.own, told.kind)
        for weights in (told.before, told.after)
    )
    by = shift_of(before, after, CONFIDENCE)
    shift(told.after, told.kind, by, told.out)
    reached = [float((some >= CONFIDENCE).mean()) for some in (before, after)]
    print(f"{told.kind}: {len(before)} objects; found {reached[0]:.4f} before, {reached[1]:.4f} after; shift {by:.3f}")


if __name__ == "__main__":
    main()
