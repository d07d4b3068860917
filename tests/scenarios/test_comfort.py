"""What is comfortable, and what jerk is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import savgol_filter

from av_core.types import Float
from scenarios.judging.comfort import BOUNDS, ORDER, SAMPLE_S, SMOOTHING, Comfort, Ride, comfortable, slopes, smoothed
from tests.scenarios.judged_drives import STEP_S, show, tick_of

TIME_S: Float = np.linspace(0.0, 1.9, 20)


def motion(forward: Float | float = 0.0, sideways: Float | float = 0.0, turning: Float | float = 0.0) -> Float:
    return np.stack([np.broadcast_to(np.asarray(values, dtype=float), 20) for values in (forward, sideways, turning)])


def ramp(low: float, high: float, slope: float) -> Float:
    return np.clip(slope * (TIME_S - 1.0), low, high)


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("longitudinal_acceleration", motion(forward=-4.1)),
        ("longitudinal_acceleration", motion(forward=2.45)),
        ("lateral_acceleration", motion(sideways=-4.95)),
        ("longitudinal_jerk", motion(forward=ramp(-3.6, 1.9, 4.6))),
        ("jerk", motion(sideways=ramp(0.0, 4.5, 20.0))),
        ("yaw_rate", motion(turning=0.96)),
        ("yaw_acceleration", motion(turning=ramp(-0.9, 0.9, 2.4))),
    ],
)
def test_each_bound_alone_makes_a_window_uncomfortable(name: str, moved: Float) -> None:
    assert [bound for bound, good in comfortable(moved).items() if not good.all()] == [name]


def test_right_inside_all_bounds_is_comfortable() -> None:
    good = comfortable(motion(forward=ramp(-4.0, 2.3, 3.6), sideways=4.8, turning=ramp(-0.9, 0.9, 1.6)))
    assert all(good[name].all() for name in BOUNDS)


def test_each_window_counts_for_itself_and_a_rest_not_at_all() -> None:
    moved = np.concatenate([motion(), motion(forward=3.0), motion(forward=3.0)[:, :19]], axis=1)
    assert comfortable(moved)["longitudinal_acceleration"].tolist() == [True, False]


def ride(speed_mps: Float, yaw_rad: Float | None = None) -> Comfort | None:
    """A ride with speeds and headings at 20 Hz."""
    watched = Ride()
    yaw = np.zeros(len(speed_mps)) if yaw_rad is None else yaw_rad
    show(
        watched,
        (
            tick_of(0.0, 0.0, float(turn), speed_mps=float(speed), time_s=number * STEP_S)
            for number, (speed, turn) in enumerate(zip(speed_mps, yaw, strict=True))
        ),
    )
    return watched.figures((80.0, 120.0))


def test_a_steady_drive() -> None:
    found = ride(np.full(200, 10.0))
    assert found is not None
    assert found.longitudinal_jerk_max_mps3 == pytest.approx(0.0)
    assert found.lateral_jerk_max_mps3 == pytest.approx(0.0)
    assert found.comfortable_share == 1.0
    assert found.efficiency_percent == 100.0


def test_jerk_is_the_change_of_acceleration() -> None:
    time_s: Float = np.linspace(0.0, 59 * STEP_S, 60)
    found = ride(0.5 * 0.7 * time_s**2)
    assert found is not None
    assert found.longitudinal_jerk_rms_mps3 == pytest.approx(0.7, abs=0.05)
    found = ride(np.full(60, 10.0), 0.5 * 0.1 * time_s**2)  # lateral acceleration 10 m/s times 0.1 rad/s2 times t
    assert found is not None
    assert found.lateral_jerk_rms_mps3 == pytest.approx(1.0, abs=0.07)
    assert found.longitudinal_jerk_rms_mps3 == pytest.approx(0.0, abs=1e-6)


def test_a_heading_that_passes_pi_is_no_turn() -> None:
    yaw_rad = np.where(np.arange(60) % 2 == 0, np.pi - 1e-6, -np.pi + 1e-6)
    found = ride(np.full(60, 10.0), yaw_rad)
    assert found is not None
    assert found.comfortable_share == 1.0


def test_a_ride_of_half_a_second_says_nothing() -> None:
    assert ride(np.full(10, 5.0)) is None


@pytest.mark.parametrize("count", [SMOOTHING, SMOOTHING + 1, 200])
def test_the_filter_is_scipys(count: int) -> None:
    values = np.random.default_rng(1).normal(size=(3, count))
    assert smoothed(values) == pytest.approx(savgol_filter(values, SMOOTHING, ORDER), abs=1e-12)
    assert slopes(values) == pytest.approx(savgol_filter(values, SMOOTHING, ORDER, deriv=1, delta=SAMPLE_S), abs=1e-12)
