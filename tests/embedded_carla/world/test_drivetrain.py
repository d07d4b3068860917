"""Engine, gears and pedals against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.types import Transform, VehicleControl, VehicleSpec
from embedded_carla.world.vehicles.bank import AIR_DENSITY_KGPM3, chassis_of
from embedded_carla.world.vehicles.classes import traits_of
from embedded_carla.world.vehicles.drivetrain import Drivetrain, Gear, drivetrain_of
from embedded_carla.world.vehicles.fleet import VehicleFleet
from tests.embedded_carla.world.analytic_ground import SEDAN, flat, slope

DT = 0.05
GRAVITY_MPS2 = 9.81
ROLLING = traits_of(SEDAN).rolling_resistance
SPECS = [b.vehicle for b in vehicle_blueprints() if b.vehicle is not None]
FLAT_300_NM = Drivetrain(
    ((0.0, 300.0), (6000.0, 300.0)), 6000.0, 0.2, 0.05, 0.12, 0.1, True, 0.2, 10.0, 4.0,
    (Gear(3.5, 0.4, 0.9), Gear(2.0, 0.4, 0.9), Gear(1.3, 0.4, 0.9), Gear(0.9, 0.4, 0.9)),
)  # fmt: skip


def car(spec: VehicleSpec = SEDAN, drivetrain: Drivetrain | None = FLAT_300_NM, speed_mps: float = 0.0) -> VehicleFleet:
    fleet = VehicleFleet(flat())
    fleet.add(spec, Transform())
    if drivetrain is not None:
        fleet.set_drivetrain(0, drivetrain)
    fleet.set_velocity(0, (speed_mps, 0.0, 0.0))
    return fleet


def in_gear(gear: int, throttle: float = 0.0, **others: float) -> VehicleControl:
    return VehicleControl(throttle=throttle, manual_gear_shift=True, gear=gear, **others)  # type: ignore[arg-type]


def acceleration(fleet: VehicleFleet) -> float:
    """m/s^2 over the next step."""
    before = float(fleet.velocity[0, 0])
    fleet.step(DT, 0.0)
    return (float(fleet.velocity[0, 0]) - before) / DT


def resistance_n(speed_mps: float) -> float:
    air = 0.5 * AIR_DENSITY_KGPM3 * SEDAN.drag_area_m2 * speed_mps**2
    return air + ROLLING * SEDAN.mass_kg * GRAVITY_MPS2


@pytest.mark.parametrize("throttle", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("gear", "speed_mps"), [(1, 9.0), (2, 15.0), (3, 20.0), (4, 30.0)])
def test_a_gear_gives_what_torque_ratio_and_inertia_say(gear: int, speed_mps: float, throttle: float) -> None:
    """(m + J i^2 / r^2) a = (T - d w) i / r - resistances."""
    d, fleet = FLAT_300_NM, car(speed_mps=speed_mps)
    fleet.set_control(0, in_gear(gear, throttle))
    per_m = d.gears[gear - 1].ratio * d.final_ratio / SEDAN.wheel_radius_m
    damping = d.damping_closed + (d.damping_full - d.damping_closed) * throttle
    force = (throttle * 300.0 - damping * per_m * speed_mps) * per_m - resistance_n(speed_mps)
    expected = force / (SEDAN.mass_kg + d.inertia_kgm2 * per_m**2)
    assert acceleration(fleet) == pytest.approx(expected, abs=0.02)
    assert fleet.gear[0] == gear
    assert fleet.engine_radps[0] == pytest.approx(per_m * speed_mps, rel=0.01)


def test_the_torque_curve_acts() -> None:
    """Halved torque halves the push; a torque that falls to nothing ends it."""
    halved = replace(FLAT_300_NM, torque_curve=((0.0, 150.0), (6000.0, 150.0)))
    falling = replace(FLAT_300_NM, torque_curve=((0.0, 300.0), (3000.0, 300.0), (4000.0, 0.0)))
    pushes = []
    for drivetrain in (FLAT_300_NM, halved, falling):
        coasting, driven = car(drivetrain=drivetrain, speed_mps=14.5), car(drivetrain=drivetrain, speed_mps=14.5)
        coasting.set_control(0, in_gear(2))
        driven.set_control(0, in_gear(2, 1.0))
        lossless = drivetrain.damping_closed - drivetrain.damping_full  # the pedal lessens the losses too
        per_m = 8.0 / SEDAN.wheel_radius_m
        mass = SEDAN.mass_kg + drivetrain.inertia_kgm2 * per_m**2
        pushes.append((acceleration(driven) - acceleration(coasting)) * mass - lossless * per_m**2 * 14.5)
    assert pushes[0] == pytest.approx(300.0 * per_m, rel=0.02)
    assert pushes[1] == pytest.approx(pushes[0] / 2, rel=0.02)
    assert 14.5 * per_m * 60 / math.tau == pytest.approx(3356.0, abs=2.0)
    assert pushes[2] == pytest.approx(pushes[0] * (4000 - 3356) / 1000, rel=0.03)


@pytest.mark.parametrize("gear", [1, 2, 3])
def test_no_gear_outruns_the_highest_engine_speed(gear: int) -> None:
    fleet = car()
    fleet.set_control(0, in_gear(gear, 1.0))
    for _ in range(1200):
        fleet.step(DT, 0.0)
    per_m = FLAT_300_NM.gears[gear - 1].ratio * FLAT_300_NM.final_ratio / SEDAN.wheel_radius_m
    limit = 6000.0 * math.tau / 60 / per_m
    assert 0.95 * limit < fleet.velocity[0, 0] < 1.01 * limit


def test_a_larger_final_ratio_pulls_harder_and_ends_sooner() -> None:
    ends = []
    for final in (3.0, 6.0):
        fleet = car(drivetrain=replace(FLAT_300_NM, final_ratio=final))
        fleet.set_control(0, in_gear(1, 1.0))
        for _ in range(12):
            fleet.step(DT, 0.0)
        early = float(fleet.velocity[0, 0])
        for _ in range(400):
            fleet.step(DT, 0.0)
        ends.append((early, float(fleet.velocity[0, 0])))
    assert ends[1][0] > 1.3 * ends[0][0]
    assert ends[1][1] == pytest.approx(ends[0][1] / 2, rel=0.03)


def test_an_automatic_goes_up_through_the_gears_and_comes_down_again() -> None:
    fleet, seen = car(), []
    fleet.set_control(0, VehicleControl(throttle=1.0))
    for _ in range(500):
        fleet.step(DT, 0.0)
        seen.append(int(fleet.gear[0]))
    assert seen == sorted(seen)
    assert set(seen) == {1, 2, 3, 4}
    fleet.set_control(0, VehicleControl(brake=0.5))
    seen.clear()
    for _ in range(400):
        fleet.step(DT, 0.0)
        seen.append(int(fleet.gear[0]))
    assert seen == sorted(seen, reverse=True)
    assert (fleet.velocity[0, 0], seen[-1]) == (0.0, 1)


def test_a_change_of_gear_interrupts_the_pull() -> None:
    gaps = []
    for switch_time in (0.0, 0.5):
        fleet = car(drivetrain=replace(FLAT_300_NM, switch_time_s=switch_time))
        fleet.set_control(0, VehicleControl(throttle=1.0))
        rates = [acceleration(fleet) for _ in range(120)]
        gaps.append(sum(rate < 0.0 for rate in rates))
    assert gaps[0] == 0
    assert gaps[1] >= 8  # half a second each, at least for one change


@pytest.mark.parametrize("throttle", [0.1, 0.3, 0.6])
def test_an_automatic_does_not_hunt(throttle: float) -> None:
    fleet, slots = VehicleFleet(flat()), range(len(SPECS))
    for slot, spec in enumerate(SPECS):
        fleet.add(spec, Transform(y=10.0 * slot))
        fleet.set_control(slot, VehicleControl(throttle=throttle))
    for _ in range(1600):
        fleet.step(DT, 0.0)
    changes, gear = np.zeros(len(SPECS)), fleet.gear[slots].copy()
    for _ in range(400):
        fleet.step(DT, 0.0)
        changes += fleet.gear[slots] != gear
        gear = fleet.gear[slots].copy()
    assert (changes <= 1).all(), [(spec.type_id, n) for spec, n in zip(SPECS, changes, strict=True) if n > 1]


def test_without_the_automatic_the_gear_stays() -> None:
    fleet = car(drivetrain=replace(FLAT_300_NM, is_automatic=False))
    fleet.set_control(0, VehicleControl(throttle=1.0))
    for _ in range(400):
        fleet.step(DT, 0.0)
    assert fleet.gear[0] == 1
    assert fleet.velocity[0, 0] < 15.2


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.type_id)
def test_each_models_engine_has_its_power_and_reaches_its_top_speed(spec: VehicleSpec) -> None:
    d = drivetrain_of(spec)
    rpm, torque_nm = np.array(d.torque_curve).T
    fine = np.linspace(0.0, d.max_rpm, 2000)
    power_w = np.interp(fine, rpm, torque_nm) * fine * math.tau / 60
    assert power_w.max() == pytest.approx(spec.power_w, rel=0.02)
    top_mps = d.max_rpm * math.tau / 60 / (d.gears[-1].ratio * d.final_ratio) * spec.wheel_radius_m
    assert top_mps == pytest.approx(spec.top_speed_mps, rel=1e-6)
    ratios = [gear.ratio for gear in d.gears]
    assert ratios == sorted(ratios, reverse=True)


def test_reverse_drives_backwards_but_not_fast() -> None:
    fleet = car()
    fleet.set_control(0, VehicleControl(throttle=1.0, reverse=True))
    for _ in range(600):
        fleet.step(DT, 0.0)
    assert fleet.gear[0] == -1
    assert -13.0 < fleet.velocity[0, 0] < -8.0
    fleet.set_control(0, VehicleControl(throttle=1.0))
    for _ in range(100):
        fleet.step(DT, 0.0)
    assert fleet.gear[0] >= 1
    assert fleet.velocity[0, 0] > 5.0


def test_neutral_revs_the_engine_and_moves_nothing() -> None:
    fleet = car()
    fleet.set_control(0, in_gear(0, 1.0))
    fleet.step(DT, 0.0)
    assert fleet.velocity[0, 0] == 0.0
    assert fleet.engine_radps[0] == pytest.approx(6000.0 * math.tau / 60)


def test_the_hand_brake_gives_its_torque_at_the_rear() -> None:
    weak = replace(chassis_of(SEDAN).rear, hand_brake_nm=400.0)
    fleet = car(speed_mps=10.0)
    fleet.set_spec(0, SEDAN, replace(chassis_of(SEDAN), rear=weak))
    fleet.set_control(0, in_gear(0, hand_brake=True))
    expected = (400.0 / SEDAN.wheel_radius_m + resistance_n(10.0)) / SEDAN.mass_kg
    assert -acceleration(fleet) == pytest.approx(expected, rel=0.01)
    assert fleet.wheels[0, 0, 1] == pytest.approx(0.0, abs=1.0)  # none in front
    assert fleet.wheels[0, 2, 1] == pytest.approx(-200.0 / SEDAN.wheel_radius_m, rel=0.02)


def test_the_hand_brake_pulls_no_harder_than_the_rear_wheels_grip() -> None:
    fleet = car(speed_mps=15.0)
    fleet.set_control(0, in_gear(0, hand_brake=True))
    rates = [-acceleration(fleet) for _ in range(20)]
    # m a = mu (m g / 2 - m a h / L), mu with ABS
    ratio = SEDAN.cog_height_m / SEDAN.wheelbase_m
    expected = 0.95 * GRAVITY_MPS2 / 2 / (1 + 0.95 * ratio) + ROLLING * GRAVITY_MPS2
    assert rates[-1] == pytest.approx(expected, rel=0.04)


def test_an_engine_holds_back_downhill() -> None:
    ends = []
    for gear in (0, 1, 3):
        fleet = VehicleFleet(slope(-0.08))
        fleet.add(SEDAN, Transform())
        fleet.set_drivetrain(0, FLAT_300_NM)
        fleet.set_control(0, in_gear(gear))
        fleet.velocity[0] = (1.0, 0.0, 0.0)  # what stands would stay
        for _ in range(1000):
            fleet.step(DT, 0.0)
        ends.append(float(np.hypot(*fleet.velocity[0, :2])))
    assert ends[0] > ends[2] > ends[1]
    # Gravity against the losses in first gear: m g sin = d i^2 v / r^2 + rolling (air apart, below 5 m/s)
    per_m = 14.0 / SEDAN.wheel_radius_m
    pull = SEDAN.mass_kg * GRAVITY_MPS2 * (0.08 / math.hypot(1.0, 0.08) - ROLLING)
    assert ends[1] == pytest.approx(pull / (0.12 * per_m**2), rel=0.03)
