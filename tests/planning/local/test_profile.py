"""The offset of the driven path: which new ways it takes over."""

from __future__ import annotations

import numpy as np

from av_core.types import Pose2D
from planning import PlanningConfig, find_route
from planning.local.lattice import LatticePath
from planning.local.making_room import Side
from planning.local.occupancy import Body, EgoOnRoad
from planning.local.profile import OffsetProfile
from planning.local.road import road_layout
from tests.planning.lanes_by_hand import beside, join, key, straight

START = EgoOnRoad(20.0, 0.0, 15.0)


def aside_within(way_m: float) -> LatticePath:
    """A way to the lane on the left, 3.5 m beside the route, at 15 m/s."""
    times = 0.5 * np.arange(16, dtype=np.float64)
    along = 15.0 * times
    return LatticePath(times, along, np.interp(along, [7.5, way_m], [0, 3.5]), np.full(16, 15.0), 0, True)


def profile_and_rows() -> tuple[OffsetProfile, slice]:
    graph = join(beside(straight(key(0), 0, 0, 0, 500.0), straight(key(0, -2), 0, 3.5, 0, 500.0)))
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(490.0, 0, 0), (), PlanningConfig().route)
    profile = OffsetProfile(route, road_layout(route, graph), Body(3.8, 1.0, 1.9))
    return profile, slice(route.row_at(15.0), route.row_at(180.0) + 1)


def test_a_gentle_way_is_taken_over_and_leads_back() -> None:
    profile, rows = profile_and_rows()
    assert profile.take_over_if_gentle(aside_within(60.0), START, rows)
    assert abs(float(profile.at(90.0)) - 3.5) < 0.2
    assert abs(float(profile.at(175.0))) < 0.1


def test_a_lane_is_held_while_it_lies_beside_the_route() -> None:
    profile, rows = profile_and_rows()
    profile.take_over(aside_within(60.0), START, rows)
    profile.hold_lane(START, rows, Side.LEFT)
    assert abs(float(profile.at(300.0)) - 3.5) < 0.2
    assert abs(float(profile.at(485.0))) < 0.1


def test_the_ego_need_not_brake_for_a_lane_that_it_holds() -> None:
    """A kink in the path counts as a bend, for which the ego once braked from 24 to 15 m/s in the lane beside."""
    profile, rows = profile_and_rows()
    profile.take_over(aside_within(60.0), START, rows)
    profile.hold_lane(START, rows, Side.LEFT)
    s = np.arange(START.s_m, 485.0, 0.5)
    bend_1pm = np.gradient(np.gradient(profile.at(s), s), s)
    assert np.abs(bend_1pm).max() * START.speed_mps**2 < 3.0


def test_a_sharp_way_changes_nothing() -> None:
    """Also not beyond the rows that the search looks at, where a lane may be held."""
    profile, rows = profile_and_rows()
    profile.take_over(aside_within(60.0), START, rows)
    profile.hold_lane(START, rows, Side.LEFT)
    before_m = profile.offset_m.copy()
    assert not profile.take_over_if_gentle(aside_within(10.0), START, rows)
    assert np.array_equal(profile.offset_m, before_m)
