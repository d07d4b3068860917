"""Counts false starts of tracks with and without the plausibility check, on CARLA's pictures and on own ones.

    python -m benchmarks.plausibility render OWN --maps MAPS
    python -m benchmarks.plausibility measure DATA/carla_unreal --own OWN --weights a.pt --weights b.pt --out FILE.json

Every detection of a single picture that scores enough to start a track is counted, first without and then with the
check. The thresholds were tuned on Town01, Town03 and Town04 of CARLA's pictures and on the own pictures of all maps
but Town02; Town02 is held back. CARLA's labels omit people and some vehicles. `unreal/omitted.json` lists
those that the networks of docs/perception.md detect, marked by eye; detections there are not false.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np

from av_core.types import CameraModel, Detection, Image, ObjectKind
from av_stack.evaluation.pictures.class_map import GROUPS, group_of, load_class_map
from av_stack.evaluation.pictures.label_files import Box, read_pictures
from av_stack.evaluation.pictures.scores import COVERED_MIN, IOU_MIN, TRACK_SCORE
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, capture
from av_stack.world.carla.client import connect
from av_stack.world.carla.weather import named_weathers
from perception.depth.ranging import range_objects
from perception.detection.detector import Detector
from perception.detection.labels import Label
from perception.detection.measure import ious
from perception.detection.networks import network_for
from perception.plausibility.check import StartCheck, start_check
from sim_configs.load import load_rig

UNLABELLED = Path(__file__).parent / "unreal" / "omitted.json"
HELD_BACK = "Town02"
NETWORK_PX = (640, 360)

UNREAL = CameraModel("carla_unreal", 640, 380, np.radians(90.0), 0.0, 0.0, 1.7)
"""The camera of CARLA's pictures, which the data set does not describe. The median vanishing point of the lane lines is
row 190 of 380, so the camera looks level. The wheels of a car at the side give the field of view, the height of the
labelled cars the height above the road; both were fitted without Town02."""

UNREAL_PITCH_SIGMA_RAD = np.radians(0.3)
"""Spread of that vanishing point on straight roads: the body's pitch."""

OWN_PITCH_SIGMA_RAD = np.radians(0.8)
"""The carriers of the own pictures brake and accelerate in traffic, and no filter follows their pitch here."""

OWN_MAPS = {"city_grid": 950_001, "country_road": 950_004, "Town01": 950_002, "Town04": 950_000, HELD_BACK: 950_003}
"""Maps and seeds of the own pictures; neither training nor evaluation uses these seeds."""

VIEWS, GUESTS = 8, 24
ROAD_BOXES, ROAD_CLEAR_SCORE = 6, 0.2
"""Boxes tried on the road of one picture, and the score of detections that must not lie there."""

COUNTED = ("vehicle", "pedestrian")


@dataclass(frozen=True, slots=True)
class Case:
    """One picture: `wanted` are boxes by group that must be found, `known` further road users, `ignored` the unclear.

    Boxes are (u0, v0, u1, v1), outer edges.
    """

    name: str
    split: str
    path: Path
    camera: CameraModel
    pitch_sigma_rad: float
    wanted: Mapping[str, Sequence[Box]]
    known: Mapping[str, Sequence[Box]]
    ignored: Sequence[Box]


def render(out: Path, maps: Path) -> None:
    """Render one round of pictures in every preset on each of `OWN_MAPS`, from the camera of the rig compact."""
    rig, presets = load_rig("compact").cameras, named_weathers()
    out.mkdir(parents=True, exist_ok=True)
    for map_name, seed in OWN_MAPS.items():
        done = out / f"{map_name}-{seed}.json"
        if done.exists():
            continue
        spec = CaptureSpec(
            map_name, seed, weathers=presets, scenes=len(presets), shots=1, views=VIEWS, guests=GUESTS
        )  # fmt: skip
        labels = {}
        with ServerProcess(["--map", map_name, "--seed", str(seed), "--maps", str(maps)]) as address:
            for number, shot in enumerate(capture(connect(address), spec, presets, rig)):
                name = f"{map_name}_{seed}_{number:04d}"
                cv2.imwrite(str(out / f"{name}.png"), shot.bgr)
                labels[name] = {"weather": shot.weather, "labels": [asdict(label) for label in shot.labels]}
        done.write_text(json.dumps(labels) + "\n")


