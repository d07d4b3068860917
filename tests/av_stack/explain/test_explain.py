"""A drive whose detector finds nothing hits a person: the oracle of detection avoids it, and no other does."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from av_core.errors import ConfigError
from av_core.types import SensorFrame
from av_stack.agents.base import AgentStep
from av_stack.explain.record import read_trials
from av_stack.explain.study import ExplainOptions, explain, load_study
from av_stack.explain.verdict import AUTOPILOT, NO_CHANGE, Outcome
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import SETUP
from av_stack.recording.recorder import EXPLANATION, RECORDING, RESULT
from av_stack.replay.branch import BranchOptions, branch, load_branch
from av_stack.replay.recorded_drive import read_drive
from av_stack.report.make import write_run_report
from av_stack.run import Options, Watcher, run
from perception.detection.weights import network_size
from scenarios.model import load_scenario
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.explain.blind_detector import write_blind_detector
from tests.av_stack.replay.conftest import RIG
from tests.av_stack.replay.edited import changed, edited, of

SCENARIO = {
    "name": "unseen_person",
    "map": "city_grid",
    "seed": 1,
    "route": {"start": [22.0, -93.25], "goal": [111.75, -147.5]},
    "actors": {"person": {"blueprint": "walker.pedestrian.0015", "place": {"route_m": 16.0, "turn_deg": 90.0}}},
    "timeout_s": 4.5,
}
BEFORE_S = 2.5
PICTURE_PX = (320, 180)  # of the camera in RIG
HAD = ("localization",)  # the oracle that the drive had: one branch less


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blind_detector(tmp_path_factory.mktemp("weights"), network_size(*PICTURE_PX))


@pytest.fixture(scope="module")
def hit(blind: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the drive."""
    folder = tmp_path_factory.mktemp("hit")
    (folder / "rig.yaml").write_text(yaml.safe_dump(RIG))
    (folder / "scenario.yaml").write_text(yaml.safe_dump({**SCENARIO, "ego": {"rig": str(folder / "rig.yaml")}}))
    figures = run(
        load_scenario(str(folder / "scenario.yaml")), Options(out=folder / "drive", oracles=HAD, weights=blind)
    ).figures
    assert figures["infractions"]["collisions_walker"] == 1
    return folder / "drive"


@pytest.mark.timeout(300)
def test_the_blind_detector_is_found_and_a_stopped_study_goes_on(hit: Path, blind: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(hit, tmp_path / "drive"))
    options = ExplainOptions(BEFORE_S, weights=blind)
    drive = read_drive(folder / RECORDING)
    driven: list[str] = []

    def interrupting(_number: int, change: str) -> Watcher:
        def watch(frame: SensorFrame, _step: AgentStep, *_: Any) -> None:
            if change == "lights":
                raise KeyboardInterrupt

        driven.append(change)
        return watch

    with pytest.raises(KeyboardInterrupt):
        explain(load_study(drive, options), interrupting)
    assert driven == [NO_CHANGE, "detection", "lights"]
    kept = json.loads((folder / EXPLANATION).read_text())["infractions"][0]
    assert [trial["change"] for trial in kept["branches"]] == [NO_CHANGE, "detection"]
    assert kept["verdict"] is None

    def noting(_number: int, change: str) -> Watcher:
        driven.append(change)
        return lambda *_: None

    driven.clear()
    study = load_study(drive, options)
    explain(study, noting)
    assert driven == ["lights"]
    found = study.explanations[0]
    expected = dict.fromkeys((NO_CHANGE, "lights"), Outcome.HAPPENS)
    assert found.outcomes == {**expected, "detection": Outcome.AVOIDED}
    assert found.trials[0].infractions == (found.infraction,)  # without a change it is the same to the bit
    told = json.loads((folder / EXPLANATION).read_text())["infractions"]
    assert [(one["kind"], one["verdict"]["words"]) for one in told] == [
        ("collision_walker", "detection"),
        ("route_timeout", "not explained"),
    ]
    page = write_run_report(folder).read_text()
    assert "verdict: detection<" in page
    assert "verdict: not explained<" in page
    assert read_trials(folder / EXPLANATION, {**study.settings, "weights": "other"}) == []


def test_the_autopilot_takes_over_and_stops_before_the_person(hit: Path, blind: Path, tmp_path: Path) -> None:
    report, outcome = branch(load_branch(read_drive(hit / RECORDING), BranchOptions(1.0, tmp_path, agent=AUTOPILOT)))
    assert report.problem is None
    assert report.restored_steps == 20
    assert report.divergence.apart[0.0].frame > 20
    assert outcome.figures["infractions"]["collisions_walker"] == 0
    assert outcome.figures["agent"] == AUTOPILOT


def refused(folder: Path, **options: Any) -> str:
    with pytest.raises(ConfigError) as told:
        load_study(read_drive(folder), ExplainOptions(BEFORE_S, **options))
    assert "\n" not in str(told.value)
    return str(told.value)


def test_what_cannot_be_explained_is_refused_before_a_server_starts(hit: Path, tmp_path: Path) -> None:
    def with_setup(**changes: Any) -> Path:
        edit = of(SETUP, changed(DriveSetup, lambda setup: replace(setup, **changes)))
        return edited(hit / RECORDING, tmp_path / "edited.mcap", edit)

    assert "idle drove; only drives of the stack can be explained" in refused(with_setup(agent="idle"))
    on_server = refused(with_setup(server="10.0.0.7:2000"))
    assert "it drove on the server at 10.0.0.7:2000; only drives on an embedded server" in on_server
    drive = read_drive(hit / RECORDING)
    for verdict, message in (
        ({}, "the recording was cut off, so it tells no infractions"),
        ({"infraction_log": []}, "the drive had no infraction"),
        ({"infraction_log": [{"kind": "flying"}]}, "the recorded infractions cannot be read"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_study(replace(drive, verdict=verdict), ExplainOptions(BEFORE_S))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere: no such file"),
        (("empty",), "empty: holds no recording.mcap, no ROS 2 bag in MCAP and no pictures"),
        (("drive.mp4",), "it is a video, and only a drive of av-stack run can be explained"),
        (("empty", "--before", "soon"), "--before 'soon': expected a time in seconds, for example 8s"),
        (("empty", "--before", "0"), "--before 0: expected a time above 0 s"),
        (("empty", "--weights", "no.pt"), "--weights no.pt: no such file"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / RESULT).write_text("{}")
    (tmp_path / "drive.mp4").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    done = av_stack("explain", *arguments)
    assert done.returncode == 2
    assert message in complaint(done)
