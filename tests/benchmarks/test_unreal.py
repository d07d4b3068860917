"""The tools for CARLA's own pictures: towns held back, mixed weights in float32, and changes with their spread."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import Detection
from benchmarks.unreal.finetune import BOXES, mix, unreal_pictures
from benchmarks.unreal.own_pictures import LABELS_FILE, differences, samples_of
from benchmarks.unreal.shares import Float32Network
from perception.detection.detector import Detector
from perception.detection.labels import Label
from perception.detection.measure import Sample
from perception.detection.networks import TorchNetwork
from perception.detection.offline import ultralytics

WEIGHTS = Path(__file__).parents[2] / "perception" / "weights" / "detector_n.pt"
CAR = Label("car", (10.0, 10.0, 50.0, 40.0), 1.0, 20.0)
FOUND = Detection("car", (9.5, 9.5, 49.5, 39.5), 0.9)


def test_a_town_can_be_left_out_of_training(tmp_path: Path) -> None:
    names = list(json.loads(BOXES.read_text()))
    (tmp_path / "images").mkdir()
    for name in names:
        cv2.imwrite(str(tmp_path / "images" / f"{name}.jpg"), np.zeros((8, 8, 3), np.uint8))
    every, without = unreal_pictures(tmp_path, "cpu"), unreal_pictures(tmp_path, "cpu", "Town01")
    left_out = sum(name.startswith("Town01") for name in names)
    assert 0 < left_out < len(names)
    assert len(every.boxes) - len(without.boxes) == left_out == len(every.rgb) - len(without.rgb)


def test_the_network_in_float32_gives_the_rows_of_a_drive(tmp_path: Path) -> None:
    ultralytics()
    mixed = tmp_path / "same.pt"
    mix(WEIGHTS, [f"{WEIGHTS}=1"], mixed)
    picture = np.random.default_rng(1).integers(0, 256, (96, 160, 3), dtype=np.uint8)
    rows = Float32Network(mixed, (160, 96), "cpu").start(picture)()
    expected = TorchNetwork(WEIGHTS, (160, 96), "cpu").start(picture)()
    assert np.allclose(rows[:10], expected[:10], atol=0.02)


def test_a_lost_object_is_a_loss_with_a_spread() -> None:
    seen, missed = Sample((CAR,), (FOUND,), "ClearNoon"), Sample((CAR,), (), "ClearNoon")
    assert differences([seen] * 8, [seen] * 8)["recall of vehicles"] == {"difference": 0.0, "standard deviation": 0.0}
    change = differences([seen] * 8, [*[seen] * 6, missed, missed])["recall of vehicles"]
    assert change["difference"] == -0.25
    assert 0.1 < change["standard deviation"] < 0.2  # of a mean of 8: sqrt(0.25 * 0.75 / 8) = 0.153


def test_a_missing_picture_is_named(tmp_path: Path) -> None:
    ultralytics()
    (tmp_path / LABELS_FILE).write_text(json.dumps([{"labels": [], "group": "ClearNoon"}]))
    with pytest.raises(ConfigError, match="is not a picture; "):
        samples_of(tmp_path, Detector(Float32Network(WEIGHTS, (160, 96), "cpu")))
