"""A recorded drive in another weather: the same world, and what perception sees of it, in pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import (
    CameraModel,
    EgoState,
    LaneEstimate,
    LightState,
    ObjectKind,
    Pose2D,
    Scene,
    Stamp,
    TrackedObject,
    TrafficLightView,
    Truth,
)
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import SETUP
from av_stack.recording.recorder import RECORDING
from av_stack.replay.other_weather import WeatherOptions, load_other_weather
from av_stack.replay.perception_scores import StepScore, score_step
from av_stack.replay.recorded_drive import read_drive
from av_stack.replay.weather_report import Pair, compare
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from perception.map_index import MapIndex
from sim_configs.load import load_rig
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.replay.conftest import BRANCHED_STEPS
from tests.av_stack.replay.edited import changed, edited, of

STAMP = Stamp(1, 0.05)
EGO = Pose2D(29.0, 93.25, 0.0)
"""On a lane of city_grid, heading along it."""


@pytest.fixture(scope="module")
def index() -> MapIndex:
    return MapIndex(read_lane_graph(embedded_map_files()["city_grid"]))


@pytest.fixture(scope="module")
def camera() -> CameraModel:
    return load_rig("compact").cameras[0]


def thing(x_m: float, y_m: float = EGO.y_m, kind: ObjectKind = ObjectKind.CAR, number: int = 1) -> TrackedObject:
    return TrackedObject(number, kind, x_m, y_m, 0.0, (0.0, 0.0), 4.0, 1.8, 1.5)


def truth(*objects: TrackedObject) -> Truth:
    lights = {"7": LightState.RED, "8": LightState.GREEN, "9": LightState.RED}
    return Truth(STAMP, EGO, 0.0, 8.0, objects, lights, ())


def scene(*objects: TrackedObject, off_m: float = 0.0, **lights: LightState) -> Scene:
    """What was seen by an ego that believes to be `off_m` too far ahead."""
    ego = EgoState(STAMP, EGO.x_m + off_m, EGO.y_m, EGO.yaw_rad, 8.0, 0.0, 0.0, np.zeros((4, 4)))
    views = {name[1:]: TrafficLightView(name[1:], state) for name, state in lights.items()}
    return Scene(STAMP, ego, LaneEstimate(STAMP, None, None), objects, views)


def score(true: Truth, seen: Scene, camera: CameraModel, index: MapIndex) -> dict[int, tuple[str, float | None]]:
    return {one.actor_id: (one.group, one.seen_range_m) for one in score_step(true, seen, camera, index).objects}


def test_a_track_is_that_of_the_nearest_road_user_of_its_kind(camera: CameraModel, index: MapIndex) -> None:
    person = replace(thing(EGO.x_m + 15.0, EGO.y_m + 1.0, ObjectKind.PEDESTRIAN, 2), length_m=0.4, width_m=0.4)
    true = truth(thing(EGO.x_m + 20.0), person, thing(EGO.x_m + 22.5, EGO.y_m + 4.0, ObjectKind.TRUCK, 3))
    seen = scene(thing(EGO.x_m + 20.5, number=50), thing(EGO.x_m + 15.0, number=51))
    found = score(true, seen, camera, index)
    assert found[1][0] == "vehicles"
    assert found[1][1] == pytest.approx(20.5)
    assert found[2] == ("pedestrians", None)  # a car was tracked there
    assert found[3] == ("vehicles", None)


def test_a_track_is_taken_relative_to_where_the_ego_believes_to_be(camera: CameraModel, index: MapIndex) -> None:
    true = truth(thing(EGO.x_m + 10.0))
    assert score(true, scene(thing(EGO.x_m + 15.0), off_m=5.0), camera, index)[1][1] == pytest.approx(10.0)
    assert score(true, scene(thing(EGO.x_m + 15.0)), camera, index)[1][1] is None


def test_a_track_with_a_box_comes_before_a_nearer_one_of_the_radars(camera: CameraModel, index: MapIndex) -> None:
    """In fog, the camera puts a car too far away; the radars keep a second track where the car is."""
    boxed = replace(thing(EGO.x_m + 32.0, number=50), box_px=(300.0, 150.0, 336.0, 188.0))
    by_radar = thing(EGO.x_m + 30.0, number=51)
    (one,) = score_step(truth(thing(EGO.x_m + 30.0)), scene(by_radar, boxed), camera, index).objects
    assert one.is_in_picture
    assert one.seen_range_m == pytest.approx(32.0)
    (one,) = score_step(truth(thing(EGO.x_m + 30.0)), scene(by_radar), camera, index).objects
    assert not one.is_in_picture
    assert one.seen_range_m == pytest.approx(30.0)


def test_only_road_users_in_the_picture_count(camera: CameraModel, index: MapIndex) -> None:
    behind, far, aside = thing(EGO.x_m - 10.0), thing(EGO.x_m + 81.0), thing(EGO.x_m + 5.0, EGO.y_m + 30.0)
    assert score(truth(behind, far, aside), scene(), camera, index) == {}


def test_a_lane_line_that_is_not_seen_counts_as_missed(camera: CameraModel, index: MapIndex) -> None:
    lines = score_step(truth(), scene(), camera, index).lines
    assert [(line.side, line.error_m) for line in lines] == [("left", None), ("right", None)]


def test_figures_are_paired(camera: CameraModel, index: MapIndex) -> None:
    true = truth(thing(EGO.x_m + 10.0), thing(EGO.x_m + 30.0, number=2), thing(EGO.x_m + 50.0, number=3))
    near, middle = thing(EGO.x_m + 11.0), thing(EGO.x_m + 31.0)
    there = score_step(true, scene(near, middle, _7=LightState.RED, _8=LightState.GREEN), camera, index)
    now = score_step(true, scene(near, _7=LightState.GREEN, _8=LightState.UNKNOWN), camera, index)
    figures = {(pair.name, pair.group): pair for pair in compare([there, there], [now, now])}
    assert figures["vehicles tracked", "0-20 m"] == Pair("vehicles tracked", "0-20 m", 2, 1.0, 1.0, "", 0, 0)
    assert figures["vehicles tracked", "20-40 m"] == Pair("vehicles tracked", "20-40 m", 2, 1.0, 0.0, "", 2, 0)
    assert figures["vehicles tracked", "40-80 m"] == Pair("vehicles tracked", "40-80 m", 2, 0.0, 0.0, "", 0, 0)
    error = figures["vehicles, median relative range error", "0-20 m"]
    assert error.count == 2
    assert error.there == error.now == pytest.approx(0.1)
    assert ("vehicles, median relative range error", "20-40 m") not in figures  # one weather has no track there
    assert figures["light right", "all"] == Pair("light right", "all", 4, 1.0, 0.0, "", 4, 0)
    assert figures["light wrong", "all"] == Pair("light wrong", "all", 4, 0.0, 0.5, "", 0, 2)
    assert figures["lane line, median error", "at 10 m"].count == 4


def test_nothing_to_compare_gives_no_figures() -> None:
    nothing = StepScore(STAMP, (), (), {}, {})
    assert compare([nothing], [nothing]) == []


def test_a_drive_at_night_is_the_same_world(stack_drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "night"
    done = av_stack("replay", str(stack_drive), "--weather", "ClearNight", "--out", str(out), timeout_s=90.0)
    assert done.returncode == 0, done.stderr
    assert f"{BRANCHED_STEPS} steps of one world, equal to the bit" in done.stdout.splitlines()
    content = json.loads((out / "weather.json").read_text())
    assert content["weather"] == {"there": "ClearNoon", "now": "ClearNight"}
    assert content["steps"] == BRANCHED_STEPS
    steps = [json.loads(line) for line in (out / "weather_steps.jsonl").read_text().splitlines()]
    assert [step["time_s"] for step in steps] == pytest.approx([0.05 * (i + 1) for i in range(BRANCHED_STEPS)])
    assert {side for step in steps for side, _, _ in step["lines"]} == {"left", "right"}
    figures = {(entry["name"], entry["group"]): entry for entry in content["figures"]}
    lanes = figures["lane line, median error", "at 10 m"]
    assert lanes["there"] != lanes["now"]
    assert lanes["there"] < 0.1
    there, now = read_drive(stack_drive).steps, read_drive(out / RECORDING).steps
    assert [one.packed_truth for one in there.values()] == [one.packed_truth for one in now.values()]
    lights = [one.command.lights.low_beam for one in now.values() if one.command is not None]
    assert any(lights)  # the recorded drive, by day, was without
    assert json.loads((out / "result.json").read_text())["weather"] == "ClearNight"


def scenario_with(drive: Path, to: Path, **changes: Any) -> Path:
    def other(setup: DriveSetup) -> DriveSetup:
        return replace(setup, scenario=json.dumps({**json.loads(setup.scenario), **changes}))

    return edited(drive, to, of(SETUP, changed(DriveSetup, other)))


def test_what_the_weather_would_move_is_refused(stack_drive: Path, collision: Path, tmp_path: Path) -> None:
    options = WeatherOptions("HardRainNoon", tmp_path / "out")
    tyres = scenario_with(stack_drive, tmp_path / "tyres.mcap", handling="tyres")
    with pytest.raises(ConfigError, match="with handling: tyres the weather changes the grip"):
        load_other_weather(read_drive(tyres), options)
    with pytest.raises(ConfigError, match="changes along its route"):
        load_other_weather(read_drive(collision), options)
    blind = scenario_with(collision, tmp_path / "blind.mcap", weather_keyframes=[], weather="ClearNoon")
    with pytest.raises(ConfigError, match="the drive had no camera, which could see the weather"):
        load_other_weather(read_drive(blind), options)
    with pytest.raises(ConfigError, match="unknown weather HardRane"):
        load_other_weather(read_drive(stack_drive), replace(options, weather="HardRane"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agent", "idle"), "--agent: it needs --from"),
        (("--diff",), "--diff: it cannot be used with --weather"),
        (("--maps", "."), "--maps: it cannot be used with --weather"),
    ],
)
def test_wrong_options_are_refused(stack_drive: Path, arguments: tuple[str, ...], message: str) -> None:
    done = av_stack("replay", str(stack_drive), "--weather", "WetNoon", *arguments)
    assert done.returncode == 2
    assert message in complaint(done)
