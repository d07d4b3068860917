"""How much the shipped detectors lose on looks of the embedded server that they never saw.

    python -m benchmarks.looks FOLDER

The same episodes (map, seed, weathers, traffic, props) are rendered once in each look; traffic still differs from run
to run, so the looks' pictures are alike but not the same scenes. FOLDER/looks.json gets, by look and detector, average
precision at IoU 0.5, recall by size and false detections a picture, of vehicles, pedestrians and lights, each as
[value, samples]. FOLDER keeps the labels and detections of each episode, which are not made again.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from av_core.types import CameraImage, Detection, Stamp
from av_stack.dataset import FIRST_HELD_OUT_LOOK
from av_stack.evaluation.detection import EVERY_SCORE
from av_stack.evaluation.detection_samples import FIRST_SEED
from av_stack.evaluation.pictures.class_map import IGNORE, ClassMap, group_of
from av_stack.evaluation.pictures.label_files import Box, MarkedBox, MarkedPicture
from av_stack.evaluation.pictures.scores import figures, score_picture
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, capture
from av_stack.world.carla.client import connect
from perception.detection.classes import CLASSES
from perception.detection.detector import Detector
from perception.detection.networks import network_for
from perception.detection.weights import COMPACT, LARGE

MAPS = ("city_grid", "country_road")
LOOKS = (0, *(FIRST_HELD_OUT_LOOK + number for number in (1, 2, 3)))
WEATHERS = ("ClearNoon", "CloudyNoon", "MidRainSunset", "ClearNight")
SHAPE = CaptureSpec(
    "", FIRST_SEED + 500, views=6, scenes=len(WEATHERS), shots=1, weathers=WEATHERS, guests=12, large_vehicles=6,
    props=24,
)  # fmt: skip
WEIGHTS = {"n": COMPACT, "s": LARGE}
MEANINGS = ClassMap(classes={name: name if group_of(name) else IGNORE for name in CLASSES})
"""Signs are neither right nor wrong."""


@dataclass(frozen=True, slots=True)
class Row:
    """One picture: its labels (name, box, whether it counts) and each detector's detections."""

    labels: tuple[tuple[str, Box, bool], ...]
    found: Mapping[str, tuple[Detection, ...]]


def detect(map_name: str, look: int, detectors: Mapping[str, Detector]) -> list[Row]:
    """The pictures of one map in one look, seen by every detector."""
    options = ["--map", map_name, "--seed", str(SHAPE.seed), "--look", str(look)]
    rows: list[Row] = []
    with ServerProcess(options) as address:
        for shot in capture(connect(address), replace(SHAPE, map_name=map_name), WEATHERS):
            image = CameraImage(Stamp(len(rows), 0.0), shot.camera, shot.bgr)
            labels = tuple((label.name, label.box_px, label.counts) for label in shot.labels)
            rows.append(Row(labels, {name: tuple(one.detect(image)) for name, one in detectors.items()}))
    return rows


def kept_rows(path: Path) -> list[Row]:
    """The rows that `path` keeps."""
    return [
        Row(
            tuple((name, _box(box), counts) for name, box, counts in row["labels"]),
            {
                detector: tuple(Detection(**{**one, "box_px": _box(one["box_px"])}) for one in found)
                for detector, found in row["found"].items()
            },
        )
        for row in json.loads(path.read_text())
    ]


def _box(values: Sequence[float]) -> Box:
    return values[0], values[1], values[2], values[3]


def score(rows: Sequence[Row], detector: str) -> dict[str, tuple[float, int]]:
    """Figures of one detector by name and group: value and number of samples."""
    pictures = []
    for row in rows:
        marked = MarkedPicture(Path(), tuple(MarkedBox(*label) for label in row.labels))
        pictures.append(score_picture(marked, row.found[detector], MEANINGS))
    return {f"{figure.name}, {figure.group}": (round(figure.value, 4), figure.count) for figure in figures(pictures)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    detectors = {
        name: Detector(network_for(path, SHAPE.width_px, SHAPE.height_px, "cpu"), EVERY_SCORE)
        for name, path in WEIGHTS.items()
    }
    for map_name, look in itertools.product(MAPS, LOOKS):
        kept = folder / f"{map_name}-{look}.json"
        if not kept.exists():
            part = kept.with_suffix(".part")
            part.write_text(json.dumps([asdict(row) for row in detect(map_name, look, detectors)]) + "\n")
            part.rename(kept)
            print(f"{map_name}, look {look}: done", flush=True)
    rows = {look: [row for map_name in MAPS for row in kept_rows(folder / f"{map_name}-{look}.json")] for look in LOOKS}
    objects = {look: sum(counts for row in some for *_, counts in row.labels) for look, some in rows.items()}
    about = {"maps": MAPS, "weathers": WEATHERS, "seed": SHAPE.seed, "pictures of each look": len(rows[0]),
             "objects that count": objects}  # fmt: skip
    by_look = {look: {detector: score(some, detector) for detector in WEIGHTS} for look, some in rows.items()}
    (folder / "looks.json").write_text(json.dumps({"about": about, "looks": by_look}, indent=1) + "\n")


if __name__ == "__main__":
    main()
