"""When the indicators announce turns and lane changes."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import Indicator, LaneGraph, Pose2D
from planning import find_route
from planning.indicators import TURN_LEAD_M, indications, indicator_at
from tests.planning.closed_loop import ScenePlanner, drive
from tests.planning.lanes_by_hand import arc, beside, end_of, join, key, straight


def crossroads(angle_rad: float) -> tuple[LaneGraph, Pose2D]:
    """80 m, a junction that turns by `angle_rad` over 12 m of radius, 80 m; and the place at its end."""
    before = straight(key(0), 0, 0, 0, 80)
    turn = arc(key(1), 80, 0, 0, 12.0, angle_rad, junction=True)
    after = straight(key(2), *end_of(turn), 80)
    x, y, yaw = end_of(after)
    return join([before, turn, after]), Pose2D(x - np.cos(yaw), y - np.sin(yaw), yaw)


@pytest.mark.parametrize(("angle_rad", "side"), [(1.57, Indicator.LEFT), (-1.57, Indicator.RIGHT)])
def test_a_turn_is_announced_before_the_junction_and_until_its_end(angle_rad: float, side: Indicator) -> None:
    graph, goal = crossroads(angle_rad)
    found = indications(find_route(graph, Pose2D(0, 0, 0), goal), graph)
    shown = {s: indicator_at(found, s) for s in (0.0, 79.0 - TURN_LEAD_M, 81.0 - TURN_LEAD_M, 79.0, 90.0, 101.0, 150.0)}
    assert list(shown.values()) == [Indicator.OFF, Indicator.OFF, side, side, side, Indicator.OFF, Indicator.OFF]


def test_straight_on_through_a_junction_shows_nothing() -> None:
    lanes = [straight(key(n), x, 0, 0, 40, junction=n == 1) for n, x in enumerate((0, 40, 80))]
    graph = join(lanes)
    assert indications(find_route(graph, Pose2D(0, 0, 0), Pose2D(119, 0, 0)), graph) == ()


def test_a_turn_right_behind_a_junction_is_not_announced_at_that_junction() -> None:
    """An indicator at the first junction would announce a turn there."""
    turn = arc(key(3), 75, 0, 0, 12.0, 1.57, junction=True)
    lanes = [
        straight(key(0), 0, 0, 0, 50),
        straight(key(1), 50, 0, 0, 15, junction=True),
        straight(key(2), 65, 0, 0, 10),
        turn,
        straight(key(4), *end_of(turn), 40),
    ]
    graph = join(lanes)
    found = indications(find_route(graph, Pose2D(0, 0, 0), Pose2D(87, 45, 1.57)), graph)
    assert [one.side for one in found] == [Indicator.LEFT]
    assert found[0].from_s_m == pytest.approx(65.0, abs=0.6)


@pytest.mark.parametrize("to_left", [True, False])
def test_a_lane_change_is_announced_to_its_side(to_left: bool) -> None:
    right, left = straight(key(0, -2), 0, 0, 0, 200), straight(key(0, -1), 0, 3.5, 0, 200)
    graph = join(beside(right, left))
    start, goal = (0.0, 3.5) if to_left else (3.5, 0.0)
    planner = ScenePlanner(graph)
    route = planner.navigate(Pose2D(60, start, 0), Pose2D(190, goal, 0))
    log = drive(planner, 40, 10.0)
    changing = np.flatnonzero(route.is_change)
    low, high = route.s_m[changing[0]], route.s_m[changing[-1]]
    shown = [plan.indicator for plan in log.plans if low <= plan.route_s_m <= high]
    assert set(shown) == {Indicator.LEFT if to_left else Indicator.RIGHT}
    assert log.plans[-1].indicator is Indicator.OFF
