"""A branch drives on from a step of a recorded drive: as recorded without a change; with one, it is told where."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from av_core.errors import ConfigError
from av_core.types import Truth
from av_stack.assembly import DETECTOR_ORACLES
from av_stack.faults.fault import parse_faults
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import FRAME, SETUP, STEP, TRUTH
from av_stack.recording.recorder import RECORDING, RESULT
from av_stack.replay.branch import BranchOptions, branch, load_branch
from av_stack.replay.branch_report import BranchReport
from av_stack.replay.recorded_drive import read_drive
from av_stack.replay.reenactment import recorded_map
from av_stack.run import Options, run
from scenarios.model import EgoTable, TrafficTable, load_scenario
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.replay.conftest import BRANCHED_STEPS, RIG
from tests.av_stack.replay.edited import Edit, changed, edited, of


def branched(path: Path, from_s: float, out: Path, **options: Any) -> BranchReport:
    report, outcome = branch(load_branch(read_drive(path), BranchOptions(from_s, out, **options)))
    assert (report.problem is None) == (outcome.exit_status == 0)
    return report


def test_the_faults_of_the_drive_come_again(tmp_path: Path) -> None:
    (tmp_path / "rig.yaml").write_text(yaml.safe_dump(RIG))
    ego, seconds = EgoTable(rig=str(tmp_path / "rig.yaml")), 1.2
    scenario = load_scenario("town_drive").model_copy(
        update={"timeout_s": seconds, "traffic": TrafficTable(), "ego": ego}
    )
    faults = parse_faults(["gnss:noise=15@0.2s", "control:delay=0.1@0.4s"])
    run(scenario, Options(out=tmp_path / "drive", oracles=DETECTOR_ORACLES, faults=faults))
    drive = read_drive(tmp_path / "drive" / RECORDING)
    assert tuple(drive.faults) == faults
    found = branched(drive.path, 0.9, tmp_path / "new")
    assert (found.problem, found.decided, found.restored_steps) == (None, None, 18)
    assert found.divergence.steps == found.divergence.equal_steps > 5


@pytest.mark.parametrize("from_s", [0.05, 1.3])
def test_without_a_change_the_drive_goes_on_as_recorded(stack_drive: Path, from_s: float, tmp_path: Path) -> None:
    found = branched(stack_drive, from_s, tmp_path)
    frame = round(from_s / 0.05)
    assert (found.problem, found.decided) == (None, None)
    assert found.restored_steps == frame
    assert found.divergence.steps == found.divergence.equal_steps == BRANCHED_STEPS - frame + 1
    assert all(there == now for there, now in found.rows.values())
    there, now = read_drive(stack_drive), read_drive(tmp_path / RECORDING)
    assert there.steps.keys() == now.steps.keys()
    assert all(there.steps[number].packed_frame == now.steps[number].packed_frame for number in there.steps)


def test_a_changed_gain_parts_from_the_recording_after_the_branch(
    stack_drive: Path, gains: Path, tmp_path: Path
) -> None:
    gains.write_text("control: {lateral: {look_ahead_min_m: 6.0}}\n")
    try:
        found = branched(stack_drive, 1.0, tmp_path)
    finally:
        gains.write_text("{}\n")
    assert any(note.startswith("configuration: control lateral look_ahead_min_m: ") for note in found.notes)
    assert found.restored_steps == 20
    assert found.decided is not None  # today's stack sees the recorded drive, and would have driven otherwise
    assert found.decided.stamp.time_s < 1.0
    assert found.divergence.command is not None
    assert found.divergence.command.stamp.frame == 20
    assert found.divergence.apart[0.0].frame == 21
    assert found.divergence.farthest_m > 0.0


def test_another_agent_does_not_hit_whom_the_recorded_one_hit(collision: Path, tmp_path: Path) -> None:
    out = tmp_path / "new"
    done = av_stack("replay", str(collision), "--from", "4.0s", "--agent", "idle", "--out", str(out), timeout_s=60.0)
    assert done.returncode == 0, done.stderr
    content = json.loads((out / "branch.json").read_text())
    assert content["restored_steps"] == 80
    assert content["outcome"]["collisions_walker"] == {"recorded": 1, "now": 0}
    assert content["compared"]["apart_s"]["1 m"] == pytest.approx(4.4)
    assert content["compared"]["command"]["time_s"] == pytest.approx(4.0)
    assert "agent: straight there, idle now" in done.stdout.splitlines()
    assert {RECORDING, RESULT, "report.html"} <= {path.name for path in out.iterdir()}


def test_a_world_that_is_not_the_recorded_one_ends_the_drive(collision: Path, tmp_path: Path) -> None:
    def moved(number: int, schema: bytes, data: bytes) -> tuple[bytes, bytes]:
        off = changed(Truth, lambda truth: replace(truth, ego=replace(truth.ego, x_m=truth.ego.x_m + 1e-9)))
        return off(number, schema, data) if number == 29 else (schema, data)

    path = edited(collision, tmp_path / "moved.mcap", of(TRUTH, moved))
    found = branched(path, 4.0, tmp_path / "new")
    assert found.restored_steps == 29
    assert found.divergence.steps == 0
    assert found.problem is not None
    assert found.problem.startswith(f"{path}: not the recorded world at 1.50 s: truth.ego.x_m was ")
    assert "never by another CARLA server" in found.problem


PLACE = {"start": [0.0, 0.0], "goal": [9.0, 0.0]}
MAP_ELSEWHERE = json.dumps({"name": "elsewhere", "map": "../city_grid", "route": PLACE})


def of_setup(**changes: Any) -> Edit:
    return of(SETUP, changed(DriveSetup, lambda setup: replace(setup, **changes)))


def dropped(topic: str, number: int, schema: bytes, data: bytes) -> tuple[bytes, bytes] | None:
    return None if topic in (FRAME, TRUTH, STEP) and number in (10, 11) else (schema, data)


@pytest.mark.parametrize(
    ("edit", "options", "message"),
    [
        (None, {"from_s": 0.0}, r"--from 0: .* holds 0.05 s to 9.10 s"),
        (None, {"from_s": 9.2}, r"--from 9.2: .* holds 0.05 s to 9.10 s"),
        (None, {"agent": "strait"}, "--agent: unknown name .strait. .did you mean straight"),
        (None, {"agent": "stack"}, "the drive had no camera, and stack needs one"),
        (None, {"oracles": ("lights",)}, "--oracle: only the stack uses it, and the agent is straight"),
        (None, {"weather": "WetNoon"}, "--weather: the weather of .* changes along its route"),
        (
            of_setup(server="10.0.0.7:2000"),
            {},
            r"it drove on the server at 10\.0\.0\.7:2000; only drives on an embedded",
        ),
        (of_setup(agent="autopilot"), {}, r"the simulator drove \(autopilot\), so its commands cannot be given again"),
        (of_setup(step_s=0.1), {}, "its steps are 0.1 s long, those of this version 0.05 s"),
        (of_setup(scenario="{}"), {}, "the recorded scenario does not fit this version: "),
        (of_setup(map_text="?", scenario=MAP_ELSEWHERE), {}, "the recorded scenario has no map, but '../city_grid'"),
        (of_setup(scenario="["), {}, "the recorded scenario cannot be read"),
        (of_setup(stack="[]"), {}, "the recorded stack configuration cannot be read"),
        (dropped, {}, "2 steps before the branch were not recorded, the first is 11"),
        (lambda topic, _, *rest: None if topic == TRUTH else rest, {}, "cannot be replayed: it lacks /replay/truth"),
    ],
)
def test_what_cannot_be_branched_is_refused_before_a_server_starts(
    collision: Path, tmp_path: Path, edit: Edit | None, options: dict[str, Any], message: str
) -> None:
    path = collision if edit is None else edited(collision, tmp_path / "bad.mcap", edit)
    with pytest.raises(ConfigError, match=message) as told:
        load_branch(read_drive(path), BranchOptions(**{"from_s": 4.0, "out": tmp_path, **options}))
    assert "\n" not in str(told.value)


def test_an_unknown_weather_or_oracle_is_refused(stack_drive: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--oracle: unknown name 'radar'"):
        load_branch(read_drive(stack_drive), BranchOptions(1.0, tmp_path, oracles=("radar",)))
    with pytest.raises(ConfigError, match="unknown weather WetNone"):
        load_branch(read_drive(stack_drive), BranchOptions(1.0, tmp_path, weather="WetNone"))


def test_the_recorded_drive_is_not_overwritten(collision: Path) -> None:
    with pytest.raises(ConfigError, match="the recorded drive is there; expected another folder"):
        load_branch(read_drive(collision), BranchOptions(4.0, collision.parent))


def test_a_map_that_the_server_lacks_comes_from_the_recording(collision: Path) -> None:
    drive = read_drive(collision)
    with recorded_map(drive) as folder:
        assert folder is None
    for setup, scenario in (
        (replace(drive.setup, map_text="changed since"), drive.scenario),
        (drive.setup, drive.scenario.model_copy(update={"map": "my_town"})),
    ):
        with recorded_map(replace(drive, setup=setup, scenario=scenario)) as folder:
            assert folder is not None
            assert (folder / f"{scenario.map}.xodr").read_text() == setup.map_text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "soon"), "--from 'soon': expected a time of the drive in seconds, for example 41.5s"),
        (("--from", "4s", "--only", "lanes"), "--only: it cannot be used with --from"),
        (("--from", "4s", "--fps", "10"), "--fps: it cannot be used with --from"),
        (("--from", "4s", "--agent", "strait"), "--agent: unknown name 'strait'"),
    ],
)
def test_wrong_options_are_refused(collision: Path, arguments: tuple[str, ...], message: str) -> None:
    done = av_stack("replay", str(collision), *arguments)
    assert done.returncode == 2
    assert message in complaint(done)


def test_a_foreign_recording_has_no_branches(tmp_path: Path) -> None:
    video = tmp_path / "drive.mp4"
    video.write_bytes(b"")
    done = av_stack("replay", str(video), "--from", "4s")
    assert done.returncode == 2
    assert "only a drive of av-stack run can be branched" in complaint(done)


def test_the_late_weather_is_shown_from_its_frame_on_and_moves_nothing(stack_drive: Path, tmp_path: Path) -> None:
    """With the handling of CARLA, whose grip is the same in the rain; the lanes that the camera sees are others."""
    rain = branched(stack_drive, 1.0, tmp_path, weather="HardRainSunset")
    assert (rain.problem, rain.decided) == (None, None)
    assert rain.restored_steps == 20
    assert rain.divergence.measured is not None
    assert rain.divergence.measured.stamp.frame > 20
    drives = read_drive(tmp_path / RECORDING).steps
    assert not any(drives[frame].frame.is_raining for frame in range(1, 21))
    assert drives[BRANCHED_STEPS].frame.is_raining
