"""Walkers go where they are told, climb kerbs, fall and jump."""

from __future__ import annotations

import math

import numpy as np
import pytest

from embedded_carla.types import Transform, WalkerControl
from embedded_carla.world.walkers.crowd import GRAVITY_MPS2, JUMP_MPS, WalkerCrowd
from embedded_carla.world.walkers.kernel import STRIDE_M
from tests.embedded_carla.world.analytic_ground import FormulaGround, flat, nothing, slope

DT = 0.05


def crowd_on(ground: FormulaGround, pose: Transform | None = None) -> WalkerCrowd:
    crowd = WalkerCrowd(ground)
    crowd.add(pose or Transform())
    return crowd


def run(crowd: WalkerCrowd, seconds: float) -> None:
    for _ in range(round(seconds / DT)):
        crowd.step(DT)


def test_a_walker_reaches_its_speed_and_looks_ahead() -> None:
    crowd = crowd_on(flat())
    crowd.set_control(0, WalkerControl((0.0, -2.0, 5.0), 1.4))  # only the horizontal direction counts
    run(crowd, 3.0)
    np.testing.assert_allclose(crowd.velocity[0], (0.0, -1.4, 0.0), atol=1e-9)
    assert crowd.rotation_deg[0, 1] == pytest.approx(-90.0)
    assert crowd.location[0, 1] == pytest.approx(-1.4 * 3.0, abs=0.2)
    assert crowd.phase_rad[0] == pytest.approx((-2 * math.pi * crowd.location[0, 1] / STRIDE_M) % (2 * math.pi))
    crowd.set_control(0, WalkerControl((0.0, -1.0, 0.0), 0.0))
    run(crowd, 1.0)
    np.testing.assert_allclose(crowd.velocity[0], 0.0, atol=1e-9)
    assert crowd.rotation_deg[0, 1] == pytest.approx(-90.0)


def test_a_kerb_is_climbed_and_a_wall_is_not() -> None:
    crowd = crowd_on(FormulaGround(lambda x, y: np.where(x > 8, 0.9, np.where(x > 3, 0.15, 0.0))))
    crowd.set_control(0, WalkerControl((1.0, 0.0, 0.0), 1.4))
    run(crowd, 4.0)
    assert crowd.location[0, 2] == pytest.approx(0.15)
    run(crowd, 6.0)
    assert 7.5 < crowd.location[0, 0] <= 8.0
    assert crowd.location[0, 2] == pytest.approx(0.15)
    crowd.set_control(0, WalkerControl((-1.0, 0.0, 0.0), 1.4))
    run(crowd, 6.0)
    assert crowd.location[0, 2] == pytest.approx(0.0)


def test_feet_stay_on_a_slope_both_ways() -> None:
    for direction in (1.0, -1.0):
        crowd = crowd_on(slope(0.2))
        crowd.set_control(0, WalkerControl((direction, 0.0, 0.0), 2.0))
        for _ in range(100):
            crowd.step(DT)
            assert crowd.location[0, 2] == pytest.approx(0.2 * crowd.location[0, 0], abs=0.03)


def test_a_walker_put_too_high_falls_and_stands() -> None:
    crowd = crowd_on(flat(), Transform(z=1.0))
    run(crowd, 1.5)
    assert crowd.location[0, 2] == 0.0
    assert crowd.velocity[0, 2] == 0.0


def test_without_ground_it_falls_freely_and_without_gravity_it_hangs() -> None:
    crowd = crowd_on(nothing(), Transform(z=10.0))
    crowd.add(Transform(z=10.0))
    crowd.gravity[1] = False
    run(crowd, 1.0)
    assert crowd.velocity[0, 2] == pytest.approx(-GRAVITY_MPS2)
    assert crowd.location[1, 2] == 10.0


def test_a_jump_goes_as_high_as_its_speed_gives_and_happens_once() -> None:
    crowd = crowd_on(flat())
    crowd.set_control(0, WalkerControl((1.0, 0.0, 0.0), 0.0, jump=True))
    heights = []
    for _ in range(60):
        crowd.step(DT)
        heights.append(crowd.location[0, 2])
    assert max(heights) == pytest.approx(JUMP_MPS**2 / (2 * GRAVITY_MPS2), abs=0.15)
    assert heights[-1] == 0.0


def test_a_walker_without_physics_stays_and_strides_when_a_client_moves_it() -> None:
    crowd = crowd_on(flat(), Transform(z=5.0))
    crowd.physics[0] = False
    crowd.set_control(0, WalkerControl((1.0, 0.0, 0.0), 2.0))
    run(crowd, 1.0)
    assert crowd.location[0].tolist() == [0.0, 0.0, 5.0]
    crowd.set_state(0, Transform(y=0.07, z=5.0, yaw_deg=70.0), 1.4)
    np.testing.assert_allclose(crowd.velocity[0], (0.0, 1.4, 0.0), atol=1e-12)
    assert crowd.phase_rad[0] == pytest.approx(2 * np.pi * 0.07 / STRIDE_M)
    run(crowd, 1.0)
    assert crowd.velocity[0].tolist() == [0.0, 0.0, 0.0]


def test_a_placed_walker_stands_on_the_ground_near_it() -> None:
    crowd = crowd_on(flat())
    crowd.physics[0] = False
    for k in range(20):
        crowd.set_state(0, Transform(x=0.07 * k, z=0.15), 1.4)
        crowd.step(DT)
    assert crowd.location[0].tolist() == pytest.approx([0.07 * 19, 0.0, 0.0])


def test_slots_stay_and_are_used_again() -> None:
    crowd = WalkerCrowd(flat())
    assert [crowd.add(Transform(x=float(i))) for i in range(30)] == list(range(30))
    crowd.set_control(5, WalkerControl((1.0, 0.0, 0.0), 1.0))
    crowd.remove(2)
    run(crowd, 1.0)
    assert crowd.location[5, 0] > 5.5
    assert crowd.location[29, 0] == 29.0
    assert crowd.add(Transform()) == 2
    assert crowd.control(2) == WalkerControl()
