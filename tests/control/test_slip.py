"""What the controller learns about its tyres from a bend."""

from __future__ import annotations

import pytest

from control.slip import SOFTNESS_MAX, TyreSoftness

WHEELBASE_M, UNDERSTEER, SPEED_MPS, STEP_S = 2.85, 0.0042, 20.0, 0.05


def learnt(softness: float, accel_mps2: float, understeer: float = UNDERSTEER, seconds: float = 5.0) -> float:
    """The factor after a steady bend of a car whose tyres are softer by `softness`."""
    tyres = TyreSoftness(WHEELBASE_M, understeer, STEP_S)
    wheel = WHEELBASE_M * accel_mps2 / SPEED_MPS**2 + softness * understeer * accel_mps2
    for _ in range(round(seconds / STEP_S)):
        tyres.step(wheel, accel_mps2 / SPEED_MPS, SPEED_MPS)
    return tyres.factor


@pytest.mark.parametrize("accel_mps2", [-2.5, 2.5])
@pytest.mark.parametrize("softness", [1.0, 1.4, 3.0])
def test_a_bend_teaches_how_soft_the_tyres_are(softness: float, accel_mps2: float) -> None:
    assert learnt(softness, accel_mps2) == pytest.approx(softness, rel=0.02)


def test_nothing_is_learnt_where_the_car_hardly_turns() -> None:
    assert learnt(3.0, 0.3) == 1.0


def test_the_factor_has_bounds() -> None:
    assert learnt(0.3, 2.5) == 1.0
    assert learnt(50.0, 2.5) == SOFTNESS_MAX


@pytest.mark.parametrize("understeer", [0.0, 3e-5])
def test_a_car_without_understeer_has_nothing_to_compare_with(understeer: float) -> None:
    assert learnt(3.0, 2.5, understeer) == 1.0
