"""Which cars of the background come and go, and how fast they drive, played without a simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from av_core.orders import (
    CrossingSpace,
    Destroy,
    DriveInTraffic,
    FollowingTraffic,
    LaneTraffic,
    Move,
    OncomingTraffic,
    Order,
    QuietJunction,
    Spawn,
    TrafficAhead,
)
from av_core.types import ActorTruth, LaneGraph, Pose2D
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from planning import PlanningConfig
from scenarios.background.cars import Car, Role, Seen, speed_share
from scenarios.background.traffic import EVERY_TICKS, BackgroundTraffic
from scenarios.ego_route import ego_route
from scenarios.model import RouteTable
from scenarios.script.places import Roads
from scenarios.script.situation import EGO, Body, Situation

STREET_Y_M = 194.75
"""The right one of two lanes that lead to the east, in the map frame; the opposite ones are at 201.75 and 205.25."""


@cache
def city() -> LaneGraph:
    return read_lane_graph(embedded_map_files()["city_grid"])


def roads() -> Roads:
    table = RouteTable(start=(236.0, -STREET_Y_M), goal=(520.0, -STREET_Y_M))
    return Roads(city(), ego_route(city(), table, PlanningConfig()))


def at(x_m: float, y_m: float = STREET_Y_M) -> ActorTruth:
    return ActorTruth(Pose2D(x_m, y_m, 0.0), (0.0, 0.0))


def now(
    route_m: float,
    *,
    speed_mps: float = 0.0,
    taken: Sequence[Pose2D] = (),
    actors: Mapping[str, ActorTruth] | None = None,
) -> Situation:
    ego = at(236.0 + route_m)
    bodies = [Body(pose, (0.0, 0.0), 4.5, 1.9) for pose in (ego.pose, *taken)]
    return Situation(0.0, 0.05, route_m, {**(actors or {}), EGO: ego}, bodies=bodies)


def spawned(orders: Sequence[Order]) -> list[tuple[int, int]]:
    """The places of the cars that come, in whole metres: along the route from the ego's start, and y."""
    return sorted(
        (round(order.pose.x_m - 236.0), round(order.pose.y_m)) for order in orders if isinstance(order, Spawn)
    )


def later(traffic: BackgroundTraffic, situation: Situation) -> tuple[Order, ...]:
    """The orders of the next decision."""
    return next(orders for orders in (traffic.step(situation) for _ in range(EVERY_TICKS)) if orders)


def test_the_drive_starts_among_cars() -> None:
    orders = BackgroundTraffic(roads(), 1).step(now(35.0))
    assert spawned(orders) == [(s_m, y_m) for s_m in (5, 20, 50, 65) for y_m in (195, 198)]
    assert all(order.attributes["role_name"] == "background" for order in orders if isinstance(order, Spawn))
    assert not any(order.is_needed for order in orders if isinstance(order, Spawn))
    assert all(" " in order.actor for order in orders if isinstance(order, Spawn))


def test_no_car_comes_into_another_one() -> None:
    taken = [Pose2D(236.0 + 50.0, STREET_Y_M + 1.0, 0.0), Pose2D(236.0 + 22.0, STREET_Y_M, 1.0)]
    places = spawned(BackgroundTraffic(roads(), 1).step(now(35.0, taken=taken)))
    assert [s_m for s_m, y_m in places if y_m < 196] == [5, 65]


def test_oncoming_cars_come_before_the_next_junction() -> None:
    """It begins after 84 m; at 50 m the crossing traffic has not begun, and 80 m ahead is beyond the junction."""
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    places = spawned(later(traffic, now(50.0)))
    assert [(s_m, y_m) for s_m, y_m in places if y_m > 200.0] == [(83, 202), (83, 205)]


def test_no_oncoming_car_comes_until_it_may_again() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    traffic.obey(OncomingTraffic(comes=False), 50.0)
    quiet = [order for _ in range(EVERY_TICKS) for order in traffic.step(now(50.0))]
    assert [y_m for _, y_m in spawned(quiet) if y_m > 200] == []
    traffic.obey(OncomingTraffic(comes=True), 50.0)
    assert [(s_m, y_m) for s_m, y_m in spawned(later(traffic, now(50.0))) if y_m > 200] == [(83, 202), (83, 205)]


