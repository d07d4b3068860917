"""A small data set, from the real server to files: what training reads, and that nothing is made twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import pytest
import yaml

from av_core.errors import ConfigError
from av_stack.dataset import (
    DEFAULT_LOOK_SHARE,
    DESERTED_SHARE,
    FIRST_HELD_OUT_LOOK,
    LOOKS_TRAINING,
    DatasetSpec,
    claim,
    write_dataset,
)
from av_stack.world.carla.capture.shots import CaptureSpec
from perception.detection.classes import CLASSES, HEIGHT_MIN_PX, VISIBLE_MIN

SHAPE = CaptureSpec(
    "", 0, views=3, scenes=2, shots=1, vehicles=25, walkers=4, guests=9, weathers=("ClearNoon", "WetNight")
)
SPEC = DatasetSpec("train", ("city_grid",), 6, SHAPE)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    out = tmp_path_factory.mktemp("data")
    return out, write_dataset([SPEC], out, 1, lambda done, of: None)


def test_pictures_labels_and_objects_belong_together(made: tuple[Path, dict[str, object]]) -> None:
    out, summary = made
    pictures = sorted((out / "images" / "train").glob("*.jpg"))
    assert len(pictures) == summary["frames"] == 6
    table = yaml.safe_load((out / "dataset.yaml").read_text())
    assert list(table["names"].values()) == list(CLASSES)
    kept, weathers = 0, set()
    for path in pictures:
        picture = cv2.imread(str(path))
        assert picture is not None
        assert picture.shape == (360, 640, 3)
        lines = (out / "labels" / "train" / f"{path.stem}.txt").read_text().splitlines()
        objects = [json.loads(line) for line in (out / "objects" / "train" / f"{path.stem}.jsonl").open()]
        counting = [o for o in objects if o["counts"]]
        assert len(lines) == len(counting)
        for line, thing in zip(lines, counting, strict=True):
            number, u, v, w, h = (float(value) for value in line.split())
            assert CLASSES[int(number)] == thing["class"]
            u0, v0, u1, v1 = thing["box_px"]
            assert (640 * u, 360 * v, 640 * w, 360 * h) == pytest.approx(
                ((u0 + u1) / 2, (v0 + v1) / 2, u1 - u0, v1 - v0), abs=1e-3
            )
            assert v1 - v0 >= HEIGHT_MIN_PX
            assert thing["visible"] >= VISIBLE_MIN - 1e-3
        kept += len(counting)
        weathers |= {o["weather"] for o in objects}
    assert kept == summary["objects"]
    assert kept > 10
    assert weathers == {"ClearNoon", "WetNight"}


def test_what_is_there_is_not_made_again_and_other_options_are_refused(made: tuple[Path, dict[str, object]]) -> None:
    out, summary = made
    before = {path: path.stat().st_mtime_ns for path in (out / "images" / "train").iterdir()}
    assert write_dataset([SPEC], out, 1, lambda done, of: None) == summary
    assert {path: path.stat().st_mtime_ns for path in (out / "images" / "train").iterdir()} == before
    with pytest.raises(ConfigError, match="other options"):
        write_dataset([replace(SPEC, capture=replace(SHAPE, vehicles=5))], out, 1, lambda done, of: None)


def test_every_map_is_shown_in_the_default_look_and_in_many_others() -> None:
    shape = replace(LOOKS_TRAINING, views=1, scenes=1, shots=1)
    spec = DatasetSpec("train", ("city_grid", "motorway"), 400, shape, looks=50)
    for name in spec.maps:
        looks = [spec.look(episode) for episode in spec.episodes() if episode.map_name == name]
        assert looks.count(0) == pytest.approx(DEFAULT_LOOK_SHARE * 200, abs=25)
        assert len(set(looks)) > 40
        assert max(looks) == 50
    deserted = [episode.vehicles for episode in spec.episodes() if episode.walkers == 0]
    assert len(deserted) == pytest.approx(DESERTED_SHARE * 400, abs=20)
    assert set(deserted) == {2}
    without = replace(spec, looks=0)
    assert {without.look(episode) for episode in without.episodes()} == {0}
    assert all(episode.vehicles == shape.vehicles for episode in without.episodes())
    assert FIRST_HELD_OUT_LOOK > 1000  # the most that --looks takes


def test_without_pictures_for_validation_the_trainer_is_named_those_for_training(tmp_path: Path) -> None:
    claim(tmp_path, [SPEC, DatasetSpec("val", ("city_grid",), 0, SHAPE)])
    table = yaml.safe_load((tmp_path / "dataset.yaml").read_text())
    assert table["val"] == table["train"] == "images/train"


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes, of which one or both are in look 1, with large vehicles and props near the cameras."""
    out = tmp_path_factory.mktemp("looked")
    shape = replace(SHAPE, scenes=1, weathers=("ClearNoon",), large_vehicles=6, props=12, vehicles=12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("av_stack.dataset.DESERTED_SHARE", 0.0)
        write_dataset([DatasetSpec("train", ("city_grid",), 6, shape, looks=1)], out, 1, lambda done, of: None)
    return out


def test_large_vehicles_near_the_cameras_are_labelled_in_every_look(looked: Path) -> None:
    assert len(list((looked / "images" / "train").glob("*.jpg"))) == 6
    objects = [json.loads(line) for path in (looked / "objects" / "train").iterdir() for line in path.open()]
    near = [thing for thing in objects if thing["class"] in ("truck", "bus", "motorcycle", "bicycle")]
    assert any(thing["counts"] and thing["distance_m"] < 50.0 for thing in near)
