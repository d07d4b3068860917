"""What scripts set through VehiclePhysicsControl changes how the vehicle drives, field by field."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.errors import CommandError
from embedded_carla.types import Transform, VehicleControl, VehicleSpec
from embedded_carla.world.vehicles import physics_control
from embedded_carla.world.vehicles.bank import record_of
from embedded_carla.world.vehicles.drivetrain import drivetrain_of
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.vehicles.handling import STEER_SHARE
from embedded_carla.world.vehicles.motion import FORWARD_N, NORMAL_N, SPIN
from tests.embedded_carla.world.analytic_ground import SEDAN, flat

DT = 0.05
GRAVITY_MPS2 = 9.81
TORQUE, MAX_RPM, MOI, FULL, CLOSED, NEUTRAL, AUTO, SWITCH, CLUTCH, FINAL, GEARS, MASS, DRAG, CENTRE, CURVE, WHEELS = (
    range(16)
)
FRICTION, DAMPING, STEER, RADIUS, BRAKE, HAND_BRAKE = range(6)
SPECS = [b.vehicle for b in vehicle_blueprints() if b.vehicle is not None]


def own(spec: VehicleSpec = SEDAN) -> list[Any]:
    """What the model's `get_physics_control` answers, to be changed."""
    return list(physics_control.to_wire(spec, Transform(), None))


def wheels(changes: dict[int, dict[int, float]]) -> list[Any]:
    """The sedan's wheels with these fields of these wheels changed."""
    rows = [list(wheel) for wheel in own()[WHEELS]]
    for wheel, fields in changes.items():
        for field, value in fields.items():
            rows[wheel][field] = value
    return [tuple(row) for row in rows]


def car(control: list[Any] | None = None, speed_mps: float = 0.0, spec: VehicleSpec = SEDAN) -> VehicleFleet:
    """As the server applies it."""
    fleet = VehicleFleet(flat())
    fleet.add(spec, Transform())
    if control is not None:
        changed = physics_control.changed_spec(spec, control)
        fleet.set_spec(0, changed, physics_control.changed_chassis(changed, control))
        fleet.set_drivetrain(0, physics_control.drivetrain(control))
        fleet.set_steer_curve(0, physics_control.steering_curve(control))
        fleet.axle_friction[0] = physics_control.axle_friction(control)
    fleet.set_velocity(0, (speed_mps, 0.0, 0.0))
    return fleet


def drive(fleet: VehicleFleet, seconds: float, control: VehicleControl) -> VehicleFleet:
    fleet.set_control(0, control)
    for _ in range(round(seconds / DT)):
        fleet.step(DT, 0.0)
    return fleet


def coasting(**others: Any) -> VehicleControl:
    return VehicleControl(manual_gear_shift=True, gear=0, **others)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.type_id)
def test_what_was_read_can_be_applied_and_changes_nothing(spec: VehicleSpec) -> None:
    control = own(spec)
    changed = physics_control.changed_spec(spec, control)
    again = record_of(changed, physics_control.changed_chassis(changed, control))
    for name in again.dtype.names or ():
        assert again[name] == pytest.approx(record_of(spec)[name], rel=1e-9), name
    assert physics_control.drivetrain(control) == drivetrain_of(spec)


def test_final_ratio_gears_and_torque_of_a_script_drive_the_wheels() -> None:
    control = own()
    control[TORQUE], control[MAX_RPM], control[FINAL] = [(0.0, 400.0), (1890.0, 500.0), (5730.0, 400.0)], 5730.0, 4.0
    control[GEARS] = [(4.0, 0.5, 0.65), (2.0, 0.5, 0.65), (1.5, 0.5, 0.65), (1.1, 0.5, 0.65), (1.0, 0.5, 0.65)]
    control[MOI], control[FULL], control[CLOSED], control[DRAG] = 0.001, 0.0, 0.0, 0.0
    fleet = car(control, speed_mps=8.0)
    throttle = VehicleControl(throttle=0.5, manual_gear_shift=True, gear=2)
    before = float(fleet.velocity[0, 0])
    drive(fleet, DT, throttle)
    rpm = 8.0 * 8.0 / SEDAN.wheel_radius_m * 60 / math.tau
    force = 0.5 * np.interp(rpm, (0.0, 1890.0, 5730.0), (400.0, 500.0, 400.0)) * 8.0 / SEDAN.wheel_radius_m
    expected = force / SEDAN.mass_kg - 0.012 * GRAVITY_MPS2
    assert (fleet.velocity[0, 0] - before) / DT == pytest.approx(expected, rel=0.01)


def test_a_heavy_flywheel_takes_part_of_the_pull() -> None:
    pulls = []
    for inertia in (0.01, 2.0):
        control = own()
        control[MOI] = inertia
        fleet = drive(car(control, 9.0), DT, VehicleControl(throttle=0.6, manual_gear_shift=True, gear=1))
        pulls.append(float(fleet.velocity[0, 0]) - 9.0)
    assert 0.0 < pulls[1] < 0.6 * pulls[0]


def braked_n(fleet: VehicleFleet) -> np.ndarray:
    """Longitudinal forces of the four wheels under a light brake."""
    return np.array(drive(fleet, 0.1, coasting(brake=0.1)).wheels[0, :, FORWARD_N])


def test_brake_torques_act_at_their_axle() -> None:
    control = own()
    control[WHEELS] = wheels({0: {BRAKE: 2000.0}, 1: {BRAKE: 2000.0}, 2: {BRAKE: 500.0}, 3: {BRAKE: 500.0}})
    forces = braked_n(car(control, 15.0))
    np.testing.assert_allclose(forces, np.array([-200.0, -200.0, -50.0, -50.0]) / SEDAN.wheel_radius_m, rtol=0.01)


