"""A replay gives what the drive gave, byte for byte; a changed stack is told, with the first difference."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import CameraImage, LaneEstimate, LaneLine
from av_stack import assembly
from av_stack import run as runner
from av_stack.assembly import DETECTOR_ORACLES
from av_stack.mission import world_spec
from av_stack.recording.exact.reader import DriveReader
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import SETUP
from av_stack.recording.recorder import RECORDING
from av_stack.replay.compare import Rules
from av_stack.replay.modules import MODULES, SEEING
from av_stack.replay.report import ReplayReport
from av_stack.replay.session import ReplayOptions, replay
from av_stack.run import Options
from av_stack.world.factory import open_world
from av_stack.world.replay import ReplayWorld
from av_stack.world.spec import Address
from perception.lanes.detector import LaneDetector
from planning import Planner
from scenarios.model import load_scenario
from sim_configs.load import load_rig
from tests.av_stack.replay.conftest import Drives
from tests.av_stack.replay.edited import changed, edited, of, other_settings
from tests.contract.list_world import recorded

BLIND = tuple(name for name in MODULES if name not in SEEING)
AHEAD = "replay ahead"
"""The name of a replay's thread."""


def is_byte_equal(done: ReplayReport, steps: int) -> bool:
    assert done.comparison is not None
    assert done.problem is None
    assert done.steps == done.comparison.steps == steps
    return done.comparison.fields == () and done.byte_equal_steps == steps


def test_all_modules_give_every_byte_again(drives: Drives) -> None:
    done = replay(drives.exact, ReplayOptions(is_compared=True))
    assert done.modules == MODULES
    assert done.notes == ()
    assert is_byte_equal(done, drives.steps)


@pytest.mark.parametrize("module", MODULES)
def test_each_module_alone_gives_every_byte_again(drives: Drives, module: str) -> None:
    assert is_byte_equal(replay(drives.exact, ReplayOptions((module,), is_compared=True)), drives.steps)