def unreal_cases(folder: Path) -> Iterator[Case]:
    """CARLA's pictures; a group that the labels omit has only the marked boxes."""
    classes, marks = load_class_map("carla_objects"), json.loads(UNLABELLED.read_text())
    for picture in read_pictures(folder):
        name = picture.path.stem
        boxes: dict[str, list[Box]] = {group: [] for group in (*GROUPS, "ignore", "cycle")}
        for box in picture.boxes:
            meaning = classes.meaning(box.name)
            boxes[group_of(meaning) or "ignore"].append(box.box_px)
            if meaning in ("bicycle", "motorcycle"):
                boxes["cycle"].append(box.box_px)
        marked = {what: [_outer(box) for box in some] for what, some in marks.get(name, {}).items()}
        split = "CARLA 0.9.5, Town02" if name.startswith(HELD_BACK) else "CARLA 0.9.5, other towns"
        yield Case(
            name, split, picture.path, UNREAL, float(UNREAL_PITCH_SIGMA_RAD), {"vehicle": boxes["vehicle"]},
            {"vehicle": marked.get("vehicle", []), "pedestrian": [*marked.get("pedestrian", []), *boxes["cycle"]]},
            [*boxes["ignore"], *marked.get("unclear", [])],
        )  # fmt: skip


def _outer(box: Sequence[float]) -> Box:
    return box[0], box[1], box[2], box[3]


def own_cases(folder: Path) -> Iterator[Case]:
    """The pictures of `render`. Objects too small or hidden to count are known, but not wanted."""
    (camera,) = load_rig("compact").cameras
    for path in sorted(folder.glob("*.json")):
        split = f"own, {path.stem.partition('-')[0]}"
        for name, about in json.loads(path.read_text()).items():
            labels = [Label(**{**label, "box_px": _outer(label["box_px"])}) for label in about["labels"]]
            groups = {
                group: [label for label in labels if group_of(label.name) == group] for group in COUNTED
            }  # fmt: skip
            yield Case(
                name, split, folder / f"{name}.png", camera, float(OWN_PITCH_SIGMA_RAD),
                {group: [label.box_px for label in some if label.counts] for group, some in groups.items()},
                {group: [label.box_px for label in some if not label.counts] for group, some in groups.items()},
                [],
            )  # fmt: skip


def judge(case: Case, found: Sequence[Detection], check: StartCheck) -> tuple[Counter[str], list[str]]:
    """Counts of one picture's detections that start a track, and a line for each false start that the check lets pass.

    The keys are "GROUP, WHAT, before" and "..., after" the check, where WHAT is "wanted", "found", "false" or "false by
    the labels alone", and "DOUBT: GROUP right" or "wrong" for each detection that the check rejects.
    """
    counts: Counter[str] = Counter()
    lines = []
    hits: dict[tuple[str, str], set[int]] = {(group, when): set() for group in COUNTED for when in ("before", "after")}
    for detection in found:
        group = group_of(detection.name)
        if group not in COUNTED or detection.confidence < TRACK_SCORE:
            continue
        said = check(ObjectKind(detection.name), detection.box_px, detection.confidence)
        wanted = overlaps(detection, case.wanted.get(group, ()))
        is_found = bool((wanted >= IOU_MIN).any())
        is_neither = _is_inside(
            detection, [*case.ignored, *(case.known["pedestrian"] if group == "pedestrian" else [])]
        )
        is_right = is_found or is_neither or bool((overlaps(detection, case.known.get(group, ())) >= IOU_MIN).any())
        whens = ("before", "after") if said.probability >= TRACK_SCORE else ("before",)
        for when in whens:
            if is_found:
                hits[group, when].add(int(np.argmax(wanted)))
            counts[f"{group}, false, {when}"] += not is_right
            if group == "vehicle":
                counts[f"{group}, false by the labels alone, {when}"] += not (is_found or is_neither)
        if len(whens) == 1 and said.doubt is not None:
            counts[f"{said.doubt.name.lower()}: {group} {'right' if is_right else 'wrong'}"] += 1
        elif not is_right:
            box = [round(edge) for edge in detection.box_px]
            lines.append(f"{case.name} {detection.name} {box} {detection.confidence:.2f}")
    for (group, when), indices in hits.items():
        counts[f"{group}, found, {when}"] += len(indices)
    for group, boxes in case.wanted.items():
        counts[f"{group}, wanted"] += len(boxes)
    return counts, lines


