"""Drives once, branches from several of its steps without a change, and once with a changed gain of the controller.

Each branch is compared with the recording to the bit for `COMPARED_S` and longer, to the end of the drive.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from av_stack.recording.recorder import RECORDING
from av_stack.replay.branch import BranchOptions, branch, load_branch
from av_stack.replay.branch_report import BranchReport
from av_stack.replay.recorded_drive import read_drive
from av_stack.run import Options, run
from scenarios.model import EgoTable, load_scenario

SCENARIO = "town_drive"
FIRST_S, COMPARED_S = 1.0, 10.0
CHANGE = "control: {lateral: {look_ahead_min_m: 6.0}}\n"
"""The changed gain, as a stack configuration; the recorded drive has the default, 4.5 m."""

CHANGED_AT_S = 5.0


def measure_branches(seconds: float, count: int) -> dict[str, Any]:
    """What each branch of the first `seconds` of the town drive found. The stack drives with its default sensors."""
    with tempfile.TemporaryDirectory() as name:
        gains = Path(name) / "stack.yaml"
        gains.write_text("{}\n")
        town = load_scenario(SCENARIO)
        ego = EgoTable(blueprint=town.ego.blueprint, rig=town.ego.rig, stack=str(gains))
        folder = Path(name) / "drive"
        scenario = town.model_copy(update={"timeout_s": seconds, "ego": ego})
        begin = time.perf_counter()
        driven = run(scenario, Options(out=folder)).figures
        took_s = time.perf_counter() - begin
        recording = folder / RECORDING
        branches = [_branched(recording, float(at_s)) for at_s in _branch_times_s(seconds, count)]
        gains.write_text(CHANGE)
        changed = _branched(recording, CHANGED_AT_S)
    return {
        "scenario": SCENARIO,
        "weather": scenario.weather,
        "vehicles": scenario.traffic.vehicles,
        "walkers": len(scenario.walkers),
        "steps": driven["steps"],
        "dropped_steps": driven["recording_dropped_steps"],
        "drive_took_s": round(took_s, 1),
        "compared_s": COMPARED_S,
        "branches": branches,
        "change": CHANGE.strip(),
        "changed": changed,
    }


def _branch_times_s(seconds: float, count: int) -> Any:
    """Times that are evenly spread, and of which the last leaves `COMPARED_S` to the end of the drive."""
    return np.linspace(FIRST_S, seconds - COMPARED_S, count)


def _branched(recording: Path, at_s: float) -> Mapping[str, Any]:
    begin = time.perf_counter()
    report, _ = branch(load_branch(read_drive(recording), BranchOptions(at_s, None)))
    if report.problem is not None:
        raise RuntimeError(f"the branch at {at_s:.2f} s failed: {report.problem}")
    return _figures(report) | {
        "took_s": round(time.perf_counter() - begin, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def _figures(report: BranchReport) -> dict[str, Any]:
    found = report.content()
    compared = found["compared"]
    firsts = {name: compared[name] for name in ("command", "measured", "truth") if compared[name] is not None}
    return {
        "branch_s": round(report.branch_s, 2),
        "restored_steps": report.restored_steps,
        "decided_before_branch": found["decided_before_branch"],
        "compared_steps": compared["steps"],
        "equal_steps": compared["equal_steps"],
        "first_differences": firsts,
        "apart_s": compared["apart_s"],
        "farthest_m": compared["farthest_m"],
        "notes": list(report.notes),
    }
