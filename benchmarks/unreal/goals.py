"""Measures detectors on Town02 of CARLA's pictures, which no training saw, by the definitions of the goals.

    python -m benchmarks.unreal.goals DATA/carla_unreal --weights a.pt --weights b.pt --out FILE.json

With `--town` another town is measured, for weights whose training left that one out.

A signal head counts if it faces the camera and is `HEAD_MIN_PX` high or more; it is found at IoU 0.5 by a detection
from which the stack reads lights. Its state is read as the stack reads it, in the detected box. A vehicle that the
labels omit (`omitted.json`) is not false; "by the labels alone" counts it as false. "Checked" are the
false detections that the plausibility check of a single picture lets pass.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from av_core.types import Detection, Image
from av_stack.evaluation.lights import LabelledHead, read_head, unreal_heads
from av_stack.evaluation.pictures.class_map import group_of, load_class_map
from av_stack.evaluation.pictures.label_files import read_pictures
from av_stack.evaluation.pictures.scores import IOU_MIN, LIGHT_SCORE, figures, score_picture
from benchmarks.plausibility import HELD_BACK, NETWORK_PX, judge, overlaps, picture_check, read_picture, unreal_cases
from perception.detection.detector import Detector
from perception.detection.networks import network_for

HEAD_MIN_PX = 16.0
EVERY_SCORE = 0.001
"""Lowest score of detections, for average precision."""


def measure(folder: Path, detector: Detector, town: str = HELD_BACK) -> dict[str, float]:
    """The figures of one detector on the pictures of `town`."""
    classes = load_class_map("carla_objects")
    pictures = {picture.path.stem: picture for picture in read_pictures(folder)}
    heads: dict[str, list[LabelledHead]] = {}
    for head in unreal_heads(folder):
        if not head.is_aside and head.box_px[3] - head.box_px[1] >= HEAD_MIN_PX:
            heads.setdefault(head.picture.stem, []).append(head)
    counts: Counter[str] = Counter()
    scored = []
    for case in unreal_cases(folder):
        if not case.name.startswith(town):
            continue
        bgr = read_picture(case.path)
        found = detector.detect_in(bgr)
        scored.append(score_picture(pictures[case.name], found, classes))
        counts.update(judge(case, found, picture_check(bgr, case.camera, case.pitch_sigma_rad, found))[0])
        counts.update(judge_heads(bgr, heads.get(case.name, []), found))
    out = {
        figure.name: round(figure.value, 4)
        for figure in figures(scored)
        if figure.group == "all" and figure.name.startswith("vehicle")
    }
    for group in ("vehicle", "pedestrian"):
        for when, words in (("before", ""), ("after", ", checked")):
            out[f"{group}: false a picture{words}"] = round(counts[f"{group}, false, {when}"] / len(scored), 4)
    out |= {name: counts[name] for name in ("heads", "heads found", "heads read right", "heads read wrong")}
    return {
        "pictures": len(scored),
        **out,
        "heads: share found": round(counts["heads found"] / max(counts["heads"], 1), 4),
    }


def judge_heads(bgr: Image, heads: Sequence[LabelledHead], found: Sequence[Detection]) -> Counter[str]:
    """How many of the heads in one picture are found, and how their states are read in the detected boxes."""
    counts: Counter[str] = Counter()
    lights = [one for one in found if group_of(one.name) == "light" and one.confidence >= LIGHT_SCORE]
    for head in heads:
        counts["heads"] += 1
        best = max(lights, key=lambda one: float(overlaps(one, [head.box_px])[0]), default=None)
        if best is None or float(overlaps(best, [head.box_px])[0]) < IOU_MIN:
            continue
        counts["heads found"] += 1
        left, top, right, low = best.box_px
        state = read_head(bgr, (left + 0.5, top + 0.5, right + 0.5, low + 0.5))
        counts["heads read right"] += state is head.state
        counts["heads read wrong"] += state is not head.state and state.value != "unknown"
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unreal", type=Path)
    parser.add_argument("--weights", type=Path, action="append", required=True)
    parser.add_argument("--town", default=HELD_BACK)
    parser.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    report = {}
    for weights in told.weights:
        detector = Detector(network_for(weights, *NETWORK_PX, "cpu"), EVERY_SCORE)
        report[f"{weights.resolve().parent.name}/{weights.stem}"] = measure(told.unreal, detector, told.town)
    told.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
