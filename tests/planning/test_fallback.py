"""A plan made slower: same way, no faster than asked, standing in the end; and the pipeline's answer to faults."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from av_core.types import DriveState, Plan, Stamp, Trajectory
from av_stack.results.constraint_text import describe
from av_stack.supervisor import POSITION_SIGMA_MAX_M, choose_state, restrict
from perception.health.monitor import Fault, Health
from planning.fallback import CAUTIOUS_MPS, SLOW_MPS, STOP_DECEL_MPS2, safe_stop, slow_down


def plan(speed_mps: float) -> Plan:
    """A circle of 50 m radius at constant speed."""
    t = np.linspace(0.0, 5.0, 51)
    angle = speed_mps * t / 50.0
    zero = np.zeros_like(t)
    poses = (50 * np.sin(angle), 50 - 50 * np.cos(angle), angle)
    return Plan(Stamp(0, 0.0), Trajectory.through(poses, zero + 0.02, zero + speed_mps, zero, t), None)


@pytest.mark.parametrize("speed", [3.0, 8.0, 15.0])
def test_a_safe_stop_ends_at_rest_on_the_same_way(speed: float) -> None:
    stop = safe_stop(plan(speed), speed, "why")
    assert describe(stop.constraint) == "camera why: safe stop"
    assert stop.trajectory.speed_mps[-1] == max(0.0, speed - 5.0 * STOP_DECEL_MPS2)
    driven, curve = stop.trajectory, stop.trajectory.curve
    np.testing.assert_allclose(np.hypot(curve.x_m, curve.y_m - 50.0), 50.0, atol=0.05)
    way = np.diff(curve.s_m)
    np.testing.assert_allclose(way, 0.1 * (driven.speed_mps[1:] + driven.speed_mps[:-1]) / 2.0, atol=0.02)
    assert driven.accel_mps2.min() > -STOP_DECEL_MPS2 - 0.1


def test_slowing_down_leaves_a_slow_plan_alone() -> None:
    free = plan(2.0)
    assert slow_down(free, 2.0, "why") is free
    slow = slow_down(plan(10.0), 10.0, "why")
    assert slow.trajectory.speed_mps[-1] == pytest.approx(SLOW_MPS)


def react(front: Health, planned: Plan, speed_mps: float, others: Mapping[str, Health] | None = None) -> Plan:
    return restrict(planned, *choose_state(front, others), speed_mps)


def test_the_answer_grows_with_the_time_that_a_camera_is_unwell() -> None:
    free = plan(10.0)
    assert react(Health((), 1.0, 0.0), free, 10.0) is free
    slow = react(Health((Fault.BLACK,), 0.1, 0.3), free, 10.0)
    assert describe(slow.constraint) == "camera black: slowing down"
    assert slow.trajectory.speed_mps[-1] == pytest.approx(SLOW_MPS)
    stop = react(Health((Fault.TORN,), 0.0, 1.0), free, 10.0)
    assert (describe(stop.constraint), stop.trajectory.speed_mps[-1]) == ("camera torn: safe stop", 0.0)


def test_the_car_is_wary_where_another_camera_is_unwell() -> None:
    free, well, black = plan(12.0), Health((), 1.0, 0.0), Health((Fault.BLACK,), 0.1, 3.0)
    assert react(well, free, 12.0, {"left": well, "rear": well}) is free
    wary = react(well, free, 12.0, {"left": well, "rear": black})
    assert describe(wary.constraint) == "sensor rear black: slower"
    assert wary.trajectory.speed_mps[-1] == pytest.approx(CAUTIOUS_MPS)  # however long it lasts
    slow = react(Health((Fault.BLACK,), 0.1, 0.3), free, 12.0, {"rear": black})
    assert describe(slow.constraint) == "camera black: slowing down"


def test_an_unknown_position_stops_the_car() -> None:
    well = Health((), 1.0, 0.0)
    assert choose_state(well, {}, 0.5 * POSITION_SIGMA_MAX_M) == (DriveState.NORMAL, "")
    state, reason = choose_state(well, {"gnss": Health((Fault.MISSING,), 0.0, 60.0)}, 1.1 * POSITION_SIGMA_MAX_M)
    stop = restrict(plan(10.0), state, reason, 10.0)
    assert str(stop.decision) == "safe stop: position uncertain"
    assert (describe(stop.constraint), stop.trajectory.speed_mps[-1]) == ("position uncertain: safe stop", 0.0)
