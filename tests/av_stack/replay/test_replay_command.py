"""The command: its report, its status for CI, and its files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import SETUP
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.replay.conftest import Drives
from tests.av_stack.replay.edited import changed, edited, of, other_settings


def test_an_equal_replay_succeeds(drives: Drives, tmp_path: Path) -> None:
    report, reference = tmp_path / "new" / "report.json", tmp_path / "reference.mcap"
    kept = av_stack("replay", str(drives.small), "--only", "control", "--reference", str(reference), "--update")
    assert (kept.returncode, kept.stderr) == (0, "")
    arguments = ("--only", "prediction,control", "--reference", str(reference), "--json", str(report))
    done = av_stack("replay", str(drives.exact.parent), *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"replayed {drives.steps} steps, ")
    assert lines[0].endswith(": prediction, control")
    assert lines[-1] == (
        f"{drives.steps} of {drives.steps} steps as in {reference}, {drives.steps} of them byte for byte"
    )
    content = json.loads(report.read_text())
    assert content["modules"] == ["prediction", "control"]
    assert content["comparison"]["is_equal"]
    assert content["comparison"]["fields"] == []


def test_a_difference_ends_in_status_1(drives: Drives, tmp_path: Path) -> None:
    stack = other_settings(tmp_path)

    def other(setup: DriveSetup) -> DriveSetup:
        scenario = json.loads(setup.scenario)
        scenario["ego"]["stack"] = str(stack)
        return replace(setup, scenario=json.dumps(scenario))

    path = edited(drives.small, tmp_path / "other.mcap", of(SETUP, changed(DriveSetup, other)))
    arguments = ("replay", str(path), "--only", "control")
    page = tmp_path / "new" / "page.html"
    differing = av_stack(*arguments, "--diff", "--html", str(page))
    assert complaint(differing) == f"av-stack: the outputs differ from {path}"
    assert differing.returncode == 1
    assert "command.steer: " in differing.stdout
    shown = page.read_text()
    assert "fields that differ: 1<" in shown
    assert "<td>command.steer</td>" in shown
    assert av_stack(*arguments, "--diff", "--tolerance", "command.steer=1.0").returncode == 0
    assert av_stack(*arguments, "--diff", "--ignore", "command.steer").returncode == 0
    assert av_stack(*arguments).returncode == 0
    assert "no field 'command.stear'" in complaint(av_stack(*arguments, "--ignore", "command.stear"))