def test_no_car_comes_behind_the_ego_until_it_may_again() -> None:
    """The ego at 45 m has no car near it, so one comes 30 m behind it on each lane."""
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(0.0))
    traffic.obey(FollowingTraffic(comes=False), 45.0)
    quiet = [order for _ in range(EVERY_TICKS) for order in traffic.step(now(45.0))]
    assert [place for place in spawned(quiet) if place[1] < 200] == []
    traffic.obey(FollowingTraffic(comes=True), 45.0)
    assert [place for place in spawned(later(traffic, now(45.0))) if place[1] < 200] == [(15, 195), (15, 198)]


@pytest.mark.parametrize(("left", "y_m"), [(0, STREET_Y_M), (1, 198.25)])
def test_a_closed_lane_has_no_cars_until_it_is_open_again(left: int, y_m: float) -> None:
    traffic = BackgroundTraffic(roads(), 1)
    first = {order.actor: order.pose for order in traffic.step(now(35.0)) if isinstance(order, Spawn)}
    cars = {name: ActorTruth(pose, (0.0, 0.0)) for name, pose in first.items()}
    on_lane = {name for name, pose in first.items() if abs(pose.y_m - y_m) < 1.0}
    traffic.obey(LaneTraffic(comes=False, left=left), 35.0)
    orders = later(traffic, now(35.0, actors=cars))
    assert len(on_lane) == 4
    assert gone(orders) == on_lane
    others = {name: car for name, car in cars.items() if name not in on_lane}
    quiet = [order for _ in range(EVERY_TICKS) for order in traffic.step(now(35.0, actors=others))]
    assert [y for _, y in spawned(quiet) if y == round(y_m)] == []
    traffic.obey(LaneTraffic(comes=True, left=left), 35.0)
    back = spawned(later(traffic, now(35.0, actors=others)))
    assert [s_m for s_m, y in back if y == round(y_m)] == [5, 20, 50, 65]


def test_the_cars_of_a_lane_that_opens_are_farther_apart_at_speed() -> None:
    """At 5 m/s every 15 m + 2 s x 5 m/s; what would be in the junction or before the road's begin does not come."""
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    traffic.obey(LaneTraffic(comes=False, left=0), 35.0)
    traffic.obey(LaneTraffic(comes=True, left=0), 35.0)
    ego = ActorTruth(Pose2D(236.0 + 35.0, STREET_Y_M, 0.0), (5.0, 0.0))
    situation = Situation(0.0, 0.05, 35.0, {EGO: ego}, bodies=[Body(ego.pose, (5.0, 0.0), 4.5, 1.9)])
    assert [s_m for s_m, y in spawned(later(traffic, situation)) if y == 195] == [10, 60]


def test_a_junction_opens_a_closed_lane() -> None:
    """At 144 m the ego has passed the first junction, and cars come 30 m behind it."""
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    traffic.obey(LaneTraffic(comes=False, left=0), 35.0)
    later(traffic, now(60.0))
    assert [place for place in spawned(later(traffic, now(144.0))) if place[0] < 144] == [(114, 195), (114, 198)]


def test_cars_ahead_keep_more_distance_when_told() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    ahead = spawned_at(traffic.step(now(35.0)), 50)
    cars = {ahead: at(236.0 + 35.0 + 46.0)}
    assert ahead not in told(later(traffic, now(35.0, actors=cars))), "it stands, as it did"
    traffic.obey(TrafficAhead(30.0), 35.0)
    assert told(later(traffic, now(35.0, actors=cars)))[ahead] > 10.0
    traffic.obey(TrafficAhead(0.0), 35.0)
    assert told(later(traffic, now(35.0, actors=cars)))[ahead] == 0.0


