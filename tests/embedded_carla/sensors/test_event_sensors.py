"""Obstacle and collision detectors."""

# mypy: disable-error-code="call-arg"
# Transform(*array, ...): mypy cannot count the values of an array.

from __future__ import annotations

import math
from dataclasses import astuple

import msgpack
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedded_carla.scene import Boxes
from embedded_carla.sensors.collision import collision_body
from embedded_carla.sensors.obstacle import Obstacle, find_obstacle, obstacle_body
from embedded_carla.types import Float, Transform
from embedded_carla.world.collision.boxes import DynamicBoxes, StaticBoxes

WALL = StaticBoxes(
    Boxes(np.array([[20.0, 0.0, 2.0]]), np.array([[0.5, 6.0, 2.0]]), np.zeros(1), np.array([4], dtype=np.uint8))
)
EYE = Transform(z=1.0)
HALF_M = np.array([2.4, 0.95, 0.75])  # of a car


def cars(*poses: Transform) -> DynamicBoxes:
    location = np.array([p.location for p in poses]).reshape(-1, 3)
    rotation = np.array([(p.pitch_deg, p.yaw_deg, p.roll_deg) for p in poses]).reshape(-1, 3)
    half = np.tile(HALF_M, (len(poses), 1))
    return DynamicBoxes.of(range(1, len(poses) + 1), location, rotation, half, np.zeros((len(poses), 3)))


def test_the_nearest_of_cars_and_scenery_is_reported() -> None:
    two = cars(Transform(x=15.0), Transform(x=9.0, yaw_deg=90.0))
    found = find_obstacle(EYE, 30.0, 0.5, two, WALL)
    assert found is not None
    assert astuple(found) == (2, 0, pytest.approx(9.0 - 0.95 - 0.5, abs=1e-9))
    found = find_obstacle(EYE, 30.0, 0.5, two, WALL, ignored=[1, 2])
    assert found is not None
    assert astuple(found) == (0, 4, pytest.approx(19.5 - 0.5, abs=1e-9))
    assert find_obstacle(EYE, 30.0, 0.5, two, None, ignored=[1, 2]) is None
    assert find_obstacle(EYE, 5.0, 0.5, two, WALL) is None
    assert find_obstacle(Transform(z=1.0, yaw_deg=180.0), 30.0, 0.5, two, WALL) is None


def test_the_radius_of_the_sphere_counts() -> None:
    beside = cars(Transform(x=10.0, y=1.6))
    assert find_obstacle(EYE, 20.0, 0.5, beside, None) is None
    assert find_obstacle(EYE, 20.0, 0.8, beside, None) is not None


def test_an_obstacle_around_the_sensor_is_at_no_distance() -> None:
    assert find_obstacle(EYE, 20.0, 0.5, cars(Transform()), None) == Obstacle(1, 0, 0.0)


def test_nothing_anywhere() -> None:
    empty = StaticBoxes(Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, dtype=np.uint8)))
    assert find_obstacle(EYE, 20.0, 0.5, cars(), empty) is None


def check_by_dense_sampling(eye: Transform, distance_m: float, radius_m: float, boxes: DynamicBoxes) -> None:
    """`find_obstacle` hits if any of 4001 points of the path is within the radius of a box, and not before."""
    path_m = np.linspace(0.0, distance_m, 4001)
    gap_m = gaps_m(eye, path_m, radius_m, boxes).min(axis=1)
    found = find_obstacle(eye, distance_m, radius_m, boxes, None)
    if found is None:
        assert gap_m.min() > -1e-9
        return
    assert (gap_m[path_m < found.distance_m] > -1e-9).all()
    touched_m = float(gaps_m(eye, np.array([found.distance_m]), radius_m, boxes)[0, found.actor_id - 1])
    if found.distance_m == 0.0:
        assert touched_m <= 1e-9
    else:
        assert touched_m == pytest.approx(0.0, abs=1e-6)


def gaps_m(eye: Transform, path_m: Float, radius_m: float, boxes: DynamicBoxes) -> Float:
    """Signed distances (P, N) between N boxes and the sphere at each of P path lengths; negative where they overlap."""
    points = np.array(eye.location) + path_m[:, None] * eye.matrix()[:3, 0]
    local = np.einsum("pni,nij->pnj", points[:, None] - boxes.centre, boxes.axes)
    beyond = np.abs(local) - boxes.half
    outside, inside = np.linalg.norm(np.maximum(beyond, 0.0), axis=2), np.minimum(beyond.max(axis=2), 0.0)
    gaps: Float = outside + inside - radius_m
    return gaps


@given(seed=st.integers(0, 5000), radius_m=st.floats(0.0, 1.0))
@example(seed=27, radius_m=0.375)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_hits_agree_with_dense_sampling(seed: int, radius_m: float) -> None:
    rng = np.random.default_rng(seed)
    boxes = cars(*(Transform(*rng.uniform(-12, 12, 3) * [1, 1, 0.2], 0.0, *rng.uniform(-90, 90, 2)) for _ in range(4)))
    eye = Transform(*rng.uniform(-3, 3, 2), 1.0, rng.uniform(-10, 10), rng.uniform(-180, 180), 0.0)
    check_by_dense_sampling(eye, 20.0, radius_m, boxes)


@given(
    back_m=st.floats(3.0, 20.0),
    clearance_m=st.floats(-0.3, 0.3),
    slope_deg=st.floats(-3.0, 3.0),
    height_m=st.floats(-0.5, 2.0),
    radius_m=st.floats(0.0, 1.0),
    yaw_deg=st.floats(-180.0, 180.0),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_path_almost_along_a_side_hits_as_dense_sampling_does(
    back_m: float, clearance_m: float, slope_deg: float, height_m: float, radius_m: float, yaw_deg: float
) -> None:
    """The path starts behind the car, its sphere `clearance_m` beside the plane of the car's side."""
    beside_m = float(HALF_M[1]) + radius_m + clearance_m
    world = Transform(x=4.0, y=-7.0, yaw_deg=yaw_deg)
    eye = world @ Transform(x=-back_m, y=beside_m, z=height_m, yaw_deg=slope_deg)
    check_by_dense_sampling(eye, back_m + 5.0, radius_m, cars(world))


def test_messages() -> None:
    owner, other = [5, 0, [0, "sensor.other.obstacle", []]], [0, 0, [0, "static.wall", []]]
    assert msgpack.unpackb(obstacle_body(owner, other, 3.25)) == [owner, other, 3.25]
    body = msgpack.unpackb(collision_body(owner, other, (1.0, -2.0, 0.5)))
    assert body == [owner, other, [1.0, -2.0, 0.5]]
    assert math.isclose(body[2][0], 1.0)
