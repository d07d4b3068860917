"""`av-stack eval pictures`: label formats, class maps, scores and the report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import Detection
from av_stack.evaluation.pictures.class_map import ClassMap, load_class_map
from av_stack.evaluation.pictures.evaluate import PicturesSpec, evaluate_pictures
from av_stack.evaluation.pictures.label_files import Box, MarkedBox, MarkedPicture, read_pictures
from av_stack.evaluation.pictures.scores import figures, mistakes, score_picture
from av_stack.evaluation.pictures.sheet import write_sheet
from perception.detection.weights import COMPACT

WIDTH_PX, HEIGHT_PX = 200, 100
CAR: Box = (20.0, 30.0, 80.0, 70.0)


def picture(folder: Path, name: str = "a.jpg") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    cv2.imwrite(str(path), np.full((HEIGHT_PX, WIDTH_PX, 3), 90, dtype=np.uint8))
    return path


def write_yolo(folder: Path) -> None:
    picture(folder / "images")
    (folder / "labels").mkdir()
    (folder / "labels" / "a.txt").write_text("1 0.25 0.5 0.3 0.4\n")
    (folder / "labels.txt").write_text("bike\nvehicle\n")


def write_voc(folder: Path) -> None:
    picture(folder)
    box = "<xmin>21</xmin><ymin>31</ymin><xmax>80</xmax><ymax>70</ymax>"
    (folder / "a.xml").write_text(
        f"<annotation><object><name>vehicle</name><bndbox>{box}</bndbox></object></annotation>"
    )


def write_coco(folder: Path) -> None:
    picture(folder / "val")
    told = {
        "images": [{"id": 7, "file_name": "a.jpg"}],
        "categories": [{"id": 3, "name": "vehicle"}],
        "annotations": [{"image_id": 7, "category_id": 3, "bbox": [20, 30, 60, 40]}],
    }
    (folder / "instances.json").write_text(json.dumps(told))


def write_kitti(folder: Path) -> None:
    picture(folder / "image_2")
    (folder / "label_2").mkdir()
    (folder / "label_2" / "a.txt").write_text("vehicle 0.00 0 -1.5 20.0 30.0 80.0 70.0 1.5 1.6 3.7 0.5 1.6 20.0 -1.5\n")


@pytest.mark.parametrize("write", [write_yolo, write_voc, write_coco, write_kitti])
def test_every_format_gives_the_same_box(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path)
    (only,) = read_pictures(tmp_path)
    (box,) = only.boxes
    assert (box.name, box.counts) == ("vehicle", True)
    assert box.box_px == pytest.approx(CAR)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 0.25 0.5\n", r"a\.txt:1: not a YOLO label"),
        ("9 0.25 0.5 0.3 0.4\n", r"a\.txt:1: class 9 has no name"),
        ("vehicle 0 0 0 x y z w 1 1 1 1 1 1 1\n", r"a\.txt:1: not a KITTI label"),
    ],
)
def test_a_malformed_label_names_its_file_and_line(text: str, said: str, tmp_path: Path) -> None:
    write_yolo(tmp_path)
    (tmp_path / "labels" / "a.txt").write_text(text)
    with pytest.raises(ConfigError, match=said):
        list(read_pictures(tmp_path))


def test_folders_without_pictures_or_labels_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        read_pictures(tmp_path / "none")
    with pytest.raises(ConfigError, match="no pictures"):
        read_pictures(tmp_path)
    picture(tmp_path)
    with pytest.raises(ConfigError, match="no labels"):
        read_pictures(tmp_path)


def test_class_maps_refuse_what_they_do_not_know(tmp_path: Path) -> None:
    common = load_class_map("common")
    assert common.meaning("Car") == "car"
    with pytest.raises(ConfigError, match="no meaning for zebra"):
        common.meaning("zebra")
    assert load_class_map("coco").meaning("zebra") == "background"
    own = tmp_path / "own.yaml"
    own.write_text("classes: {zebra: horse}\n")
    with pytest.raises(ConfigError, match="zebra means 'horse'"):
        load_class_map(str(own))


def detection(name: str, box: Box, confidence: float = 0.9) -> Detection:
    left, top, right, low = (edge - 0.5 for edge in box)
    return Detection(name, (left, top, right, low), confidence)


def values(boxes: tuple[MarkedBox, ...], found: list[Detection], classes: ClassMap) -> dict[tuple[str, str], float]:
    scored = score_picture(MarkedPicture(Path("a.jpg"), boxes), found, classes)
    return {(figure.name, figure.group): figure.value for figure in figures([scored], classes.unlabelled)}


def test_scores_tell_found_missed_and_false_apart() -> None:
    beside: Box = (120.0, 30.0, 180.0, 70.0)
    boxes = (MarkedBox("car", CAR), MarkedBox("truck", beside), MarkedBox("person", (90.0, 30.0, 100.0, 60.0)))
    found = [detection("bus", CAR), detection("pedestrian", (0.0, 0.0, 10.0, 20.0), 0.6)]
    got = values(boxes, found, load_class_map("common"))
    assert got["vehicle: recall at score 0.25", "all"] == 0.5
    assert got["vehicle: recall at score 0.25", "32-64 px"] == 0.5
    assert got["vehicle: AP50", "all"] == pytest.approx(51 / 101)
    assert got["vehicle: false detections a picture, score 0.5 and more", "all"] == 0.0
    assert got["pedestrian: false detections a picture, score 0.5 and more", "all"] == 1.0
    assert got["pedestrian: recall at score 0.25", "all"] == 0.0


def test_what_the_labels_leave_out_is_neither_right_nor_wrong() -> None:
    classes = ClassMap(classes={"car": "car", "blur": "ignore", "bike": "bicycle"}, unlabelled=("light",))
    boxes = (MarkedBox("blur", CAR), MarkedBox("bike", (120.0, 10.0, 150.0, 90.0)))
    found = [
        detection("car", (30.0, 35.0, 60.0, 60.0)),  # inside the ignored box
        detection("light red", (0.0, 0.0, 10.0, 20.0)),  # a group that is not labelled
        detection("pedestrian", (122.0, 12.0, 148.0, 60.0)),  # the cycle's rider
    ]
    got = values(boxes, found, classes)
    assert not any(name.startswith("light") for name, _ in got)
    assert got["vehicle: false detections a picture, score 0.5 and more", "all"] == 0.0
    assert got["pedestrian: false detections a picture, score 0.5 and more", "all"] == 0.0
    assert values(boxes[1:], found[:1], classes)["vehicle: false detections a picture, score 0.5 and more", "all"] == 1


def test_states_of_lights_are_counted_over_the_heads_found() -> None:
    boxes = tuple(
        MarkedBox(name, (u, 0.0, u + 10.0, 25.0)) for name, u in (("red", 0.0), ("red", 20.0), ("green", 40.0))
    )
    found = [detection("light red", boxes[0].box_px), detection("light yellow", boxes[1].box_px)]
    got = values(boxes, found, load_class_map("common"))
    assert got["light: red heads read as red", "found heads"] == 0.5
    assert got["light: red heads read as yellow", "found heads"] == 0.5
    assert got["light: recall at score 0.15", "all"] == pytest.approx(2 / 3)


def test_the_sheet_shows_mistakes_and_nothing_else(tmp_path: Path) -> None:
    path, classes = picture(tmp_path), load_class_map("common")
    wrong = score_picture(MarkedPicture(path, (MarkedBox("car", CAR),)), [], classes)
    right = score_picture(MarkedPicture(path, (MarkedBox("car", CAR),)), [detection("car", CAR)], classes)
    assert mistakes(wrong).missed == (CAR,)
    assert write_sheet([right, wrong], tmp_path / "sheet.jpg") == 1
    sheet = cv2.imread(str(tmp_path / "sheet.jpg"))
    assert sheet is not None
    assert sheet.shape[1] == 3 * 640
    assert write_sheet([right], tmp_path / "sheet.jpg") == 0
    assert not (tmp_path / "sheet.jpg").exists()


@pytest.mark.skipif("AV_STACK_DATA" not in os.environ, reason="AV_STACK_DATA is not set: no pictures of CARLA's own")
def test_carlas_own_pictures_are_measured_and_reported(tmp_path: Path) -> None:
    source = Path(os.environ["AV_STACK_DATA"]) / "carla_unreal"
    folder = tmp_path / "pictures"
    for part, suffix in (("images", "jpg"), ("labels", "txt")):
        (folder / part).mkdir(parents=True)
        for path in sorted((source / part).glob(f"Town04_*.{suffix}"))[:6]:
            (folder / part / path.name).symlink_to(path)
    (folder / "labels.txt").symlink_to(source / "labels.txt")
    spec = PicturesSpec(folder, (COMPACT,), "carla_objects")
    report = evaluate_pictures(spec, tmp_path / "out", lambda _: None)
    told = json.loads((tmp_path / "out" / "pictures.json").read_text())
    assert told["about"]["pictures"] == 6
    assert told["about"]["unlabelled"] == ["pedestrian"]
    by_name = {(figure.name, figure.group): figure for figure in report["detector_n"]}
    assert by_name["vehicle: AP50", "all"].value > 0.3
    assert "| vehicle: AP50 | all |" in (tmp_path / "out" / "pictures.md").read_text()