def test_oncoming_cars_leave_space_where_somebody_crosses() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    come = [order for order in later(traffic, now(50.0)) if isinstance(order, Spawn) and order.pose.y_m > 200.0]
    near, far = (order.actor for order in come)
    own = spawned_at(BackgroundTraffic(roads(), 1).step(now(35.0)), 50)
    west = np.pi
    cars = {
        near: ActorTruth(Pose2D(236.0 + 75.0, 201.75, west), (-8.0, 0.0)),
        far: ActorTruth(Pose2D(236.0 + 82.0, 201.75, west), (-8.0, 0.0)),
        own: at(236.0 + 52.0),
    }
    traffic.obey(CrossingSpace(Pose2D(236.0 + 57.0, 201.75, 0.0)), 50.0)
    orders = later(traffic, now(50.0, actors=cars))
    assert gone(orders) == {near}
    assert [
        (order.actor, order.velocity_mps) for order in orders if isinstance(order, Move) and order.actor in cars
    ] == [(far, (0.0, 0.0))]
    again = [order for _ in range(EVERY_TICKS) for order in traffic.step(now(50.0, actors={far: cars[far]}))]
    assert not [order for order in again if isinstance(order, (Destroy, Move)) and order.actor == far]


def test_cars_behind_stay_behind_an_ego_that_comes_to_a_quiet_junction() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    behind = spawned_at(traffic.step(now(35.0)), 20)
    traffic.obey(QuietJunction(others_wait=False), 35.0)
    cars = {behind: at(236.0 + 21.0)}
    assert told(later(traffic, now(35.0, actors=cars))).get(behind, 0.0) == 0.0, "the ego stands 14 m ahead of it"
    free = BackgroundTraffic(roads(), 1)
    behind = spawned_at(free.step(now(35.0)), 20)
    assert told(later(free, now(35.0, actors={behind: at(236.0 + 21.0)})))[behind] > 10.0


def test_cars_behind_a_quiet_junction_wait_farther_on_for_the_end_of_a_stream() -> None:
    usual, farther = (waiting_behind_junction(space_m) for space_m in (0.0, 10.0))
    assert len(usual) == 4
    assert farther == [(s_m + 10, y_m) for s_m, y_m in usual]


def waiting_behind_junction(space_m: float) -> list[tuple[int, int]]:
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    traffic.obey(QuietJunction(others_wait=False, exit_space_m=space_m), 35.0)
    return [(s_m, y_m) for s_m, y_m in spawned(later(traffic, now(60.0))) if s_m > 115 and y_m < 200]


def test_traffic_of_a_junction_comes_once_the_ego_is_near() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    places = spawned(later(traffic, now(60.0)))
    crossing = [(s_m, y_m) for s_m, y_m in places if y_m < 180.0 or y_m > 220.0]
    assert 0 < len(crossing) <= 2
    waiting = [(s_m, y_m) for s_m, y_m in places if s_m > 115.0 and y_m < 200.0]
    assert len(waiting) == 4  # two on each lane of the route behind it


def test_a_car_that_waits_behind_an_obstacle_goes() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    first = traffic.step(now(35.0))
    ahead = next(order for order in first if isinstance(order, Spawn) and 49.0 < order.pose.x_m - 236.0 < 51.0)
    waits, parked = ActorTruth(ahead.pose, (0.0, 0.0)), at(236.0 + 62.0, ahead.pose.y_m)
    cars = {ahead.actor: waits}
    assert Destroy(ahead.actor) not in later(traffic, now(35.0, actors=cars))
    assert Destroy(ahead.actor) in later(traffic, now(35.0, actors={"parked": parked, **cars}))


def test_a_car_far_behind_goes_and_is_not_ordered_again() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    first = traffic.step(now(35.0))
    names = [order.actor for order in first if isinstance(order, Spawn)]
    cars = {name: at(236.0, 198.25) for name in names[:1]}
    assert Destroy(names[0]) in later(traffic, now(170.0, actors=cars))
    assert not [
        order
        for order in later(traffic, now(170.0, actors=cars))
        if isinstance(order, (Destroy, DriveInTraffic)) and order.actor == names[0]
    ]


