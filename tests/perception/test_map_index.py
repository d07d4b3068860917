"""The map index against geometry worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import LaneGraph, LaneKey, MarkingColour, MarkingKind, Pose2D
from perception.map_index import MapIndex
from tests.perception.simulated_drives import two_way_road

FORTH, BACK = LaneKey(1, 0, -1), LaneKey(1, 0, 1)
STRAIGHT = two_way_road([(200.0, 0.0)], grade=0.05)
INDEX = MapIndex(STRAIGHT)


@settings(deadline=None)  # a busy machine is no bug
@given(st.floats(5.0, 190.0), st.floats(-1.5, 1.5), st.floats(-0.5, 0.5))
def test_offset_and_heading_in_the_lane(x: float, offset: float, yaw: float) -> None:
    match = INDEX.lane_at(Pose2D(x, -1.75 + offset, yaw))
    assert match is not None
    assert match.key == FORTH
    assert match.s_m == pytest.approx(x, abs=1e-6)
    assert match.offset_m == pytest.approx(offset, abs=1e-6)
    assert match.heading_error_rad == pytest.approx(yaw, abs=1e-6)
    assert match.z_m == pytest.approx(0.05 * x, abs=1e-6)
    assert match.grade_rad == pytest.approx(math.atan(0.05), abs=1e-6)


def test_direction_chooses_among_lanes_side_by_side() -> None:
    index = INDEX
    on_the_line = (50.0, 0.0)
    forth = index.lane_at(Pose2D(*on_the_line, 0.1))
    back = index.lane_at(Pose2D(*on_the_line, math.pi - 0.1))
    assert forth is not None
    assert back is not None
    assert (forth.key, back.key) == (FORTH, BACK)


def test_off_the_road_there_is_no_lane() -> None:
    assert MapIndex(STRAIGHT).lane_at(Pose2D(50.0, -20.0, 0.0)) is None


def test_offset_in_a_curve_is_exact_between_points() -> None:
    road = two_way_road([(60.0, 1 / 30.0)])
    lane = road.lanes[FORTH]
    index = MapIndex(road)
    for s in np.linspace(5.0, 45.0, 23):
        x, y = (float(np.interp(s, lane.s_m, lane.points[:, i])) for i in (0, 1))
        match = index.lane_at(Pose2D(x, y, float(np.interp(s, lane.s_m, lane.yaw_rad))))
        assert match is not None
        assert match.offset_m == pytest.approx(0.0, abs=0.01)
        assert match.s_m == pytest.approx(s, abs=0.05)


@settings(deadline=None)  # a busy machine is no bug
@given(st.floats(5.0, 180.0), st.floats(-1.7, 1.7), st.floats(-0.3, 0.3), st.floats(3.0, 12.0))
def test_boundary_ahead_is_where_trigonometry_says(x: float, offset: float, yaw: float, ahead: float) -> None:
    """The centre line y = 0 of a straight road, marked once though two lanes share it."""
    y = -1.75 + offset
    crossings = INDEX.boundaries_at(Pose2D(x, y, yaw), ahead)
    if x + ahead > 195.0:
        return
    assert len(crossings) == 1
    expected = (-y - ahead * math.sin(yaw)) / math.cos(yaw)
    assert crossings[0].y_m == pytest.approx(expected, abs=1e-6)
    assert crossings[0].slope == pytest.approx(-math.tan(yaw), abs=1e-6)
    assert (crossings[0].kind, crossings[0].colour) == (MarkingKind.BROKEN, MarkingColour.YELLOW)


def test_unmarked_boundaries_are_not_seen_and_kerbs_are() -> None:
    bare = MapIndex(two_way_road([(100.0, 0.0)], middle=MarkingKind.NONE))
    assert bare.boundaries_at(Pose2D(50.0, -1.75, 0.0), 7.0) == []
    kerbed = MapIndex(two_way_road([(100.0, 0.0)], middle=MarkingKind.NONE, side=MarkingKind.KERB))
    crossings = kerbed.boundaries_at(Pose2D(50.0, -1.75, 0.0), 7.0)
    assert [round(c.y_m, 3) for c in crossings] == [-1.75, 5.25]
    assert {c.kind for c in crossings} == {MarkingKind.KERB}


def test_lines_across_the_way_are_left_out() -> None:
    assert INDEX.boundaries_at(Pose2D(50.0, -1.75, 1.2), 2.0) == []


def test_markings_may_change_along_the_lane() -> None:
    lane = STRAIGHT.lanes[FORTH]
    n = len(lane.points)
    kinds = tuple(MarkingKind.SOLID if i < 100 else MarkingKind.NONE for i in range(n))
    graph = LaneGraph("half", {FORTH: replace(lane, left_marking=kinds)}, (), STRAIGHT.geo)
    index = MapIndex(graph)
    assert len(index.boundaries_at(Pose2D(50.0, -1.75, 0.0), 7.0)) == 1
    assert index.boundaries_at(Pose2D(120.0, -1.75, 0.0), 7.0) == []


def test_a_map_without_lanes_is_refused() -> None:
    with pytest.raises(ValueError, match="'void' has no lanes"):
        MapIndex(LaneGraph("void", {}, (), STRAIGHT.geo))
