"""Curve and LanePoints against geometry worked out by hand, brute force and each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from av_core.curve import Curve, arc_lengths
from av_core.lane_points import LanePoints
from av_core.types import GeoReference, Lane, LaneGraph, LaneKey, MarkingColour, MarkingKind

SPACING_M = 0.5
LENGTH_M = 40.0
CURVATURES = st.floats(-0.1, 0.1)
HEADINGS = st.floats(-np.pi, np.pi)
PLACES = st.floats(-1000.0, 1000.0)
OFFSETS = st.floats(-4.0, 4.0)


def bend(curvature_1pm: float, x_m: float, y_m: float, yaw_rad: float) -> Curve:
    """A clothoid from `yaw_rad` whose curvature grows from 0 to `curvature_1pm`."""
    s = np.arange(0.0, LENGTH_M + 0.01, SPACING_M)
    fine = np.arange(0.0, LENGTH_M + 1e-9, SPACING_M / 50.0)
    yaw_fine = yaw_rad + 0.5 * curvature_1pm * fine**2 / LENGTH_M
    middle = 0.5 * (yaw_fine[1:] + yaw_fine[:-1])
    x = x_m + np.concatenate([[0.0], np.cumsum(np.cos(middle))]) * SPACING_M / 50.0
    y = y_m + np.concatenate([[0.0], np.cumsum(np.sin(middle))]) * SPACING_M / 50.0
    return Curve(s, x[::50], y[::50], yaw_fine[::50], curvature_1pm * s / LENGTH_M)


def straight(x_m: float, y_m: float, yaw_rad: float, spacings_m: list[float]) -> Curve:
    s = np.concatenate([[0.0], np.cumsum(spacings_m)])
    zero = np.zeros(len(s))
    return Curve(s, x_m + s * np.cos(yaw_rad), y_m + s * np.sin(yaw_rad), zero + yaw_rad, zero)


BENDS = st.builds(bend, CURVATURES, PLACES, PLACES, HEADINGS)
STRAIGHTS = st.builds(straight, PLACES, PLACES, HEADINGS, st.lists(st.floats(0.0, 3.0), min_size=1, max_size=20))


def sharpest(curve: Curve) -> float:
    return float(np.abs(curve.curvature_1pm).max())


@settings(deadline=None)  # a busy machine is no bug
@given(BENDS, st.floats(0.0, LENGTH_M), OFFSETS)
def test_a_pose_projects_to_where_it_came_from(curve: Curve, s: float, d: float) -> None:
    x, y, yaw = curve.pose_at(s, d)
    at = curve.project(x, y)
    k = sharpest(curve)
    assert at.s_m == pytest.approx(s, abs=1e-9 + k * (abs(d) + SPACING_M) * SPACING_M)
    assert at.d_m == pytest.approx(d, abs=1e-9 + k * SPACING_M**2 * (1.0 + abs(d) * k))
    assert at.yaw_rad == pytest.approx(float(yaw), abs=1e-9 + k * (1.0 + abs(d) * k) * SPACING_M)


@settings(deadline=None)  # a busy machine is no bug
@given(STRAIGHTS, st.floats(-10.0, 70.0), OFFSETS)
def test_on_a_straight_line_they_are_exact_also_beyond_its_ends(curve: Curve, s: float, d: float) -> None:
    x, y, yaw = curve.pose_at(s, d)
    for follow_bend in (True, False):
        at = curve.project(x, y, follow_bend=follow_bend)
        assert (at.s_m, at.d_m, at.yaw_rad) == pytest.approx((s, d, float(yaw)), abs=1e-9)


@settings(deadline=None)  # a busy machine is no bug
@given(BENDS, st.floats(0.0, LENGTH_M), st.floats(0.01, 4.0))
def test_left_is_positive(curve: Curve, s: float, d: float) -> None:
    """The heading turned by a right angle counter-clockwise points to positive offsets (ISO 8855)."""
    x, y, yaw = (float(value) for value in curve.pose_at(s))
    left = curve.project(x + d * np.cos(yaw + np.pi / 2.0), y + d * np.sin(yaw + np.pi / 2.0))
    right = curve.project(x + d * np.cos(yaw - np.pi / 2.0), y + d * np.sin(yaw - np.pi / 2.0))
    slack = 1e-9 + sharpest(curve) * SPACING_M**2
    assert left.d_m > d / 2.0 - slack
    assert right.d_m < -d / 2.0 + slack


@settings(deadline=None)  # a busy machine is no bug
@given(BENDS, st.floats(1.0, LENGTH_M - 1.0), OFFSETS)
def test_the_projection_is_the_nearest_place(curve: Curve, s: float, d: float) -> None:
    x, y, _ = curve.pose_at(s, d)
    dense_s = np.linspace(0.0, LENGTH_M, 8001)
    dense_x, dense_y, _ = curve.pose_at(dense_s)
    distance = np.hypot(dense_x - x, dense_y - y)
    k, best = sharpest(curve), int(np.argmin(distance))
    at = curve.project(x, y)
    assert at.s_m == pytest.approx(dense_s[best], abs=0.02 + k * (abs(d) + 1.0) * SPACING_M)
    assert abs(at.d_m) == pytest.approx(distance[best], abs=0.003 + k * SPACING_M**2)
    assert float(curve.distance_m(x, y)) == pytest.approx(distance[best], abs=0.003)
    piece = curve.project_on_piece(float(x), float(y), int(curve.nearest(x, y)))
    assert abs(piece.d_m) == pytest.approx(distance[best], abs=0.003)
    assert piece.s_m == pytest.approx(dense_s[best], abs=0.01 + k * abs(d) * SPACING_M)


@settings(deadline=None)  # a busy machine is no bug
@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=2, max_size=12),
    st.tuples(st.floats(-60, 60), st.floats(-60, 60)),
)
def test_nearest_point_and_distance_hold_for_any_polyline(points: list[tuple[float, float]], place: Any) -> None:
    """Also with repeated points and sharp corners."""
    xy = np.array(points)
    curve = Curve.through(*xy.T)
    gap = np.hypot(*(xy - place).T)
    assert gap[curve.nearest(*place)] == pytest.approx(gap.min(), abs=1e-9)
    assert gap[np.asarray(curve.nearest(*np.array([[place[0]], [place[1]]])))[0]] == pytest.approx(gap.min(), abs=1e-6)
    share = np.linspace(0.0, 1.0, 2001)[:, None]
    dense = np.concatenate([a + share * (b - a) for a, b in pairwise(xy)])
    shortest = float(np.hypot(*(dense - place).T).min())
    assert shortest - 0.1 <= float(curve.distance_m(*np.array(place))) <= shortest + 1e-9


@settings(deadline=None)  # a busy machine is no bug
@given(BENDS, st.integers(1, 5), st.integers(1, 5), st.randoms(use_true_random=False))
def test_arrays_are_projected_like_single_positions(curve: Curve, rows: int, columns: int, random: Any) -> None:
    s = np.array([[random.uniform(-5.0, LENGTH_M + 5.0) for _ in range(columns)] for _ in range(rows)])
    d = np.array([[random.uniform(-4.0, 4.0) for _ in range(columns)] for _ in range(rows)])
    x, y, yaw = curve.pose_at(s, d)
    at = curve.project(x, y)
    assert x.shape == yaw.shape == at.s_m.shape == at.d_m.shape == (rows, columns)
    for i, j in np.ndindex(rows, columns):
        assert (x[i, j], y[i, j], yaw[i, j]) == tuple(curve.pose_at(s[i, j], d[i, j]))
        one = curve.project(float(x[i, j]), float(y[i, j]), int(np.asarray(at.row)[i, j]))
        assert (at.s_m[i, j], at.d_m[i, j], at.yaw_rad[i, j]) == (one.s_m, one.d_m, one.yaw_rad)


def test_beyond_its_ends_a_curve_goes_on_straight() -> None:
    curve = bend(0.1, 0.0, 0.0, 0.0)
    assert curve.pose_at(-3.0) == pytest.approx((-3.0, 0.0, 0.0))
    end, yaw = np.array([curve.x_m[-1], curve.y_m[-1]]), curve.yaw_rad[-1]
    x, y, heading = curve.pose_at(LENGTH_M + 2.0, 1.0)
    left = np.array([-np.sin(yaw), np.cos(yaw)])
    assert [x, y] == pytest.approx(list(end + 2.0 * np.array([np.cos(yaw), np.sin(yaw)]) + left))
    assert heading == yaw


@pytest.mark.parametrize(("low", "high", "rows"), [
    (2.0, 4.0, slice(2, 5)), (-9.0, -5.0, slice(0, 2)), (30.0, 40.0, slice(9, 11)), (3.2, 3.4, slice(4, 6)),
])  # fmt: skip
def test_points_between_two_arc_lengths(low: float, high: float, rows: slice) -> None:
    curve = straight(0.0, 0.0, 0.0, [1.0] * 10)
    assert curve.rows_between(low, high) == rows
    assert (curve.row_at(low), curve.row_at(99.0)) == (min(int(max(np.ceil(low), 0.0)), 10), 10)
    assert len(curve.part(rows).s_m) == rows.stop - rows.start


def test_a_window_keeps_to_one_arm_of_a_loop() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    loop = Curve.through(20.0 * np.sin(angle), 20.0 - 20.0 * np.cos(angle))
    assert loop.nearest(0.1, 0.1) < 5
    assert loop.nearest(0.1, 0.1, loop.rows_between(100.0, 130.0)) > 95
    facing = 100.0 * (1.0 - np.cos(loop.yaw_rad - loop.yaw_rad[50]))
    assert abs(int(loop.nearest(0.1, 0.1, penalty_m2=facing * 100.0)) - 50) < 5


def test_a_single_piece_and_a_single_point() -> None:
    piece = Curve.through([0.0, 10.0], [0.0, 0.0])
    assert piece.length_m == 10.0
    at = piece.project(4.0, 2.0)
    assert [float(v) for v in (at.row, at.s_m, at.d_m, at.yaw_rad)] == [0.0, 4.0, 2.0, 0.0]
    point = piece.part(slice(1, 2))
    at = point.project(12.0, -1.0)
    assert [float(at.s_m), float(at.d_m)] == [12.0, -1.0]
    assert point.rows_between(0.0, 99.0) == slice(0, 1)


@settings(deadline=None)  # a busy machine is no bug
@given(st.integers(0, 4), st.integers(1, 4))
def test_repeated_points_do_no_harm(at: int, times: int) -> None:
    x = np.insert(np.arange(5.0), [at] * times, float(at))
    curve = Curve(arc_lengths(x, 0.0 * x), x, 0.0 * x, 0.0 * x, 0.0 * x)
    assert curve.length_m == 4.0
    for place in np.arange(0.0, 4.1, 0.25).tolist():
        projected = curve.project(place, 1.0)
        assert (projected.s_m, projected.d_m) == pytest.approx((place, 1.0))
        assert curve.distance_m(np.array([place]), np.array([1.0])) == pytest.approx(1.0)
        assert np.isfinite(curve.project_on_piece(place, 1.0, int(projected.row)).d_m)
        assert tuple(curve.pose_at(place)) == pytest.approx((place, 0.0, 0.0))


@settings(deadline=None)  # a busy machine is no bug
@given(BENDS, BENDS)
def test_joined_curves_follow_each_other(one: Curve, other: Curve) -> None:
    both = Curve.joined([one, other])
    assert both.length_m == pytest.approx(2.0 * LENGTH_M)
    assert np.array(both.pose_at(12.3))[:2] == pytest.approx(np.array(one.pose_at(12.3))[:2])
    x, y, yaw = both.pose_at(LENGTH_M + 12.3)
    assert np.array([x, y]) == pytest.approx(np.array(other.pose_at(12.3))[:2])
    assert np.cos(yaw - other.pose_at(12.3)[2]) == pytest.approx(1.0)
    assert np.abs(np.diff(both.yaw_rad)).max() <= np.pi + 1e-9


def test_heading_and_curvature_of_a_circle() -> None:
    angle = np.linspace(0.0, 3.0, 301)
    circle = Curve.through(50.0 * np.sin(angle), 50.0 - 50.0 * np.cos(angle))
    assert circle.length_m == pytest.approx(150.0, abs=0.01)
    assert circle.curvature_1pm == pytest.approx(np.full(301, 0.02), rel=0.01)
    assert circle.yaw_rad[5:-5] == pytest.approx(angle[5:-5], abs=1e-3)


def test_values_between_the_points() -> None:
    curve = straight(0.0, 0.0, 0.0, [1.0, 1.0])
    assert curve.interpolate(0.25, np.array([3.0, 5.0, 9.0])) == 3.5
    assert curve.interpolate(np.array([-1.0, 5.0]), np.array([3.0, 5.0, 9.0])) == pytest.approx([3.0, 9.0])


GOOD = np.arange(3.0)


@pytest.mark.parametrize(("columns", "words"), [
    ([GOOD, GOOD, GOOD, GOOD, GOOD[:2]], "shape"),
    ([GOOD[:0]] * 5, "one or more points"),
    ([GOOD[:, None]] * 5, "shape"),
    ([GOOD, GOOD, np.array([0.0, np.nan, 2.0]), GOOD, GOOD], "finite"),
    ([GOOD, GOOD, GOOD, np.array([0.0, 1.0, np.inf]), GOOD], "finite"),
    ([GOOD[::-1], GOOD, GOOD, GOOD, GOOD], "must not decrease"),
])  # fmt: skip
def test_bad_arrays_are_refused(columns: list[NDArray[np.float64]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Curve(*columns)


@pytest.mark.parametrize(("x", "y"), [([1.0], [2.0]), ([], []), ([0.0, 1.0], [0.0]), ([[0.0, 1.0]], [[0.0, 1.0]])])
def test_a_curve_through_less_than_two_points_is_refused(x: Any, y: Any) -> None:
    with pytest.raises(ValueError, match="two or more points"):
        Curve.through(x, y)


def lane(number: int, curve: Curve) -> Lane:
    n = len(curve.s_m)
    points = np.column_stack([curve.x_m, curve.y_m, np.zeros(n)])
    no, marks, white = np.zeros(n, bool), (MarkingKind.SOLID,) * n, (MarkingColour.WHITE,) * n
    return Lane(
        LaneKey(number, 0, -1), points, curve.s_m, curve.yaw_rad, curve.curvature_1pm, np.full(n, 3.5), 14.0, False,
        (), (), None, None, no, no, marks, marks, white, white,
    )  # fmt: skip


def graph(*curves: Curve) -> LaneGraph:
    lanes = [lane(number, curve) for number, curve in enumerate(curves)]
    return LaneGraph("curves", {one.key: one for one in lanes}, (), GeoReference(0.0, 0.0))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.builds(bend, CURVATURES, st.floats(-20, 20), st.floats(-20, 20), HEADINGS), min_size=1, max_size=4),
       st.floats(-30, 30), st.floats(-30, 30))  # fmt: skip
def test_the_nearest_point_of_each_lane_as_its_curve_says(curves: list[Curve], x: float, y: float) -> None:
    points = LanePoints(graph(*curves))
    rows = points.nearest_of_each_lane(x, y, points.within(x, y, 25.0))
    ahead, left = points.ahead_and_left(x, y, rows)
    distances = []
    for i, row in enumerate(rows.tolist()):
        found, number = points.lane_and_row(row)
        curve = found.curve
        near = curve.nearest(x, y)
        gap = float(np.hypot(curve.x_m[near] - x, curve.y_m[near] - y))
        distances.append(float(np.hypot(curve.x_m[number] - x, curve.y_m[number] - y)))
        assert distances[-1] == pytest.approx(gap, abs=1e-9)
        at = curve.project(x, y, number, follow_bend=False)
        assert (points.s_m[row] + ahead[i], left[i]) == pytest.approx((at.s_m, at.d_m))
    assert distances == sorted(distances)
    near_lanes = sum(float(np.hypot(curve.x_m - x, curve.y_m - y).min()) <= 25.0 for curve in curves)
    assert len(rows) == near_lanes


def test_the_nearest_points_of_a_small_map() -> None:
    points = LanePoints(graph(straight(0.0, 0.0, 0.0, [1.0, 1.0])))
    distance, rows = points.nearest(np.array([[0.9, 0.0], [50.0, 0.0]]), 8, 10.0)
    assert distance.shape == rows.shape == (2, 3)
    assert rows[0].tolist() == [1, 0, 2]
    assert np.isinf(distance[1]).all()
    assert rows[1].tolist() == [0, 0, 0]


def test_headings_of_a_lane_are_unwrapped() -> None:
    curve = straight(0.0, 0.0, np.pi, [1.0, 1.0])
    wrapped = Curve(curve.s_m, curve.x_m, curve.y_m, curve.yaw_rad - [0.0, 2.0 * np.pi, 0.0], curve.curvature_1pm)
    assert lane(0, wrapped).curve.pose_at(0.5)[2] == pytest.approx(np.pi)


def test_a_map_without_lanes_has_no_points() -> None:
    with pytest.raises(ValueError, match="'curves' has no lanes"):
        LanePoints(graph())
