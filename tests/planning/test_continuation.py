"""A route that the ego passes at its end goes on, straight, and nobody slows down for it."""

from __future__ import annotations

import numpy as np

from av_core.types import ConstraintKind, LaneGraph, Pose2D
from planning import PlanningConfig, continued, find_route
from tests.planning.closed_loop import ScenePlanner, drive
from tests.planning.lanes_by_hand import arc, beside, join, key, straight

CONFIG = PlanningConfig().route


def forked_road() -> LaneGraph:
    """A road of 100 m that leads straight on for 400 m, or into a left turn."""
    lanes = [
        straight(key(0), 0, 0, 0, 100),
        straight(key(1), 100, 0, 0, 400),
        arc(key(2), 100, 0, 0, 30.0, np.pi / 2),
    ]
    graph = join(lanes)
    assert set(graph.lanes[key(0)].successors) == {key(1), key(2)}
    return graph


def test_it_goes_straight_on_and_stays_the_same_before_the_end() -> None:
    graph = forked_road()
    route = find_route(graph, Pose2D(10, 0, 0), Pose2D(80, 0, 0))
    longer = continued(graph, route, CONFIG, by_m=120.0)
    assert abs(longer.length_m - route.length_m - 120.0) < 0.5
    assert longer.lanes == (key(0), key(1))
    s = np.linspace(0.0, route.length_m - 12.0, 50)
    assert np.allclose(longer.curve.pose_at(s), route.curve.pose_at(s), atol=0.02)


def test_it_ends_where_the_lanes_end() -> None:
    graph = forked_road()
    route = find_route(graph, Pose2D(10, 0, 0), Pose2D(450, 0, 0))
    assert abs(continued(graph, route, CONFIG).length_m - 490.0) < 0.5


def test_a_lane_change_at_the_end_is_kept() -> None:
    graph = join(beside(straight(key(0), 0, 0, 0, 300), straight(key(0, -2), 0, 3.5, 0, 300)))
    route = find_route(graph, Pose2D(10, 0, 0), Pose2D(70, 3.5, 0))
    changes = [piece for piece in route.pieces if piece.change_from is not None]
    longer = continued(graph, route, CONFIG, by_m=100.0)
    assert [piece for piece in longer.pieces if piece.change_from is not None] == changes
    assert abs(longer.length_m - route.length_m - 100.0) < 0.5


def test_the_ego_does_not_slow_down_for_the_end() -> None:
    graph = forked_road()
    planner = ScenePlanner(graph)
    route = planner.navigate(Pose2D(0, 0, 0), Pose2D(80, 0, 0))
    planner._planner.set_route(continued(graph, route, CONFIG))
    log = drive(planner, 7.0, 10.0)
    near = np.array([60.0 < s < 80.0 for s in log.column(1)])
    assert near.any()
    assert log.column(3)[near].min() > 11.0
    assert ConstraintKind.END_OF_ROUTE not in {plan.constraint.kind for plan in log.plans if plan.constraint}
