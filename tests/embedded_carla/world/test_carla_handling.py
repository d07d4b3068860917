"""CARLA's handling against the published models of its vehicles, and what the weather does to either handling.

The models are carla_garage's for a Lincoln MKZ 2020 at 20 Hz: a kinematic bicycle for the turn, polynomials of the
speed in km/h for the next step's speed under throttle and under full brake.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.handling import Handling
from embedded_carla.types import Transform, VehicleControl
from embedded_carla.world.vehicles import VehicleFleet
from tests.embedded_carla.world.analytic_ground import flat

STEP_S = 0.05
MKZ = next(b.vehicle for b in vehicle_blueprints() if b.type_id == "vehicle.lincoln.mkz_2020" and b.vehicle is not None)
FRONT_M, REAR_M, STEER_GAIN = -0.090769015, 1.4178275, 0.36848336
BRAKE = (
    9.31711370e-03,
    8.20967431e-02,
    -2.83832427e-03,
    5.06587474e-05,
    -4.90357228e-07,
    2.44419284e-09,
    -4.91381935e-12,
)
THROTTLE = (
    9.63873001e-01, 4.37535692e-04, -3.80192912e-01, 1.74950069e00, 9.16787414e-02, -7.05461530e-02, -1.05996152e-03,
    6.71079346e-04,
)  # fmt: skip


def published_turn_radps(speed_mps: float, steer: float) -> float:
    slip = math.atan(REAR_M / (FRONT_M + REAR_M) * math.tan(STEER_GAIN * steer))
    return speed_mps / REAR_M * math.sin(slip)


def published_braked_mps(speed_mps: float) -> float:
    return max(float((3.6 * speed_mps) ** np.arange(1, 8) @ np.array(BRAKE)) / 3.6, 0.0)


def published_driven_mps(speed_mps: float, throttle: float) -> float:
    v, t = 3.6 * speed_mps, throttle
    terms = (v, v**2, t, t**2, v * t, v * t**2, v**2 * t, v**2 * t**2)
    return max(float(np.dot(terms, THROTTLE)) / 3.6, 0.0)


def car(speed_mps: float = 0.0, handling: Handling = Handling.CARLA) -> VehicleFleet:
    fleet = VehicleFleet(flat(), handling)
    fleet.add(MKZ, Transform())
    fleet.set_velocity(0, (speed_mps, 0.0, 0.0))
    return fleet


def speed_mps(fleet: VehicleFleet) -> float:
    return math.hypot(*fleet.velocity[0, :2])


def turn_degps(steer: float, at_mps: float, wetness: float = 0.0, handling: Handling = Handling.CARLA) -> float:
    """Steady turn rate with the speed held by the throttle."""
    fleet, integral = car(at_mps, handling), 0.0
    for _ in range(60):
        error = at_mps - speed_mps(fleet)
        integral = min(max(integral + 0.1 * error, 0.0), 1.0)
        throttle = min(max(0.3 + 0.5 * error + integral, 0.0), 1.0)
        fleet.set_control(0, VehicleControl(throttle=throttle, steer=steer))
        fleet.step(STEP_S, wetness, wetness)
    return float(fleet.angular_velocity_degps[0, 2]) * at_mps / speed_mps(fleet)


@pytest.mark.parametrize("at_mps", [3.0, 5.0, 8.0, 10.0])
@pytest.mark.parametrize("steer", [0.05, 0.1, 0.3, 0.5, 0.7, 1.0])
def test_cars_turn_as_published(at_mps: float, steer: float) -> None:
    assert turn_degps(steer, at_mps) == pytest.approx(math.degrees(published_turn_radps(at_mps, steer)), rel=0.16)


@pytest.mark.parametrize("from_mps", [5.0, 7.19, 10.0, 15.0, 20.0])
def test_cars_brake_as_published(from_mps: float) -> None:
    fleet, published = car(from_mps), from_mps
    fleet.set_control(0, VehicleControl(brake=1.0))
    for _ in range(5):
        fleet.step(STEP_S, 0.0)
        published = published_braked_mps(published)
    assert speed_mps(fleet) == pytest.approx(published, abs=0.75)


@pytest.mark.parametrize("throttle", [0.4, 0.5, 0.6, 0.8, 1.0])
def test_cars_gain_speed_as_published(throttle: float) -> None:
    fleet, published = car(), 0.0
    fleet.set_control(0, VehicleControl(throttle=throttle))
    for _ in range(100):
        fleet.step(STEP_S, 0.0)
        published = published_driven_mps(published, throttle)
    assert speed_mps(fleet) == pytest.approx(published, rel=0.15)


def test_a_little_throttle_does_not_drive() -> None:
    fleet = car()
    fleet.set_control(0, VehicleControl(throttle=0.29))
    for _ in range(100):
        fleet.step(STEP_S, 0.0)
    assert speed_mps(fleet) == 0.0


def braked_mps(handling: Handling, wetness: float) -> float:
    """Speed after a second of full brake from 20 m/s, on a road with as much water in deposits."""
    fleet = car(20.0, handling)
    fleet.set_control(0, VehicleControl(brake=1.0))
    for _ in range(20):
        fleet.step(STEP_S, wetness, wetness)
    return speed_mps(fleet)


def test_weather_takes_grip_from_real_tyres_alone() -> None:
    assert braked_mps(Handling.CARLA, 100.0) == braked_mps(Handling.CARLA, 0.0)
    assert turn_degps(0.5, 10.0, wetness=100.0) == turn_degps(0.5, 10.0)
    assert braked_mps(Handling.TYRES, 100.0) > braked_mps(Handling.TYRES, 0.0) + 3.0


@pytest.mark.parametrize("handling", list(Handling))
@pytest.mark.parametrize("pedals", [VehicleControl(brake=1.0, steer=1.0), VehicleControl(hand_brake=True, steer=-1.0)])
def test_a_braked_car_at_full_lock_does_not_turn(handling: Handling, pedals: VehicleControl) -> None:
    fleet = car(handling=handling)
    fleet.set_control(0, pedals)
    for _ in range(100):
        fleet.step(STEP_S, 0.0)
    assert fleet.rotation_deg[0, 1] == 0.0
    assert tuple(fleet.location[0, :2]) == (0.0, 0.0)


def test_a_car_that_brakes_to_a_stop_at_full_lock_stays_there() -> None:
    fleet = car(6.0)
    fleet.set_control(0, VehicleControl(brake=1.0, steer=1.0))
    yaws = []
    for _ in range(60):
        fleet.step(STEP_S, 0.0)
        yaws.append(float(fleet.rotation_deg[0, 1]))
    assert all(b == a for a, b in pairwise(yaws[30:]))
    assert speed_mps(fleet) == 0.0
