"""The steering loop's stability margins against cases that can be computed by hand, and against a drive."""

from __future__ import annotations

import numpy as np
import pytest

from control.config import LateralConfig
from control.margins import Axles, margins

AHEAD_M, SPEED_MPS = 10.0, 10.0
KINEMATIC = LateralConfig(
    look_ahead_min_m=AHEAD_M,
    look_ahead_gain_s=0.0,
    damping=1.0,
    integral_per_s=0.0,
    latency_s=0.0,
    rear_slip_rad_per_mps2=0.0,
    understeer_rad_per_mps2=0.0,
)
"""Without slip the loop is 4 (1 + u) / u^2 with u = s x / v: |L| = 1 at |u|^2 = 8 + sqrt(80), phase margin atan |u|."""

CROSSOVER_RADPS = float(np.sqrt(8.0 + np.sqrt(80.0))) * SPEED_MPS / AHEAD_M
PHASE_DEG = float(np.degrees(np.arctan(CROSSOVER_RADPS * AHEAD_M / SPEED_MPS)))


def test_the_margins_of_a_car_without_slip_are_those_computed_by_hand() -> None:
    found = margins(KINEMATIC, 2.9, SPEED_MPS, 0.0)
    assert found.crossover_radps == pytest.approx(CROSSOVER_RADPS, rel=2e-3)
    assert found.phase_deg == pytest.approx(PHASE_DEG, abs=0.1)
    assert found.gain == float("inf")


@pytest.mark.parametrize("delay_s", [0.05, 0.1, 0.3])
def test_a_delay_takes_its_phase_at_the_crossover(delay_s: float) -> None:
    found = margins(KINEMATIC, 2.9, SPEED_MPS, delay_s)
    assert found.phase_deg == pytest.approx(PHASE_DEG - np.degrees(CROSSOVER_RADPS * delay_s), abs=0.1)


def test_at_the_delay_of_the_phase_margin_no_gain_is_left() -> None:
    delay_s = np.radians(PHASE_DEG) / CROSSOVER_RADPS
    assert margins(KINEMATIC, 2.9, SPEED_MPS, 0.99 * delay_s).gain == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("speed_mps", [5.0, 15.0, 25.0, 35.0])
@pytest.mark.parametrize("understeer", [0.0, 0.0042])
def test_the_default_gains_are_stable_dry_and_wet(speed_mps: float, understeer: float) -> None:
    """Wet: three quarters of the cornering stiffness, which the controller does not know of yet."""
    config = LateralConfig(understeer_rad_per_mps2=understeer)
    for softness in (1.0, 1.0 / 0.73):
        found = margins(config, 2.9, speed_mps, 0.025, Axles.of(config, softness))
        assert found.phase_deg > 45.0
        assert found.gain > 2.0


def test_softer_tyres_leave_less_phase() -> None:
    config = LateralConfig()
    phases = [margins(config, 2.9, 30.0, 0.025, Axles.of(config, softness)).phase_deg for softness in (1.0, 1.4, 3.7)]
    assert phases == sorted(phases, reverse=True)


def test_a_loop_whose_gain_never_falls_has_no_margin() -> None:
    """So far ahead in time does the pose run that the yaw rate alone closes the loop."""
    assert margins(LateralConfig(latency_s=0.7), 2.85, 35.0, 0.6).phase_deg < 0.0