def test_the_hand_brakes_torque_acts_where_it_is() -> None:
    control = own()
    control[WHEELS] = wheels({i: {HAND_BRAKE: torque} for i, torque in enumerate((300.0, 300.0, 0.0, 0.0))})
    forces = drive(car(control, 15.0), 0.1, coasting(hand_brake=True)).wheels[0, :, FORWARD_N]
    np.testing.assert_allclose(forces, np.array([-300.0, -300.0, 0.0, 0.0]) / SEDAN.wheel_radius_m, rtol=0.01, atol=1.0)


def test_a_radius_changes_spin_and_gearing() -> None:
    control = own()
    control[WHEELS] = wheels({i: {RADIUS: 40.0 if i < 2 else 30.0} for i in range(4)})
    fleet = drive(car(control, 12.0), DT, VehicleControl(manual_gear_shift=True, gear=2))
    assert fleet.wheels[0, 0, SPIN] == pytest.approx(12.0 / 0.40, rel=0.02)
    assert fleet.wheels[0, 2, SPIN] == pytest.approx(12.0 / 0.30, rel=0.02)
    gear = drivetrain_of(SEDAN).gears[1].ratio * drivetrain_of(SEDAN).final_ratio
    assert fleet.engine_radps[0] == pytest.approx(gear * 12.0 / 0.35, rel=0.02)


def stops_in_m(change: Callable[[list[Any]], None]) -> float:
    control = own()
    change(control)
    fleet = car(control, 20.0)
    for _ in range(400):
        drive(fleet, DT, coasting(brake=1.0))
        if fleet.velocity[0, 0] == 0.0:
            break
    return float(fleet.location[0, 0])


def test_tyre_friction_lengthens_the_stop_wheel_by_wheel() -> None:
    def slippery(*which: int) -> Callable[[list[Any]], None]:
        def change(control: list[Any]) -> None:
            control[WHEELS] = wheels({i: {FRICTION: 1.75} for i in which})

        return change

    whole, half, front = stops_in_m(slippery()), stops_in_m(slippery(0, 1, 2, 3)), stops_in_m(slippery(0, 1))
    assert half == pytest.approx(2.0 * whole, rel=0.03)
    assert whole < front < half


@pytest.mark.parametrize(("front_deg", "rear_deg"), [(20.0, 0.0), (40.0, 0.0), (20.0, 10.0)])
def test_steering_angles_of_both_axles_make_the_radius(front_deg: float, rear_deg: float) -> None:
    """Curvature at walking pace: (tan front - tan rear) / wheelbase; rear wheels that turn along widen the circle.

    The angles are `STEER_SHARE` times those of the wheels, as for CARLA's cars.
    """
    control = own()
    angles = {i: {STEER: front_deg if i < 2 else rear_deg} for i in range(4)}
    control[WHEELS], control[CURVE] = wheels(angles), [(0.0, 1.0), (120.0, 1.0)]
    fleet = car(control)
    fleet.hold_velocity(0, (0.8, 0.0, 0.0))
    drive(fleet, 4.0, VehicleControl(steer=1.0))
    rate = math.radians(fleet.angular_velocity_degps[0, 2])
    front, rear = (math.tan(math.radians(STEER_SHARE * angle_deg)) for angle_deg in (front_deg, rear_deg))
    expected = 0.8 * (front - rear) / SEDAN.wheelbase_m
    assert rate == pytest.approx(expected, rel=0.02)


def test_the_centre_of_mass_moves_the_load() -> None:
    control = own()
    control[CENTRE] = (0.28, 0.0, 0.0)  # a tenth of the wheelbase forward
    fleet = drive(car(control), 1.0, VehicleControl(brake=1.0))
    loads = fleet.wheels[0, :, NORMAL_N]
    weight = SEDAN.mass_kg * GRAVITY_MPS2
    np.testing.assert_allclose(loads, weight * np.array([0.3, 0.3, 0.2, 0.2]), rtol=0.01)
    np.testing.assert_allclose(fleet.location[0], 0.0, atol=1e-3)
    raised = own()
    raised[CENTRE] = (0.0, 0.0, 0.3)
    transfers = []
    for each in (own(), raised):
        braked = drive(car(each, 20.0), 0.5, coasting(brake=0.5)).wheels[0, :, NORMAL_N]
        transfers.append(braked[0] - braked[2])
    assert transfers[1] == pytest.approx(transfers[0] * (SEDAN.cog_height_m + 0.3) / SEDAN.cog_height_m, rel=0.03)


def test_a_car_with_its_mass_ahead_still_follows_its_wheels() -> None:
    """The origin moves as the geometry says wherever the mass is: a slow circle about the same centre."""
    ends = []
    for ahead in (0.0, 0.5):
        control = own()
        control[CENTRE] = (ahead, 0.0, 0.0)
        fleet = car(control)
        fleet.hold_velocity(0, (0.8, 0.0, 0.0))
        drive(fleet, 8.0, VehicleControl(steer=0.5))
        ends.append(fleet.location[0, :2].copy())
    np.testing.assert_allclose(ends[0], ends[1], atol=0.03)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (GEARS, [], "0 forward gears"),
        (TORQUE, [(1000.0, 100.0), (500.0, 100.0)], "torque curve"),
        (CURVE, [(50.0, 1.0), (20.0, 1.0)], "steering curve"),
        (MASS, 0.0, "mass is 0"),
        (MAX_RPM, 0.0, "max_rpm is 0"),
    ],
)
def test_impossible_values_are_refused_by_name(place: int, value: Any, message: str) -> None:
    control = own()
    control[place] = value
    with pytest.raises(CommandError, match=message):
        car(control)
