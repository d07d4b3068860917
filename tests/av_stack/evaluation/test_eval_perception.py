"""The whole measurement, small: it runs to its end, goes on where it was stopped, and draws its figures."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

import av_stack.evaluation.perception as evaluation
from av_core.errors import ConfigError
from av_core.types import (
    CameraImage,
    CameraModel,
    GeoReference,
    LaneGraph,
    LaneKey,
    LightState,
    Pose2D,
    Signal,
    SignalKind,
    Stamp,
    TrafficLightView,
)
from av_stack.evaluation.charts import bars
from av_stack.evaluation.health import HealthEvaluation, HealthSample
from av_stack.evaluation.lights import LightEvaluation, StopPlace, is_in_picture
from av_stack.evaluation.table import Figure
from av_stack.world.carla.stand import Place
from sim_configs.load import load_rig

SPEC = evaluation.EvalSpec(("lanes",), weathers=("ClearNoon", "WetSunset"), frames=2, places=1, drives=0)


def test_a_small_run_to_its_end_and_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    figures = evaluation.evaluate(SPEC, load_rig("compact"), tmp_path, said.append)
    assert said == ["city_grid-stand-0 (1 of 1 visits left on city_grid)"]
    groups = {figure.group for figure in figures if figure.name == "TuSimple accuracy"}
    assert groups >= {"ClearNoon", "WetSunset"}
    clear = next(f for f in figures if (f.name, f.group) == ("lateral error at 10 m, median", "ClearNoon"))
    assert clear.value < 0.1
    written = json.loads((tmp_path / "perception.json").read_text())
    assert written["machine"]["map_names"] == ["city_grid"]
    assert list((tmp_path / "figures").glob("*.png"))

    def no_server(*_: object) -> None:
        raise AssertionError("everything was visited already")

    monkeypatch.setattr(evaluation, "ServerProcess", no_server)
    again = evaluation.evaluate(SPEC, load_rig("compact"), tmp_path, said.append)
    assert again == figures
    with pytest.raises(ConfigError, match="holds an evaluation with other settings"):
        evaluation.evaluate(replace(SPEC, seed=78), load_rig("compact"), tmp_path, said.append)


def test_what_cannot_be_measured_is_said() -> None:
    with pytest.raises(ConfigError, match="unknown part lane; there are lanes"):
        evaluation.EvalSpec(("lane",))
    with pytest.raises(ConfigError, match="unknown weather Sunny"):
        evaluation.EvalSpec(weathers=("Sunny",))
    with pytest.raises(ConfigError, match="dashcam needs --dashcam"):
        evaluation.EvalSpec(("dashcam",))
    with pytest.raises(ConfigError, match="--like gpu: allowed are cpu, cuda"):
        evaluation.EvalSpec(like="gpu")


def test_a_rig_is_seen_as_on_the_device_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU by s and in each camera's size, on a CPU by n and in the smallest; what is here makes no difference."""
    asked: list[tuple[str, int, int, str]] = []

    def network(weights: Path, width_px: int, height_px: int, device: str) -> object:
        asked.append((weights.stem, width_px, height_px, device))
        return SimpleNamespace(names=("car",), size_px=(width_px, height_px))

    monkeypatch.setattr(evaluation, "network_for", network)
    monkeypatch.setattr(evaluation, "resolve_device", lambda *_, **__: ("cpu", ""))
    cameras = load_rig("full").cameras[:2]
    for like in ("cuda", "cpu"):
        evaluation._rig_detectors(replace(SPEC, like=like), cameras)
    assert asked == [
        ("detector_s", 1280, 736, "cpu"),
        ("detector_s", 640, 384, "cpu"),
        ("detector_n", 640, 384, "cpu"),
    ]


def test_lights_count_what_was_not_read_as_not_right_and_not_wrong() -> None:
    lights = LightEvaluation()
    stop = StopPlace(Place(Pose2D(0.0, 0.0, 0.0), 0.0), "own", 20.0)
    for read in (LightState.RED, LightState.GREEN, None, LightState.RED):
        views = {} if read is None else {"own": TrafficLightView("own", read)}
        lights.add("ClearNoon", stop, LightState.RED, {**views, "other": TrafficLightView("other", LightState.RED)})
    again = LightEvaluation()
    again.add_raw(json.loads(json.dumps(lights.raw())))
    values = {(f.name, f.group): f.value for f in again.figures()}
    assert values["governing light's state right", "0-25 m"] == 0.5
    assert values["governing light's state wrong", "0-25 m"] == 0.25
    again.add("ClearNoon", stop, LightState.RED, {}, in_picture=False)
    values = {(f.name, f.group): f.value for f in again.figures()}
    assert values["governing light's state right", "0-25 m"] == 0.5
    assert values["left out: outside the picture", "0-25 m"] == pytest.approx(0.2)


def test_a_head_right_above_the_car_is_outside_the_picture() -> None:
    lane, camera = LaneKey(1, 0, -1), load_rig("compact").cameras[0]
    place = Place(Pose2D(0.0, 0.0, 0.0), 0.0)
    seen = []
    for ahead_m in (5.0, 9.0, 20.0):
        signal = Signal("own", SignalKind.TRAFFIC_LIGHT, lane, 0.0, (ahead_m, -2.0))
        graph = LaneGraph("road", {}, (signal,), GeoReference(0.0, 0.0))
        seen.append(is_in_picture(StopPlace(place, "own", ahead_m), graph, camera))
    assert seen == [False, False, True]


def test_health_notices_every_fault_of_a_moving_texture() -> None:
    rng = np.random.default_rng(0)
    texture = cv2.resize(rng.integers(0, 200, (40, 90, 3)).astype(np.uint8), (720, 360), interpolation=cv2.INTER_CUBIC)
    camera = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6)
    samples = [
        HealthSample(
            CameraImage(Stamp(n, 0.05 * n), camera, np.ascontiguousarray(texture[:, 2 * n : 2 * n + 640])), 5.0
        )
        for n in range(8)
    ]
    health = HealthEvaluation()
    health.add("ClearNoon", samples, rng)
    values = {(f.name, f.group): f.value for f in health.figures()}
    assert values.pop(("good pictures taken for faulty", "all")) == 0.0
    assert values.pop(("pictures taken for torn", "a vehicle passes")) == 0.0
    assert len(values) == 6
    assert set(values.values()) == {1.0}


def test_bars_show_every_group() -> None:
    figures = [Figure("a", "x", name, value, "m", goal=0.5) for name, value in (("low", 0.1), ("high", 0.9))]
    picture = bars("a: x", figures)
    assert picture.shape[2] == 3
    lengths = [(picture[34 + 18 * row + 9] != 255).any(axis=1).sum() for row in (0, 1)]
    assert lengths[1] > lengths[0] + 100
