"""Ranging's own measurement: its noisy boxes are what they are said to be, its figures what was scored."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import av_stack.evaluation.eval_visits as eval_visits
import av_stack.evaluation.perception as evaluation
from av_core.types import CameraModel
from av_stack.evaluation.boxes import BOX_NOISE, NOBODY, NoisyBoxes
from av_stack.evaluation.ranging_scores import DepthSample, IdentitySample, PositionSample, RangingScores, TrackSample
from perception.detection.labels import Label
from sim_configs.load import load_rig

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6)
LABELS = [
    (5, Label("car", (200.0, 150.0, 300.0, 210.0), 1.0, 12.0)),
    (6, Label("bus", (0.0, 90.0, 60.0, 200.0), 1.0, 9.0)),
]


def _boxes(seed: int, pictures: int) -> list[list[tuple[int, tuple[float, ...], str]]]:
    boxes = NoisyBoxes(np.random.default_rng(seed), CAMERA, 0.05)
    return [[(actor, seen.box_px, seen.name) for actor, seen in boxes.look(LABELS)] for _ in range(pictures)]


def test_boxes_are_as_noisy_as_the_result_file_says() -> None:
    pictures = _boxes(1, 6000)
    assert pictures[:50] == _boxes(1, 50) != _boxes(2, 50)
    car = np.array([box for picture in pictures for actor, box, _ in picture if actor == 5])
    sigma = 0.7 * math.sqrt(2.0) * (0.5 + 0.015 * np.array([100.0, 60.0, 100.0, 60.0]))
    assert car.mean(axis=0) == pytest.approx([199.5, 149.5, 299.5, 209.5], abs=0.25)
    assert car.std(axis=0) == pytest.approx(sigma, rel=0.1)
    assert 1.0 - len(car) / 6000 == pytest.approx(0.03, abs=0.01)
    assert {box[0] for picture in pictures for actor, box, _ in picture if actor == 6} == {-0.5}  # the border is sure
    named = [name for picture in pictures for actor, _, name in picture if actor == 5]
    assert named.count("truck") / len(named) == pytest.approx(0.01, abs=0.005)
    false = sum(actor == NOBODY for picture in pictures for actor, _, _ in picture)
    assert false / 6000 == pytest.approx(0.02, abs=0.007)


def test_figures_are_of_the_range_kind_and_motion_they_name() -> None:
    scores = RangingScores(
        ranged=[PositionSample(5.0, -0.1, 1.0), PositionSample(15.0, 0.02, 20.0), PositionSample(41.0, 3.0, 99.0)],
        sighted=[
            TrackSample("car", 5.0, 0.0, 0.0, 0.0, 1.0),
            TrackSample("car", 15.0, 6.0, 2.0, 4.0, 1.0),
            TrackSample("bus", 35.0, 6.0, 4.0, 10.0, 10.0),
            TrackSample("bus", 45.0, 6.0, 90.0, 90.0, 90.0),
            TrackSample("pedestrian", 5.0, 1.0, 90.0, 90.0, 90.0),
        ],
        seen=[
            IdentitySample(1, True),
            IdentitySample(1, False),
            IdentitySample(4, True),
            IdentitySample(21, False),
            IdentitySample(22, False),
        ],
        pixels=[DepthSample("ClearNoon", 0, True, 100, 1.0, 90), DepthSample("WetNoon", 1, False, 100, 5.0, 70)],
    )
    again = RangingScores()
    again.add_raw(json.loads(json.dumps(scores.raw())))
    assert again == scores
    values = {(f.name, f.group): f.value for f in again.figures()}
    speed, nees = "velocity error, RMS", "NEES of velocity, mean (2 is right)"
    assert values[speed, "vehicles to 40 m"] == pytest.approx(math.sqrt(20.0 / 3.0))
    assert values[speed, "moving vehicles to 40 m"] == pytest.approx(math.sqrt(10.0))
    assert (values[speed, "0-10 m"], values[speed, "10-20 m"], values[speed, "30-40 m"]) == (0.0, 2.0, 4.0)
    assert (values[speed, "moving, 30-40 m"], values[speed, "bus"]) == (4.0, 4.0)
    assert not {(speed, "moving, 0-10 m"), (speed, "20-30 m"), (speed, "truck")} & set(values)
    assert values[nees, "moving vehicles to 40 m"] == 7.0
    assert values["share inside the 99 % ellipse", "distances to 40 m"] == 0.5
    assert values["share inside the 99 % ellipse", "vehicles' velocities to 40 m"] == pytest.approx(2.0 / 3.0)
    assert values["identity kept through a gap", "0.2 to 1 s unseen"] == 0.5
    assert values["identities changed", "sightings at most 1 s apart"] == 2.0
    assert values["relative distance error, median", "0-40 m"] == pytest.approx(0.06)
    assert values["AbsRel", "all covered pixels to 40 m"] == pytest.approx(0.03)
    assert values["AbsRel", "road, 0-10 m"] == 0.01
    assert values["AbsRel", "all, WetNoon"] == 0.05
    assert values["share within two sigma", "all covered pixels to 40 m"] == 0.8


def test_a_few_pictures_of_a_drive_among_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eval_visits, "VEHICLES", 8)
    monkeypatch.setattr(eval_visits, "PEOPLE", 5)
    spec = evaluation.EvalSpec(("ranging",), weathers=("ClearNoon",), frames=2)
    said: list[str] = []
    figures = evaluation.evaluate(spec, load_rig("compact"), tmp_path, said.append)
    assert said == ["city_grid-ranging-0 (1 of 1 visits left on city_grid)"]
    depth = next(figure for figure in figures if figure.group == "road pixels to 40 m")
    assert depth.is_met
    assert json.loads((tmp_path / "perception.json").read_text())["machine"]["ranging_boxes"] == BOX_NOISE
