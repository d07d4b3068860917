"""Random worlds on the project's own maps: no exception, and no plan that is at fault (`benchmarks.random_worlds`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import Constraint, ConstraintKind, ObjectKind, Plan, PredictedObject, Prediction, Stamp, Trajectory
from benchmarks.random_worlds.check import faults
from benchmarks.random_worlds.drive import drive_world
from benchmarks.random_worlds.world import CAR, World, draw_world
from planning import Route
from tests.planning.test_traffic import vehicle

WORLDS = 100
FROM = 5000
"""Other worlds than those of the benchmark, which begins with 0."""


@pytest.mark.parametrize("part", range(10))
def test_no_plan_is_at_fault(part: int) -> None:
    for seed in range(FROM + part, FROM + WORLDS, 10):
        outcome = drive_world(draw_world(seed), steps=6)
        assert outcome.faults == [], f"world {seed}"


def test_it_stops_before_what_stands_at_the_end_of_the_route() -> None:
    """A bus begins beyond the last place of the ego's origin, but before that of its front."""
    assert drive_world(draw_world(1508)).faults == []


@pytest.fixture(scope="module")
def world() -> World:
    """One whose route begins straight, with nobody on it."""
    for seed in range(1000):
        found = draw_world(seed)
        if np.abs(found.route.curve.curvature_1pm[:160]).max() < 0.002 and found.route.length_m > 90.0:
            return replace(found, s_m=0.0, offset_m=0.0, askew_rad=0.0, speed_mps=10.0, others=())
    raise AssertionError("no straight route")


def plan_on(route: Route, speed_mps: np.ndarray, curvature_1pm: float = 0.0) -> Plan:
    """A plan from the start of the route with these speeds, 0.1 s apart."""
    times = 0.1 * np.arange(len(speed_mps), dtype=np.float64)
    s = np.concatenate([[0.0], np.cumsum(0.05 * (speed_mps[1:] + speed_mps[:-1]))])
    accel = np.append(np.diff(speed_mps) / 0.1, 0.0)
    path = Trajectory.through(route.curve.pose_at(s), np.full(len(s), curvature_1pm), speed_mps, accel, times)
    return Plan(Stamp(0, 0.0), path, Constraint(ConstraintKind.SPEED_LIMIT))


def prediction_of(world: World, ahead_m: float) -> Prediction:
    x, y, yaw = (float(value) for value in world.route.curve.pose_at(ahead_m))
    return Prediction(
        Stamp(0, 0.0), 0.25 * np.arange(21, dtype=np.float64), (PredictedObject(vehicle(1, x, y, yaw, 0.0)),)
    )


def test_the_check_sees_what_is_wrong(world: World) -> None:
    """A check that finds nothing proves nothing."""
    nobody, wall = Prediction(Stamp(0, 0.0), np.zeros(1), ()), prediction_of(world, 45.0)
    steady, route = np.full(71, 8.0), world.route
    assert list(faults(plan_on(route, steady), nobody, route)) == []
    assert "drives into a standing car" in next(faults(plan_on(route, steady), wall, route))
    braking = np.maximum(8.0 - 0.3 * np.arange(71), 0.0)
    assert list(faults(plan_on(route, braking), wall, route)) == []
    odd = replace(plan_on(route, steady).trajectory, accel_mps2=np.full(71, np.nan))
    assert "not finite" in next(faults(replace(plan_on(route, steady), trajectory=odd), nobody, route))
    assert "turns with" in next(faults(plan_on(route, steady, 3.0), nobody, route))
    assert "lateral" in next(faults(plan_on(route, steady, 0.1), nobody, route))
    assert "accelerates by" in next(faults(plan_on(route, np.linspace(0.0, 35.0, 71)), nobody, route))
    limit_mps = float(route.speed_limit_mps.max())
    assert "faster than the limit" in next(faults(plan_on(route, np.linspace(5.0, limit_mps + 2, 150)), nobody, route))


def test_an_obstacle_that_is_too_near_has_to_be_braked_for(world: World) -> None:
    front_m = CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m
    near = prediction_of(world, front_m + 2.25 + 2.0)
    assert "does not brake hard" in next(faults(plan_on(world.route, np.full(71, 8.0)), near, world.route))
    hard = np.maximum(8.0 - 0.8 * np.arange(71), 0.0)
    assert list(faults(plan_on(world.route, hard), near, world.route)) == []


def test_equal_seeds_give_equal_worlds() -> None:
    assert draw_world(7).others == draw_world(7).others
    assert ObjectKind.CAR in {other.item.kind for seed in range(20) for other in draw_world(seed).others}