def overlaps(detection: Detection, boxes: Sequence[Box]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not boxes:
        return np.zeros(0)
    return np.asarray(ious(np.array([detection.box_px]) + 0.5, np.array(boxes, dtype=np.float64))[0])


def _is_inside(detection: Detection, boxes: Sequence[Box]) -> bool:
    """Whether one of `boxes` covers the detection, as in `eval pictures`."""
    u0, v0, u1, v1 = (edge + 0.5 for edge in detection.box_px)
    area = max((u1 - u0) * (v1 - v0), 1e-9)
    return any(
        max(min(u1, right) - max(u0, left), 0.0) * max(min(v1, low) - max(v0, top), 0.0) >= COVERED_MIN * area
        for left, top, right, low in boxes
    )


def measure(cases: Sequence[Case], detector: Detector) -> dict[str, object]:
    """Figures of one detector by split, and the false starts on `HELD_BACK` that remain."""
    counts: dict[str, Counter[str]] = {}
    pictures: Counter[str] = Counter()
    left: list[str] = []
    for case in cases:
        bgr = read_picture(case.path)
        found = detector.detect_in(bgr)
        check = picture_check(bgr, case.camera, case.pitch_sigma_rad, found)
        of_picture, lines = judge(case, found, check)
        counts.setdefault(case.split, Counter()).update(of_picture)
        pictures[case.split] += 1
        left += [line for line in lines if HELD_BACK in case.split]
    return {"splits": {split: _figures(counts[split], pictures[split]) for split in counts}, "false starts left": left}


def empty_road(cases: Sequence[Case], detector: Detector, rng: np.random.Generator) -> dict[str, float]:
    """The share of boxes on empty road, reported as a car with a score of 0.9, that may not start a track.

    The boxes lie at random where neither labels nor detections are, in CARLA's pictures of the towns not held back.
    """
    tried = rejected = 0
    for case in cases:
        if case.camera is not UNREAL or HELD_BACK in case.split:
            continue
        bgr = read_picture(case.path)
        taken = [box for some in (*case.wanted.values(), *case.known.values()) for box in some] + list(case.ignored)
        taken += [one.box_px for one in detector.detect_in(bgr) if one.confidence >= ROAD_CLEAR_SCORE]
        for _ in range(ROAD_BOXES):
            wide = rng.uniform(120.0, 500.0)
            left, top = rng.uniform(60.0, 600.0 - wide), rng.uniform(205.0, 260.0)
            box = (left, top, left + wide, rng.uniform(top + 50.0, 379.5))
            if not any(_shares_area(box, other) for other in taken):
                tried += 1
                rejected += StartCheck(bgr, None)(ObjectKind.CAR, box, 0.9).probability < TRACK_SCORE
    return {"boxes": tried, "rejected": round(rejected / max(tried, 1), 4)}


def _shares_area(one: Box, other: Box) -> bool:
    return min(one[2], other[2]) > max(one[0], other[0]) and min(one[3], other[3]) > max(one[1], other[1])


def picture_check(bgr: Image, camera: CameraModel, pitch_sigma_rad: float, found: Sequence[Detection]) -> StartCheck:
    """The check as a drive without a map makes it."""
    return start_check(bgr, camera, pitch_sigma_rad, range_objects(found, camera, pitch_sigma_rad))


def _figures(counts: Counter[str], pictures: int) -> dict[str, float]:
    out: dict[str, float] = {"pictures": pictures}
    for group in COUNTED:
        for what in ("false", "false by the labels alone") if group == "vehicle" else ("false",):
            for when in ("before", "after"):
                out[f"{group}: {what} a picture, {when}"] = round(counts[f"{group}, {what}, {when}"] / pictures, 4)
        wanted = counts[f"{group}, wanted"]
        if wanted:
            out[f"{group}: labelled"] = wanted
            for when in ("before", "after"):
                out[f"{group}: recall, {when}"] = round(counts[f"{group}, found, {when}"] / wanted, 4)
    return {**out, **{key: counts[key] for key in sorted(counts) if ": " in key}}


def read_picture(path: Path) -> Image:
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise OSError(f"{path} is not a picture")
    return np.asarray(bgr, dtype=np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    rendering = commands.add_parser("render")
    rendering.add_argument("own", type=Path)
    rendering.add_argument("--maps", type=Path, required=True, help="folder with CARLA's .xodr maps")
    measuring = commands.add_parser("measure")
    measuring.add_argument("unreal", type=Path)
    measuring.add_argument("--own", type=Path)
    measuring.add_argument("--weights", type=Path, action="append", required=True)
    measuring.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    if told.command == "render":
        return render(told.own, told.maps)
    cases = [*unreal_cases(told.unreal), *(own_cases(told.own) if told.own else ())]
    report: dict[str, object] = {
        f"{weights.resolve().parent.name}/{weights.stem}": measure(
            cases, Detector(network_for(weights, *NETWORK_PX, "cpu"))
        )
        for weights in told.weights
    }
    first = Detector(network_for(told.weights[0], *NETWORK_PX, "cpu"), ROAD_CLEAR_SCORE)
    report["boxes on empty road"] = empty_road(cases, first, np.random.default_rng(0))
    told.out.write_text(json.dumps(report, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
