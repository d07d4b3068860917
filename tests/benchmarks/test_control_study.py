"""The control study's references, measures and verdicts, without a server."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.curve import Curve
from av_core.types import EgoState, Stamp
from benchmarks.control import tables
from benchmarks.control.drives import Trace, figures_of, swings_of
from benchmarks.control.manoeuvres import MANOEUVRES, RUN_UP_S, STEP_S, Reference
from benchmarks.control.peer import PublishedPid

TIME_S = np.arange(0.0, 10.0, STEP_S)


def trace(lateral_m: np.ndarray, curvature: np.ndarray | None = None) -> Trace:
    zero = np.zeros_like(TIME_S)
    return Trace(TIME_S, lateral_m, zero, zero, zero if curvature is None else curvature, zero, zero, False)


@pytest.mark.parametrize("make", MANOEUVRES)
@pytest.mark.parametrize("speed_mps", [5.0, 20.0, 35.0])
def test_no_reference_asks_for_more_than_its_limit(make: object, speed_mps: float) -> None:
    assert callable(make)
    reference = make(speed_mps, 2.0)
    assert isinstance(reference, Reference)
    assert np.abs(reference.path.curvature_1pm).max() * speed_mps**2 < 2.0 * 1.08  # of the path, not of the time
    assert reference.speed_mps[: round(RUN_UP_S / STEP_S)] == pytest.approx(speed_mps)


def test_one_overshoot_is_no_oscillation_but_ringing_is() -> None:
    decay = np.exp(-TIME_S)
    assert swings_of(trace(decay)) == 0
    assert swings_of(trace(decay * np.cos(2.0 * TIME_S))) == 1
    assert swings_of(trace(np.cos(3.0 * TIME_S))) >= 8


def test_an_error_that_stays_is_no_oscillation() -> None:
    assert swings_of(trace(0.3 + 0.02 * np.sin(5.0 * TIME_S))) == 0


def test_the_figures_of_a_step() -> None:
    found = figures_of(trace(np.where(TIME_S < 2.0, -1.0, 0.2 * (TIME_S < 3.0))))
    assert found.overshoot_m == pytest.approx(0.2)
    assert found.settling_s == pytest.approx(3.0)
    assert found.lateral_max_m == 1.0


def test_the_verdicts_name_the_drives_that_fail() -> None:
    base = {"road": "wet", "manoeuvre": "sine", "speed_mps": 5.0, "lateral_rms_m": 0.1, "speed_rms_mps": 0.1}
    base |= {"swings": 0, "is_lost": False, "overshoot_m": 0.0, "settling_s": None}
    bad = base | {"speed_mps": 10.0, "lateral_rms_m": 0.3, "swings": 2}
    drives = [base | {"controller": tables.OURS}, base | {"controller": tables.PUBLISHED, "lateral_rms_m": 0.2}]
    drives += [bad | {"controller": tables.OURS}, bad | {"controller": tables.PUBLISHED, "lateral_rms_m": 0.2}]
    text = tables.goals(drives)
    assert "| wet | lateral error | 1 of 2 | sine 10 |" in text
    assert "| wet | speed error | 2 of 2 | none |" in text
    assert "| wet | no oscillation | 1 of 2 | sine 10 |" in text
    assert "| wet | better than CARLA's | 1 of 2 | sine 10 |" in text


def test_the_peer_steers_with_the_published_gains() -> None:
    """A target straight ahead to the left by 0.1 rad: 1.95 x 0.1, and the integral of one error is not counted yet."""
    peer = PublishedPid(1.4)
    direction = np.array([np.cos(0.1), np.sin(0.1)])
    x, y = np.outer(direction, np.arange(0.0, 101.0)) + np.array([[1.4], [0.0]])
    peer.follow(Curve.through(x, y), 0.0)
    ego = EgoState(Stamp(0, 0.0), 0.0, 0.0, 0.0, 10.0, 0.0, 0.0, np.eye(4))
    command = peer.step(10.0, ego)
    assert command.steer == pytest.approx(0.1)  # 0.195, but at most 0.1 a step
    again = peer.step(10.1, ego)
    assert again.steer == pytest.approx(1.95 * 0.1 + 0.05 * 2 * 0.1 * 0.05, abs=1e-6)
    assert again.throttle == pytest.approx(0.36 + 0.05 * 0.36 * 0.05)
    assert again.brake == 0.0
