"""CARLA's handling against the published models of its vehicles, and what the weather does to either handling.

`benchmarks.handling.models` holds the models: carla_garage's for a Lincoln MKZ 2020 at 20 Hz.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from benchmarks.handling import models
from benchmarks.handling.drives import car, speed_mps, turn
from embedded_carla.handling import Handling
from embedded_carla.types import VehicleControl


def turn_degps(steer: float, at_mps: float, wetness: float = 0.0, handling: Handling = Handling.CARLA) -> float:
    """Steady turn rate with the speed held by the throttle."""
    rate_degps, reached_mps = turn(steer, at_mps, wetness, handling)
    return rate_degps * at_mps / reached_mps


@pytest.mark.parametrize("at_mps", [3.0, 5.0, 8.0, 10.0])
@pytest.mark.parametrize("steer", [0.05, 0.1, 0.3, 0.5, 0.7, 1.0])
def test_cars_turn_as_published(at_mps: float, steer: float) -> None:
    assert turn_degps(steer, at_mps) == pytest.approx(math.degrees(models.turn_radps(at_mps, steer)), rel=0.16)


@pytest.mark.parametrize("from_mps", [5.0, 7.19, 10.0, 15.0, 20.0])
def test_cars_brake_as_published(from_mps: float) -> None:
    fleet, published = car(from_mps), from_mps
    fleet.set_control(0, VehicleControl(brake=1.0))
    for _ in range(5):
        fleet.step(models.STEP_S, 0.0)
        published = models.braked_mps(published)
    assert speed_mps(fleet) == pytest.approx(published, abs=0.75)


@pytest.mark.parametrize("throttle", [0.4, 0.5, 0.6, 0.8, 1.0])
def test_cars_gain_speed_as_published(throttle: float) -> None:
    fleet, published = car(), 0.0
    fleet.set_control(0, VehicleControl(throttle=throttle))
    for _ in range(100):
        fleet.step(models.STEP_S, 0.0)
        published = models.driven_mps(published, throttle)
    assert speed_mps(fleet) == pytest.approx(published, rel=0.15)


def test_a_little_throttle_does_not_drive() -> None:
    fleet = car()
    fleet.set_control(0, VehicleControl(throttle=0.29))
    for _ in range(100):
        fleet.step(models.STEP_S, 0.0)
    assert speed_mps(fleet) == 0.0


def braked_mps(handling: Handling, wetness: float) -> float:
    """Speed after a second of full brake from 20 m/s, on a road with as much water in deposits."""
    fleet = car(20.0, handling)
    fleet.set_control(0, VehicleControl(brake=1.0))
    for _ in range(20):
        fleet.step(models.STEP_S, wetness, wetness)
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
        fleet.step(models.STEP_S, 0.0)
    assert fleet.rotation_deg[0, 1] == 0.0
    assert tuple(fleet.location[0, :2]) == (0.0, 0.0)


def test_a_car_that_brakes_to_a_stop_at_full_lock_stays_there() -> None:
    fleet = car(6.0)
    fleet.set_control(0, VehicleControl(brake=1.0, steer=1.0))
    yaws = []
    for _ in range(60):
        fleet.step(models.STEP_S, 0.0)
        yaws.append(float(fleet.rotation_deg[0, 1]))
    assert all(b == a for a, b in pairwise(yaws[30:]))
    assert speed_mps(fleet) == 0.0