JUNCTION_X_M = 334.0
"""The middle of the first junction on the route, from 84 m to 112 m."""


def test_a_quiet_junction_is_free_of_cars_until_the_ego_has_passed_it() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    first = traffic.step(now(35.0))
    ahead, behind, other = (spawned_at(first, s_m) for s_m in (50, 20, 65))
    cars = {ahead: at(236.0 + 50.0), behind: at(236.0 + 20.0), other: at(JUNCTION_X_M)}
    traffic.obey(QuietJunction(others_wait=False), 35.0)
    assert gone(later(traffic, now(35.0, actors=cars))) == {ahead, other}
    back = {behind: at(JUNCTION_X_M)}
    assert gone(later(traffic, now(90.0, actors=back))) == {behind}


def test_cars_ahead_of_the_ego_go_only_when_the_junction_becomes_quiet() -> None:
    traffic = BackgroundTraffic(roads(), 1)
    first = traffic.step(now(35.0))
    traffic.obey(QuietJunction(others_wait=False), 35.0)
    later(traffic, now(35.0))
    overtakes = spawned_at(first, 20)
    assert not gone(later(traffic, now(35.0, actors={overtakes: at(236.0 + 60.0)})))


@pytest.mark.parametrize("others_wait", [False, True])
def test_cars_on_other_roads_wait_before_a_quiet_junction(others_wait: bool) -> None:
    traffic = BackgroundTraffic(roads(), 1)
    traffic.step(now(35.0))
    come = [order for order in later(traffic, now(60.0)) if isinstance(order, Spawn)]
    crossing = {order.actor: ActorTruth(order.pose, (0.0, 0.0)) for order in come if is_beside(order.pose)}
    assert crossing
    traffic.obey(QuietJunction(others_wait), 60.0)
    before = told(later(traffic, now(60.0, actors=crossing)))
    assert all((before[name] == 0.0) == others_wait for name in crossing)
    passed = later(traffic, now(115.0, actors=crossing))
    after = told(passed)
    assert all(name in gone(passed) or after.get(name, before[name]) > 0.0 for name in crossing)


def is_beside(pose: Pose2D) -> bool:
    return not 180.0 < pose.y_m < 220.0


def told(orders: Sequence[Order]) -> dict[str, float]:
    return {order.actor: order.speed_mps for order in orders if isinstance(order, DriveInTraffic)}


def spawned_at(orders: Sequence[Order], s_m: int) -> str:
    """The car on the right lane that comes so far along the route."""
    cars = [order for order in orders if isinstance(order, Spawn) and order.pose.y_m < 196.0]
    return next(order.actor for order in cars if round(order.pose.x_m - 236.0) == s_m)


def gone(orders: Sequence[Order]) -> set[str]:
    return {order.actor for order in orders if isinstance(order, Destroy)}


@given(st.floats(0.0, 120.0), st.floats(0.0, 120.0), st.floats(0.0, 25.0))
def test_cars_ahead_wait_for_the_ego_and_cars_behind_catch_up(one_m: float, other_m: float, ego_mps: float) -> None:
    near_m, far_m = sorted((one_m, other_m))
    near, far = (share(200.0 + gap_m, ego_mps) for gap_m in (near_m, far_m))
    assert 0.0 <= far <= near <= 1.0
    assert share(200.0 + 30.0 + 1.7 * ego_mps, ego_mps) == pytest.approx(1.0)
    assert share(200.0 + 45.0 + 1.7 * ego_mps, ego_mps) == pytest.approx(0.0, abs=1e-9)
    near, far = (share(199.9 - gap_m, ego_mps) for gap_m in (near_m, far_m))
    assert 1.0 <= near <= far <= 2.0


def share(s_m: float, ego_mps: float, role: Role = Role.ALONG) -> float:
    return speed_share(Seen(Car("a b", role), Pose2D(0.0, 0.0, 0.0), 0.0, s_m, 0.0, 0.0), 200.0, ego_mps)


def test_oncoming_cars_drive_at_the_limit() -> None:
    assert share(300.0, 0.0, Role.ONCOMING) == 1.0