@pytest.mark.parametrize("module", ["planning", "control"])
def test_the_planner_knows_the_cameras_that_read_the_lights(
    drives: Drives, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits at a red light where one of them still sees it, whichever module reads it."""
    known: list[str] = []

    class KnownPlanner(Planner):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            known.extend(camera.name for camera in arguments[3])

    monkeypatch.setattr(assembly, "Planner", KnownPlanner)
    replay(drives.small, ReplayOptions((module,)))
    assert known == ["front"]


def test_without_pictures_the_modules_that_need_none_are_replayed(drives: Drives) -> None:
    done = replay(drives.small, ReplayOptions(is_compared=True))
    assert done.modules == BLIND
    assert done.notes[0] == "no lossless pictures: lanes, objects, lights answer as recorded"
    assert is_byte_equal(done, drives.steps)


def test_without_pictures_a_module_that_needs_them_is_refused(drives: Drives) -> None:
    with pytest.raises(ConfigError, match=r"lanes, lights cannot be replayed without lossless pictures; .*exact"):
        replay(drives.small, ReplayOptions(("lights", "lanes", "control")))


def test_oracles_answer_from_the_recorded_truth(
    city_server: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = load_scenario("town_drive")
    with closing(open_world(city_server, world_spec(scenario, load_rig("compact"), "ClearNoon"))) as world:
        played = recorded(world, 12)
    monkeypatch.setattr(runner, "open_world", lambda *_: played.from_the_start())
    for record, modules in (("exact", MODULES), ("small", ("localization", "lights", *MODULES[4:]))):
        options = Options(Address("127.0.0.1", 1), out=tmp_path, oracles=DETECTOR_ORACLES, record=record)
        assert runner.run(scenario, options).exit_status == 0
        done = replay(tmp_path / RECORDING, ReplayOptions(is_compared=True))
        assert done.modules == modules
        assert is_byte_equal(done, 12)


def shifted(lanes: LaneEstimate, shift_m: float) -> LaneEstimate:
    def line(one: LaneLine | None) -> LaneLine | None:
        return one and replace(one, coefficients=(one.coefficients[0] + shift_m, *one.coefficients[1:]))

    return replace(lanes, left=line(lanes.left))


def test_a_world_that_is_closed_early_leaves_no_thread_behind(drives: Drives) -> None:
    seen: list[int] = []
    with closing(ReplayWorld(drives.exact)) as world:
        world.look_ahead(lambda image: seen.append(image.stamp.frame))
        assert world.tick() is not None
        assert AHEAD in {thread.name for thread in threading.enumerate()}
    assert AHEAD not in {thread.name for thread in threading.enumerate()}
    assert 1 <= len(seen) < drives.steps


def test_what_goes_wrong_ahead_is_told_by_the_tick(drives: Drives) -> None:
    def look(_: CameraImage) -> None:
        raise ConfigError("no such network")

    with closing(ReplayWorld(drives.exact)) as world:
        world.look_ahead(look)
        with pytest.raises(ConfigError, match="no such network"):
            world.tick()


def test_a_changed_module_is_told_with_its_first_difference(drives: Drives, monkeypatch: pytest.MonkeyPatch) -> None:
    update, count, changed_from = LaneDetector.update, iter(range(10**6)), 20

    def changed_update(self: LaneDetector, *arguments: object) -> LaneEstimate:
        lanes = update(self, *arguments)  # type: ignore[arg-type]
        return shifted(lanes, 0.25) if next(count) >= changed_from else lanes

    monkeypatch.setattr(LaneDetector, "update", changed_update)
    done = replay(drives.exact, ReplayOptions(("lanes",), is_compared=True))
    assert done.comparison is not None
    (found,) = done.comparison.fields
    assert (found.field, found.steps) == ("scene.lanes.left.coefficients", drives.steps - changed_from)
    assert found.size_max == pytest.approx(0.25)
    assert found.first_at.frame == next(DriveReader(drives.exact).ticks()).frame.stamp.frame + changed_from
    assert done.byte_equal_steps == done.comparison.equal_steps == changed_from
    assert any(f"scene.lanes.left.coefficients: {found.steps} steps, at most 0.25" in line for line in done.lines())
    content = json.loads(json.dumps(done.content(), allow_nan=False))["comparison"]
    assert content["fields"][0]["first"]["frame"] == found.first_at.frame
    assert not content["is_equal"]


def test_tolerances_and_ignored_fields_let_differences_pass(drives: Drives, monkeypatch: pytest.MonkeyPatch) -> None:
    update = LaneDetector.update
    monkeypatch.setattr(LaneDetector, "update", lambda *arguments: shifted(update(*arguments), 0.25))
    for rules, is_equal in (
        (Rules(tolerances={"scene.lanes": 0.3}), True),
        (Rules(tolerances={"scene.lanes": 0.2}), False),
        (Rules(ignored=["scene.lanes.left"]), True),
    ):
        assert replay(drives.exact, ReplayOptions(("lanes",), is_compared=True, rules=rules)).is_equal == is_equal


def test_a_reference_holds_what_was_decided(drives: Drives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = tmp_path / "reference.mcap"
    update = LaneDetector.update
    with monkeypatch.context() as patch:
        patch.setattr(LaneDetector, "update", lambda *arguments: shifted(update(*arguments), 0.25))
        replay(drives.exact, ReplayOptions(("lanes",), reference=reference, is_update=True))
        again = replay(drives.exact, ReplayOptions(("lanes",), is_compared=True, reference=reference))
        assert is_byte_equal(again, drives.steps)
    assert [path.name for path in tmp_path.iterdir()] == ["reference.mcap"]
    assert not replay(drives.exact, ReplayOptions(("lanes",), is_compared=True, reference=reference)).is_equal
    assert replay(drives.exact, ReplayOptions(("lanes",), is_compared=True, reference=drives.exact)).is_equal


def test_another_configuration_is_told_by_what_it_decides(drives: Drives, tmp_path: Path) -> None:
    """The settings of control that the scenario names are others today: only the commands differ."""
    stack = other_settings(tmp_path)

    def other(setup: DriveSetup) -> DriveSetup:
        scenario = json.loads(setup.scenario)
        scenario["ego"]["stack"] = str(stack)
        return replace(setup, scenario=json.dumps(scenario))

    path = edited(drives.exact, tmp_path / "other.mcap", of(SETUP, changed(DriveSetup, other)))
    done = replay(path, ReplayOptions(("control",), is_compared=True))
    assert done.comparison is not None
    assert {found.field for found in done.comparison.fields} == {"command.steer"}
    assert any("control lateral look_ahead_min_m" in note and "6.0 now" in note for note in done.notes)


def test_a_configuration_that_is_not_there_any_more_is_as_recorded(drives: Drives, tmp_path: Path) -> None:
    def gone(setup: DriveSetup) -> DriveSetup:
        scenario = json.loads(setup.scenario)
        scenario["ego"]["stack"] = str(tmp_path / "gone.yaml")
        return replace(setup, scenario=json.dumps(scenario))

    path = edited(drives.exact, tmp_path / "gone.mcap", of(SETUP, changed(DriveSetup, gone)))
    done = replay(path, ReplayOptions(("control",), is_compared=True))
    assert is_byte_equal(done, drives.steps)
    assert any(note.startswith("configuration as recorded: ") and "gone.yaml" in note for note in done.notes)


def test_what_is_recorded_is_what_was_measured(drives: Drives) -> None:
    """The pictures are those whose previews are beside them, and the setup says what drove."""
    reader = DriveReader(drives.exact)
    ticks = list(reader.ticks())
    assert len(ticks) == drives.steps
    assert not reader.is_cut_off
    assert reader.verdict["dropped_steps"] == 0
    assert reader.verdict["infraction_log"][0]["kind"] == "route_timeout"
    assert reader.setup.versions["commit"]
    assert reader.setup.weights.startswith("detector_n.pt ")
    first, last = ticks[0].frame.cameras["front"].bgr, ticks[-1].frame.cameras["front"].bgr
    assert first.shape == (360, 640, 3)
    assert 1.0 < np.abs(first.astype(float) - last).mean() < 128.0
    assert json.loads(reader.setup.scenario)["name"] == "town_drive"
    reader.close()
