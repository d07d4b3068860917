"""Obstacle and collision detectors."""

from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.scene import Boxes
from embedded_carla.sensors.collision import collision_body
from embedded_carla.sensors.obstacle import Obstacle, find_obstacle, obstacle_body
from embedded_carla.types import Transform
from embedded_carla.world.collision.boxes import DynamicBoxes, StaticBoxes

WALL = StaticBoxes(
    Boxes(np.array([[20.0, 0.0, 2.0]]), np.array([[0.5, 6.0, 2.0]]), np.zeros(1), np.array([4], dtype=np.uint8))
)
EYE = Transform(z=1.0)


def cars(*poses: Transform) -> DynamicBoxes:
    location = np.array([p.location for p in poses]).reshape(-1, 3)
    rotation = np.array([(p.pitch_deg, p.yaw_deg, p.roll_deg) for p in poses]).reshape(-1, 3)
    half = np.tile([2.4, 0.95, 0.75], (len(poses), 1))
    return DynamicBoxes.of(range(1, len(poses) + 1), location, rotation, half, np.zeros((len(poses), 3)))


def test_the_nearest_of_cars_and_scenery_is_reported() -> None:
    two = cars(Transform(x=15.0), Transform(x=9.0, yaw_deg=90.0))
    found = find_obstacle(EYE, 30.0, 0.5, two, WALL)
    assert found == Obstacle(2, 0, pytest.approx(9.0 - 0.95 - 0.5, abs=2e-3))
    found = find_obstacle(EYE, 30.0, 0.5, two, WALL, ignored=[1, 2])
    assert found == Obstacle(0, 4, pytest.approx(19.5 - 0.5, abs=2e-3))
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


@given(seed=st.integers(0, 5000), radius=st.floats(0.05, 1.0))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_distances_agree_with_dense_sampling(seed: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    boxes = cars(*(Transform(*rng.uniform(-12, 12, 3) * [1, 1, 0.2], 0.0, *rng.uniform(-90, 90, 2)) for _ in range(4)))
    eye = Transform(*rng.uniform(-3, 3, 2), 1.0, rng.uniform(-10, 10), rng.uniform(-180, 180), 0.0)
    found = find_obstacle(eye, 20.0, radius, boxes, None)
    flown = np.linspace(0.0, 20.0, 4001)
    points = np.array(eye.location) + flown[:, None] * eye.matrix()[:3, 0]
    local = np.einsum("pni,nij->pnj", points[:, None] - boxes.centre, boxes.axes)
    gap = np.linalg.norm(np.maximum(np.abs(local) - boxes.half, 0.0), axis=2).min(axis=1) - radius
    if found is None:
        assert gap.min() > -0.01  # at most grazed
    else:
        near = np.flatnonzero(gap <= 0.003)
        assert len(near)
        # Along a grazing flight the gap closes slowly, so the place of contact is less sharp than the gap itself.
        assert abs(np.interp(found.distance_m, flown, gap)) < 0.006 or found.distance_m == 0.0


def test_messages() -> None:
    owner, other = [5, 0, [0, "sensor.other.obstacle", []]], [0, 0, [0, "static.wall", []]]
    assert msgpack.unpackb(obstacle_body(owner, other, 3.25)) == [owner, other, 3.25]
    body = msgpack.unpackb(collision_body(owner, other, (1.0, -2.0, 0.5)))
    assert body == [owner, other, [1.0, -2.0, 0.5]]
    assert math.isclose(body[2][0], 1.0)
