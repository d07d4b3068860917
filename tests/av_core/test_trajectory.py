"""Trajectory: its points over time and distance, and what it refuses."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import Trajectory


def stopping(speed_mps: float, decel_mps2: float) -> Trajectory:
    """A stop on a circle of 50 m radius, and a stand until 6 s."""
    t = np.linspace(0.0, 6.0, 61)
    braked = np.minimum(t, speed_mps / decel_mps2)
    s = speed_mps * braked - 0.5 * decel_mps2 * braked**2
    angle, zero = s / 50.0, np.zeros_like(t)
    speed = np.maximum(speed_mps - decel_mps2 * t, 0.0)
    accel = np.where(speed > 0.0, -decel_mps2, 0.0)
    return Trajectory.through((50.0 * np.sin(angle), 50.0 - 50.0 * np.cos(angle), angle), zero + 0.02, speed, accel, t)


STOPS = st.builds(stopping, st.floats(1.0, 15.0), st.floats(3.0, 8.0))


@settings(deadline=None)  # a busy machine is no bug
@given(STOPS, st.floats(-1.0, 8.0))
def test_a_point_in_time_is_interpolated_as_numpy_does(trajectory: Trajectory, time_s: float) -> None:
    curve = trajectory.curve
    columns = (
        trajectory.time_s, curve.s_m, curve.x_m, curve.y_m, curve.yaw_rad, curve.curvature_1pm,
        trajectory.speed_mps, trajectory.accel_mps2,
    )  # fmt: skip
    expected = tuple(float(np.interp(time_s, trajectory.time_s, column)) for column in columns)
    assert astuple(trajectory.at(time_s)) == expected


@settings(deadline=None)  # a busy machine is no bug
@given(STOPS, st.floats(0.0, 1.0))
def test_time_and_distance_lead_to_the_same_point(trajectory: Trajectory, share: float) -> None:
    moving_s = float(trajectory.time_s[np.flatnonzero(trajectory.speed_mps > 0.5)[-1]])
    by_time = trajectory.at(share * moving_s)
    assert astuple(trajectory.at_distance(by_time.s_m)) == pytest.approx(astuple(by_time), abs=1e-6)


def test_before_the_start_and_in_the_stand_at_the_end() -> None:
    trajectory = stopping(6.0, 3.0)
    assert trajectory.at(-1.0) == trajectory.at(0.0) == trajectory.at_distance(-5.0)
    assert trajectory.at(0.0).speed_mps == 6.0
    end = trajectory.at_distance(99.0)
    assert (end.time_s, end.speed_mps, end.accel_mps2) == (6.0, 0.0, 0.0)
    assert end == trajectory.at(7.0)
    assert end.s_m == pytest.approx(6.0, abs=0.01)


def test_a_single_point() -> None:
    one = stopping(6.0, 3.0)
    first = slice(0, 1)
    one = Trajectory(one.curve.part(first), one.speed_mps[first], one.accel_mps2[first], one.time_s[first])
    assert one.at(3.0) == one.at_distance(3.0) == one.at(0.0)


def test_arrays_that_do_not_fit_are_refused() -> None:
    good = stopping(6.0, 3.0)
    with pytest.raises(ValueError, match="for each point"):
        Trajectory(good.curve, good.speed_mps[1:], good.accel_mps2, good.time_s)
    with pytest.raises(ValueError, match="must increase"):
        Trajectory(good.curve, good.speed_mps, good.accel_mps2, np.zeros(61))
