"""Sizes of boxes against their places on the road: all that stands on it is kept, and little that does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from av_core.frames import vehicle_to_image
from av_core.types import CameraModel, Float, ObjectKind
from perception.depth.ranging import FLAT
from perception.depth.ranging_kernel import ROAD_STEP_M
from perception.depth.view import EDGE_PX, Box, View
from perception.plausibility.check import STANDING_FREE
from perception.plausibility.standing import (
    EXTENTS,
    SLOPE_SIGMA,
    Ground,
    is_foot_covered,
    standing_error,
)
from tests.perception.depth.test_ranging import FRONT, box_of

PITCH_SIGMA_RAD = math.radians(0.25)


def ground(
    camera: CameraModel = FRONT, sigma_rad: float = PITCH_SIGMA_RAD, rises_m: Float = FLAT, slope: float = SLOPE_SIGMA
) -> Ground:
    return Ground(View.of(camera), sigma_rad, rises_m, slope)


def upright(x: float, y: float, wide_m: float, high_m: float, foot_m: float = 0.0) -> Box:
    """The box of a flat board across the road whose lower edge is `foot_m` above the plane."""
    corners = [[x, y + side, up] for side in (-wide_m / 2, wide_m / 2) for up in (foot_m, foot_m + high_m)]
    pixels, _ = vehicle_to_image(np.array(corners), FRONT)
    (u0, v0), (u1, v1) = pixels.min(axis=0), pixels.max(axis=0)
    return float(u0), float(v0), float(u1), float(v1)


def clipped(box: Box, camera: CameraModel = FRONT) -> Box:
    right, low = camera.width_px - 0.5, camera.height_px - 0.5
    return max(box[0], -0.5), max(box[1], -0.5), min(box[2], right), min(box[3], low)


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(list(ObjectKind)),
    x=st.floats(9.0, 90.0),
    side=st.floats(-0.5, 0.5),
    yaw=st.floats(-math.pi, math.pi),
    scale=st.floats(0.85, 1.15),
)
def test_whatever_stands_on_the_road_is_kept(kind: ObjectKind, x: float, side: float, yaw: float, scale: float) -> None:
    """Any kind, place, heading and usual height, also where the sides of the picture cut the box."""
    box = clipped(box_of(x, side * x, yaw, kind, scale=scale))
    assume(box[2] - box[0] > 3.0 and box[3] - box[1] > 3.0)
    error = standing_error(box, kind, ground())
    assert error is None or abs(error) <= STANDING_FREE


@settings(max_examples=100, deadline=None)
@given(x=st.floats(2.0, 8.0), side=st.floats(-1.0, 1.0), kind=st.sampled_from(list(ObjectKind)))
def test_near_objects_that_the_picture_cuts_are_kept(x: float, side: float, kind: ObjectKind) -> None:
    box = clipped(upright(x + FRONT.x_m, side * x, EXTENTS[kind].broad_m, EXTENTS[kind].high_m))
    assume(box[2] - box[0] > 3.0 and box[3] - box[1] > 3.0)
    error = standing_error(box, kind, ground())
    assert error is None or abs(error) <= STANDING_FREE
    assert (error is None) == (box[3] >= FRONT.height_px - 1.0 - EDGE_PX)


@pytest.mark.parametrize("high_m", [1.05, 1.25, 1.7, 1.95])
@pytest.mark.parametrize("x", [10.0, 20.0, 40.0, 70.0])
@pytest.mark.parametrize("foot_m", [-0.1, 0.0, 0.15])
def test_children_and_tall_people_on_pavements_are_kept(high_m: float, x: float, foot_m: float) -> None:
    error = standing_error(upright(x, 3.0, 0.55, high_m, foot_m), ObjectKind.PEDESTRIAN, ground())
    assert error is not None
    assert abs(error) <= 1.2
    if foot_m == 0.0:
        assert abs(error) <= STANDING_FREE


@pytest.mark.parametrize(
    ("kind", "box"),
    [
        (ObjectKind.BUS, (200.0, 20.0, 420.0, 110.0)),  # the underside of a bridge
        (ObjectKind.PEDESTRIAN, upright(15.0, 4.0, 0.6, 3.2)),  # a bus stop
        (ObjectKind.PEDESTRIAN, upright(15.0, 4.0, 0.6, 0.7, 2.2)),  # a round sign
        (ObjectKind.CAR, upright(25.0, 2.0, 4.0, 1.5, 3.0)),  # a balcony
        (ObjectKind.TRUCK, upright(20.0, 0.0, 8.0, 9.0)),  # a building
    ],
)
def test_what_floats_or_is_too_tall_is_found(kind: ObjectKind, box: Box) -> None:
    error = standing_error(box, kind, ground())
    assert error is not None
    assert error > 2.0


@pytest.mark.parametrize(
    ("kind", "box"),
    [
        (ObjectKind.PEDESTRIAN, upright(12.0, 3.0, 0.15, 0.45)),  # a low bollard
        (ObjectKind.CAR, upright(12.0, 1.0, 1.0, 0.4)),  # a patch on the road
    ],
)
def test_what_is_too_small_for_its_place_is_found(kind: ObjectKind, box: Box) -> None:
    error = standing_error(box, kind, ground())
    assert error is not None
    assert error < -2.0


def test_width_counts_too() -> None:
    """A strip as high as a car and 14 m wide fits no car at any distance."""
    wide, car = upright(25.0, 0.0, 14.0, 1.5), upright(25.0, 0.0, 4.5, 1.5)
    error, fits = (standing_error(box, ObjectKind.CAR, ground()) for box in (wide, car))
    assert fits == 0.0
    assert error is not None
    assert error > 2.0


@pytest.mark.parametrize("degrees", [-0.5, 0.5])
def test_an_error_of_the_pitch_stays_within_its_standard_deviation(degrees: float) -> None:
    swung = replace(FRONT, pitch_rad=FRONT.pitch_rad + math.radians(degrees))
    for x in (10.0, 25.0, 60.0):
        box = box_of(x, 1.0, 0.2, ObjectKind.CAR, camera=swung)
        error = standing_error(box, ObjectKind.CAR, ground(sigma_rad=abs(math.radians(degrees))))
        assert error is not None
        assert abs(error) <= 1.0


@pytest.mark.parametrize("slope", [0.08, -0.06])
def test_on_a_hill_the_map_tells_where_the_road_is(slope: float) -> None:
    """From 12 m ahead of the rear axle the road climbs, or falls; a car stands on it 50 m ahead."""
    ahead_m = ROAD_STEP_M * np.arange(21)
    rises_m = slope * np.maximum(ahead_m - 12.0, 0.0)
    box = upright(50.0, 0.0, 1.8, 1.5, slope * 38.0)
    with_map, without = (standing_error(box, ObjectKind.CAR, ground(rises_m=rises)) for rises in (rises_m, FLAT))
    assert with_map == 0.0
    assert without is not None
    assert abs(without) > STANDING_FREE


def test_a_nearer_box_covers_the_foot() -> None:
    behind, before = (300.0, 150.0, 340.0, 180.0), (310.0, 155.0, 420.0, 240.0)
    assert is_foot_covered(behind, np.array([behind, before]))
    assert not is_foot_covered(before, np.array([behind, before]))
    assert not is_foot_covered(behind, np.array([[500.0, 150.0, 600.0, 240.0]]))
    assert not is_foot_covered(behind, np.zeros((0, 4)))
