"""Vehicles on slopes, decks, kerbs and in the air, and the fleet's book-keeping."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from embedded_carla.types import Transform, VehicleControl
from embedded_carla.world.vehicles.bank import AIR_DENSITY_KGPM3
from embedded_carla.world.vehicles.fleet import VehicleFleet
from tests.embedded_carla.world.analytic_ground import SEDAN, FormulaGround, flat, nothing, slope

DT = 0.05


def placed(ground: FormulaGround, pose: Transform) -> VehicleFleet:
    fleet = VehicleFleet(ground)
    fleet.add(SEDAN, pose)
    return fleet


def run(fleet: VehicleFleet, seconds: float) -> None:
    for _ in range(round(seconds / DT)):
        fleet.step(DT, 0.0)


@pytest.mark.parametrize(
    "control", [VehicleControl(brake=1.0), VehicleControl(brake=0.4), VehicleControl(hand_brake=True)]
)
@pytest.mark.parametrize("yaw_deg", [0.0, 30.0, 90.0, 180.0])
def test_brakes_hold_a_car_on_a_hill(control: VehicleControl, yaw_deg: float) -> None:
    fleet = placed(slope(0.15), Transform(yaw_deg=yaw_deg))
    fleet.set_control(0, control)
    run(fleet, 20.0)
    np.testing.assert_allclose(fleet.location[0], 0.0, atol=1e-3)
    np.testing.assert_allclose(fleet.velocity[0], 0.0, atol=1e-9)


@pytest.mark.parametrize("drop_m", [0.0, 0.3])
@pytest.mark.parametrize("yaw_deg", [0.0, 30.0, 90.0, 180.0])
def test_a_car_that_nobody_has_driven_stays_on_a_hill(yaw_deg: float, drop_m: float) -> None:
    fleet = placed(slope(0.15), Transform(z=drop_m, yaw_deg=yaw_deg))
    run(fleet, 20.0)
    np.testing.assert_allclose(fleet.location[0, :2], 0.0, atol=5e-3)
    np.testing.assert_allclose(fleet.velocity[0], 0.0, atol=1e-9)


@pytest.mark.parametrize("turns", [-1, 1, 2])
def test_a_pose_may_be_whole_turns_off(turns: int) -> None:
    """CARLA's waypoints have pitches such as 360.7 degrees: on a bridge of Town04, a car fell through the deck."""
    near, far = (
        placed(slope(0.02), Transform(z=0.3, pitch_deg=0.7 + 360.0 * n, yaw_deg=360.0 * n)) for n in (0, turns)
    )
    run(near, 2.0)
    run(far, 2.0)
    np.testing.assert_allclose(far.location, near.location, atol=1e-6)
    np.testing.assert_allclose(far.rotation_deg, near.rotation_deg, atol=1e-6)
    assert abs(far.location[0, 2]) < 0.05


def test_without_brakes_a_car_that_moves_rolls_down_the_hill_as_gravity_pulls() -> None:
    fleet = placed(slope(0.10), Transform())
    fleet.velocity[0] = (-0.3, 0.0, 0.0)
    run(fleet, 2.0)
    pull = 9.81 * 0.10 / (1 + 0.10**2) - 0.012 * 9.81
    assert fleet.location[0, 0] < 0.0
    assert fleet.velocity[0, 0] == pytest.approx(-0.3 - 2.0 * pull, rel=0.12)  # engine braking grows with the speed


@pytest.mark.parametrize(("grade", "reverse"), [(0.05, False), (0.15, False), (-0.10, False), (-0.10, True)])
def test_what_has_stopped_on_a_hill_stays_there_until_it_gets_throttle_in_gear(grade: float, reverse: bool) -> None:
    """scenario_runner's vehicles stop with the brake and let go of it."""
    fleet = placed(slope(grade), Transform())
    idle = VehicleControl(reverse=True, gear=-1) if reverse else VehicleControl()
    fleet.set_control(0, replace(idle, throttle=0.6))
    run(fleet, 2.0)
    assert abs(fleet.velocity[0, 0]) > 1.0
    fleet.set_control(0, replace(idle, brake=1.0))
    run(fleet, 2.0)
    stood = fleet.location[0].copy()
    for control in (idle, VehicleControl(throttle=1.0, manual_gear_shift=True, gear=0)):
        fleet.set_control(0, control)
        run(fleet, 10.0)
        np.testing.assert_allclose(fleet.location[0], stood, atol=0.01)
    fleet.set_control(0, replace(idle, throttle=0.6))
    run(fleet, 2.0)
    assert (stood[0] - fleet.location[0, 0] if reverse else fleet.location[0, 0] - stood[0]) > 0.5


def test_what_stands_on_a_hill_in_neutral_rolls_once_it_is_pushed() -> None:
    fleet = placed(slope(0.10), Transform())
    fleet.set_control(0, VehicleControl(manual_gear_shift=True, gear=0))
    run(fleet, 2.0)
    stood = fleet.location[0].copy()
    fleet.velocity[0] = (-0.3, 0.0, 0.0)
    run(fleet, 2.0)
    assert stood[0] - fleet.location[0, 0] > 1.5


