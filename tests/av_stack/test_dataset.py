"""A small data set, from the real server to files: what training reads, and that nothing is made twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import pytest
import yaml

from av_core.errors import ConfigError
from av_stack.dataset import DatasetSpec, write_dataset
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
