"""What part of the route counts as driven outside its lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import LaneGraph, SideKind, SideLane
from scenarios.judging.lane_locator import LaneLocator
from scenarios.judging.lanes import OutsideLanes
from scenarios.judging.route_points import RoutePoints
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.judging.tick import Tick
from tests.planning.lanes_by_hand import join, key, straight
from tests.scenarios.judged_drives import route_on, show, ticks_along_x

TWO_WAYS = join([straight(key(0, -1), 0, 0, 0, 400), straight(key(0, 1), 400, 3.5, np.pi, 400)])
"""The route's lane at y = 0, 3.5 m wide, and the oncoming one to its left."""


def outside_share(*parts: list[Tick], graph: LaneGraph = TWO_WAYS, scenarios: ScenarioEvents | None = None) -> float:
    route = route_on(TWO_WAYS, 1.0, 399.0)
    outside = OutsideLanes(RoutePoints(route), LaneLocator(graph), scenarios or ScenarioEvents())
    for part in parts:
        show(outside, part)
    return outside.infractions.outside_lane_share


def test_half_a_metre_beside_the_lane_is_allowed() -> None:
    assert outside_share(ticks_along_x(1, 399, y_m=-2.2)) == 0.0
    assert outside_share(ticks_along_x(1, 399, y_m=-2.3)) == 1.0


def test_a_parking_lane_is_no_outside_but_a_pavement_is() -> None:
    """Both are 2 m wide and lie to the right of the route's lane."""
    strip = straight(key(0, -2), 0, -2.75, 0, 400)
    for kind, share in ((SideKind.PARKING, 0.0), (SideKind.PAVEMENT, 1.0)):
        side = SideLane(strip.key, kind, strip.points, strip.s_m, strip.yaw_rad, 0.0 * strip.s_m + 2.0, False, ())
        graph = replace(TWO_WAYS, side_lanes={side.key: side})
        assert outside_share(ticks_along_x(1, 399, y_m=-3.0), graph=graph) == share
        assert outside_share(ticks_along_x(1, 399, y_m=-4.3), graph=graph) == 1.0


@settings(deadline=None, max_examples=10)
@given(cut_m=st.floats(5.0, 395.0))
def test_the_share_is_that_of_the_way(cut_m: float) -> None:
    share = outside_share(ticks_along_x(1, cut_m), ticks_along_x(cut_m, 399, y_m=-3.0))
    assert share == pytest.approx((399.0 - cut_m) / 398.0, abs=0.01)


def test_the_oncoming_lane_counts_until_the_ego_is_back() -> None:
    drive = [ticks_along_x(1, 100), ticks_along_x(100, 200, y_m=3.5), ticks_along_x(200, 399)]
    assert outside_share(*drive) == pytest.approx(100.0 / 398.0, abs=0.01)


def test_a_scenario_may_allow_the_oncoming_lane_but_not_the_verge() -> None:
    scenarios = ScenarioEvents()
    scenarios.begin("ParkedObstacleTwoWays", allows_oncoming_lane=True)
    drive = [ticks_along_x(1, 100), ticks_along_x(100, 200, y_m=3.5), ticks_along_x(200, 399)]
    assert outside_share(*drive, scenarios=scenarios) == 0.0
    assert outside_share(ticks_along_x(1, 399, y_m=-3.0), scenarios=scenarios) == 1.0


def test_standing_outside_costs_nothing_and_no_drive_has_no_share() -> None:
    assert outside_share(ticks_along_x(1, 1, y_m=-5.0) * 100) == 0.0


def test_no_direction_in_junctions_and_a_fresh_look_behind_them() -> None:
    through = [
        straight(key(0), 0, 0, 0, 100),
        straight(key(1), 200, 0, np.pi, 100, junction=True),
        straight(key(2), 400, 0, np.pi, 200),
    ]
    share = outside_share(ticks_along_x(1, 399), graph=join(through))
    assert share == pytest.approx(199.0 / 398.0, abs=0.01)


def test_of_two_roads_above_one_another_the_height_decides() -> None:
    bridge = straight(key(1), 50, -50, np.pi / 2, 100)
    bridge.points[:, 2] = 8.0
    locator = LaneLocator(join([straight(key(0), 0, 3.0, 0, 400), bridge]))
    assert locator.nearest(50.0, 2.0, 8.0).lane.key == key(1)
    assert locator.nearest(50.0, 2.0, 0.0).lane.key == key(0)


def test_points_ahead_go_on_in_the_next_lane() -> None:
    locator = LaneLocator(join([straight(key(0), 0, 0, 0, 10), straight(key(1), 10, 0, 0, 10)]))
    ahead = locator.ahead(locator.nearest(8.2, 1.0, 0.0), 1.0, 20)
    assert [round(point.x_m, 3) for point in ahead] == [9.2 + i for i in range(11)]