def test_a_car_pushed_against_its_gear_is_slowed_by_the_engine() -> None:
    ends = []
    for has_driven in (False, True):
        fleet = placed(flat(), Transform())
        fleet.set_control(0, VehicleControl(throttle=0.1 if has_driven else 0.0))
        run(fleet, DT)
        fleet.set_control(0, VehicleControl())
        fleet.velocity[0] = (-3.0, 0.0, 0.0)
        run(fleet, 0.5)
        ends.append(float(fleet.velocity[0, 0]))
    assert ends[0] == pytest.approx(-3.0, abs=0.2)
    assert ends[1] > ends[0] + 1.0


def test_climbing_costs_speed() -> None:
    ends = []
    for grade in (0.0, 0.08):
        fleet = placed(slope(grade), Transform())
        fleet.set_control(0, VehicleControl(throttle=0.5))
        run(fleet, 6.0)
        ends.append(fleet.velocity[0, 0])
    assert ends[1] < ends[0] - 3.0


def test_attitude_follows_the_ground() -> None:
    east, south, yaw = 0.12, -0.05, math.radians(40.0)
    fleet = placed(slope(east, south), Transform(yaw_deg=40.0))
    fleet.set_control(0, VehicleControl(brake=1.0))
    run(fleet, 3.0)
    ahead = east * math.cos(yaw) + south * math.sin(yaw)
    right = -east * math.sin(yaw) + south * math.cos(yaw)
    assert fleet.rotation_deg[0, 0] == pytest.approx(math.degrees(math.atan(ahead)), abs=0.01)
    assert fleet.rotation_deg[0, 2] == pytest.approx(-math.degrees(math.atan(right)), abs=0.01)
    # Nose up and right side down agree with the matrix that clients see.
    m = Transform(0, 0, 0, *fleet.rotation_deg[0]).matrix()
    assert m[2, 0] > 0
    assert np.sign(m[2, 1]) == np.sign(right)


def test_a_car_dropped_half_a_metre_settles() -> None:
    fleet = placed(flat(), Transform(z=0.5))
    lowest = 0.5
    for _ in range(60):
        fleet.step(DT, 0.0)
        lowest = min(lowest, float(fleet.location[0, 2]))
    assert lowest > -0.16
    assert fleet.location[0, 2] == pytest.approx(0.0, abs=1e-3)
    np.testing.assert_allclose(fleet.acceleration[0], 0.0, atol=1e-2)


def test_falling_is_free_and_without_ground_it_never_ends() -> None:
    fleet = placed(nothing(), Transform(z=100.0))
    fleet.set_velocity(0, (5.0, 0.0, 0.0))
    fleet.set_control(0, VehicleControl(throttle=1.0, brake=1.0, steer=1.0))
    run(fleet, 4.0)
    assert fleet.velocity[0, 2] == pytest.approx(-9.81 * 4.0)
    assert fleet.location[0, 2] == pytest.approx(100.0 - 0.5 * 9.81 * 16.0)
    drag = 0.5 * AIR_DENSITY_KGPM3 * SEDAN.drag_area_m2 / SEDAN.mass_kg
    assert fleet.velocity[0, 0] == pytest.approx(5.0 / (1 + drag * 5.0 * 4.0), rel=1e-4)  # only the air slows it


def test_a_long_fall_ends_on_the_ground() -> None:
    fleet = placed(flat(), Transform(z=40.0))
    run(fleet, 6.0)
    assert fleet.location[0, 2] == pytest.approx(0.0, abs=1e-3)


def test_a_car_sunk_into_the_road_comes_up() -> None:
    fleet = placed(flat(), Transform(z=-0.6))
    run(fleet, 2.0)
    assert fleet.location[0, 2] == pytest.approx(0.0, abs=1e-3)


def test_parked_far_below_without_physics_it_stays() -> None:
    pose = Transform(3.0, 4.0, -50.0, 1.0, 2.0, 3.0)
    fleet = placed(flat(), pose)
    fleet.physics[0] = False
    fleet.set_control(0, VehicleControl(throttle=1.0))
    run(fleet, 5.0)
    np.testing.assert_array_equal(fleet.location[0], pose.location)
    np.testing.assert_array_equal(fleet.rotation_deg[0], (1.0, 2.0, 3.0))


def test_without_gravity_it_floats() -> None:
    fleet = placed(flat(), Transform(z=3.0))
    fleet.gravity[0] = False
    run(fleet, 2.0)
    assert fleet.location[0, 2] == 3.0


def test_a_bridge_carries_above_and_lets_pass_below() -> None:
    ground = FormulaGround(lambda x, y: 0.0 * x, lambda x, y: np.where(np.abs(x - 30) < 20, 6.0, np.nan))
    for z, road in ((6.2, 1), (0.2, 0)):
        fleet = placed(ground, Transform(x=12.0, z=z))
        fleet.set_velocity(0, (10.0, 0.0, 0.0))
        run(fleet, 2.0)
        assert fleet.location[0, 2] == pytest.approx(z - 0.2, abs=1e-3)
        assert fleet.road[0] == road


