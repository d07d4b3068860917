"""When two drives part, by what, and how the report tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from av_core.types import ControlCommand, GnssFix, ImuSample, Pose2D, SensorFrame, Stamp, Truth
from av_stack.replay.branch_report import BranchReport
from av_stack.replay.divergence import Divergence
from av_stack.replay.recorded_drive import DrivenStep

VERDICT = {"end": "arrived", "driving_score": 60.0, "route_completion": 1.0}


def driven(frame: int, x_m: float = 0.0, throttle: float = 0.5, latitude_deg: float = 49.0) -> DrivenStep:
    stamp = Stamp(frame, frame * 0.05)
    imu = ImuSample(stamp, (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), 0.0)
    measured = SensorFrame(stamp, {}, GnssFix(stamp, latitude_deg, 8.0, 0.0), imu, 5.0)
    truth = Truth(stamp, Pose2D(x_m, 0.0, 0.0), 0.0, 5.0, (), {}, ())
    return DrivenStep(truth, measured, ControlCommand(throttle, 0.0, 0.0))


def report(found: Divergence, **changes: Any) -> BranchReport:
    one = BranchReport(
        recording="drive.mcap",
        branch_s=0.05,
        recorded_until_s=0.25,
        agent="stack",
        weather=None,
        restored_steps=1,
        decided=None,
        divergence=found,
        outcome_there={**VERDICT, "infractions": {"collisions_walker": 1, "red_lights": 0}},
        outcome_now={**VERDICT, "infractions": {"collisions_walker": 0, "red_lights": 0}},
        problem=None,
        notes=(),
    )
    return replace(one, **changes)


def test_equal_drives_do_not_part() -> None:
    found = Divergence()
    for frame in range(1, 6):
        found.add(driven(frame, x_m=float(frame)), driven(frame, x_m=float(frame)))
    assert found.is_equal
    assert (found.steps, found.equal_steps) == (5, 5)
    assert (found.command, found.measured, found.truth, found.farthest_at) == (None, None, None, None)
    assert found.apart == {}


def test_each_kind_of_difference_is_told_where_it_begins() -> None:
    found = Divergence()
    found.add(driven(1), driven(1))
    found.add(driven(2), driven(2, throttle=0.6))
    found.add(driven(3), driven(3, x_m=1e-12, latitude_deg=49.1))
    found.add(driven(4), driven(4, x_m=0.5))
    found.add(driven(5), driven(5, x_m=0.4, throttle=0.7))
    assert (found.steps, found.equal_steps) == (5, 1)
    assert found.command is not None
    assert (found.command.stamp.frame, found.command.difference.field) == (2, "command.throttle")
    assert found.measured is not None
    assert (found.measured.stamp.frame, found.measured.difference.field) == (3, "measured.gnss.latitude_deg")
    assert found.truth is not None
    assert (found.truth.stamp.frame, found.truth.difference.field) == (3, "truth.ego.x_m")
    assert {limit_m: stamp.frame for limit_m, stamp in found.apart.items()} == {0.0: 3, 0.1: 4}
    assert found.farthest_m == 0.5
    assert found.farthest_at == Stamp(4, 0.2)


def test_a_turned_ego_is_not_where_it_was() -> None:
    found = Divergence()
    there, now = driven(1), driven(1)
    found.add(there, replace(now, truth=replace(now.truth, ego=Pose2D(0.0, 0.0, 1e-9))))
    assert found.apart == {0.0: Stamp(1, 0.05)}


def test_the_report_puts_both_outcomes_side_by_side() -> None:
    found = Divergence()
    found.add(driven(1), driven(1, throttle=0.6))
    lines = report(found, weather="WetNoon").lines()
    assert "branch at 0.05 s: stack drives, in WetNoon from the next step on" in lines
    assert "0 of 1 steps as recorded, up to 0.25 s" in lines
    assert "  command differs: first at 0.05 s: command.throttle 0.5 there, 0.6 now" in lines
    assert [line.split() for line in lines[-4:]] == [
        ["end", "arrived", "arrived"],
        ["driving_score", "60.000", "60.000"],
        ["route_completion", "1.000", "1.000"],
        ["collisions_walker", "1", "0"],
    ]
    content = report(found).content()
    assert content["outcome"]["collisions_walker"] == {"recorded": 1, "now": 0}
    assert content["compared"]["apart_s"] == {"0 m": None, "0.1 m": None, "1 m": None}


def test_the_outcome_of_a_drive_that_was_cut_off_is_unknown() -> None:
    rows = report(Divergence(), outcome_there={}).rows
    assert rows["end"] == (None, "arrived")
    assert rows["collisions_walker"] == (None, 0)