def test_a_kerb_is_climbed_smoothly() -> None:
    fleet = placed(FormulaGround(lambda x, y: np.where(x > 6, 0.15, 0.0)), Transform())
    fleet.set_velocity(0, (6.0, 0.0, 0.0))
    rates = []
    for _ in range(60):
        fleet.step(DT, 0.0)
        rates.append(abs(fleet.velocity[0, 2]))
    assert fleet.location[0, 0] > 8.0
    assert fleet.location[0, 2] == pytest.approx(0.15, abs=1e-3)
    assert max(rates) < 1.0


def test_a_crest_at_speed_lets_the_car_fly_and_land() -> None:
    fleet = placed(
        FormulaGround(lambda x, y: np.where(x < 40, 0.2 * x, np.maximum(8 - 0.3 * (x - 40), 0))), Transform()
    )
    fleet.set_velocity(0, (30.0, 0.0, 6.0))
    flown = False
    for _ in range(160):
        fleet.step(DT, 0.0)
        ground = fleet._ground.below(fleet.location[:1]).z[0]  # the same formula
        flown |= fleet.location[0, 2] - ground > 0.5
    assert flown
    assert fleet.location[0, 2] == pytest.approx(0.0, abs=0.02)


def test_angular_velocity_agrees_with_the_turning_of_the_axes() -> None:
    """w from R(t+dt) R(t)^T = exp([w dt]x), for a car turning on a slope."""
    fleet = placed(slope(0.1, 0.06), Transform(yaw_deg=20.0))
    fleet.set_control(0, VehicleControl(throttle=0.5, steer=0.5))
    run(fleet, 3.0)
    before = Transform(0, 0, 0, *fleet.rotation_deg[0]).matrix()[:3, :3]
    fleet.step(0.01, 0.0)
    after = Transform(0, 0, 0, *fleet.rotation_deg[0]).matrix()[:3, :3]
    skew = (after @ before.T - before @ after.T) / 2 / 0.01
    turned = np.degrees([skew[2, 1], skew[0, 2], skew[1, 0]])
    assert abs(turned[2]) > 5.0
    # Rates about the body's own tilted axes are taken as horizontal: right to the sine of the slope.
    np.testing.assert_allclose(fleet.angular_velocity_degps[0], turned, atol=0.15 * abs(turned[2]))


def test_impulses_and_forces_do_as_newton_says() -> None:
    fleet = placed(nothing(), Transform(z=50.0))
    fleet.gravity[0] = False
    fleet.add_impulse(0, (1600.0, -800.0, 320.0))
    np.testing.assert_allclose(fleet.velocity[0], (1.0, -0.5, 0.2))
    fleet.set_velocity(0, (0.0, 0.0, 0.0))
    fleet.add_force(0, (0.0, 3200.0, 0.0))
    fleet.step(DT, 0.0)
    fleet.step(DT, 0.0)
    assert fleet.velocity[0, 1] == pytest.approx(2.0 * DT, rel=1e-3)
    fleet.add_angular_impulse(0, (0.0, 0.0, 1600.0))
    expected = math.degrees(1600.0 / (1600.0 * (2.4**2 + 0.95**2) / 3))
    assert fleet.angular_velocity_degps[0, 2] == pytest.approx(expected)


def test_constant_velocity_ignores_the_pedals() -> None:
    fleet = placed(slope(0.05), Transform(yaw_deg=90.0))
    fleet.hold_velocity(0, (7.0, 0.0, 0.0))
    fleet.set_control(0, VehicleControl(brake=1.0))
    run(fleet, 2.0)
    assert fleet.velocity[0, 1] == pytest.approx(7.0)
    fleet.hold_velocity(0, None)
    run(fleet, 3.0)
    assert fleet.velocity[0, 1] == 0.0


def test_slots_stay_and_are_used_again() -> None:
    fleet = VehicleFleet(flat())
    slots = [fleet.add(SEDAN, Transform(x=20.0 * i)) for i in range(40)]
    assert slots == list(range(40))
    fleet.set_control(7, VehicleControl(throttle=1.0))
    fleet.remove(3)
    run(fleet, 1.0)
    assert fleet.location[7, 0] > 141.0
    assert fleet.location[39, 0] == 780.0
    assert fleet.add(SEDAN, Transform(x=-5.0)) == 3
    np.testing.assert_array_equal(fleet.velocity[3], 0.0)
    with pytest.raises(KeyError, match="slot 99"):
        VehicleFleet(flat()).spec(99)


def test_manual_gear_neutral_does_not_drive() -> None:
    fleet = placed(flat(), Transform())
    fleet.set_control(0, VehicleControl(throttle=1.0, manual_gear_shift=True, gear=0))
    run(fleet, 1.0)
    assert fleet.location[0, 0] == 0.0
    fleet.set_control(0, VehicleControl(throttle=1.0, manual_gear_shift=True, gear=-1))
    run(fleet, 1.0)
    assert fleet.location[0, 0] < -0.5
