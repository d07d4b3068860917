"""Obstacles beside the ego: held where they were seen, and forgotten when they have gone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import ObjectKind, Pose2D, PredictedObject, TrackedObject
from planning import PlanningConfig, find_route
from planning.local.blockers import Blockers, FrontView, PassedObstacles
from planning.local.occupancy import TIMES_S, OnRoad
from tests.planning.lanes_by_hand import join, key, straight
from tests.planning.local.test_yielding import along
from tests.planning.test_traffic import vehicle

VIEW = FrontView(1.5, math.tan(math.radians(30.0)))


def standing(number: int, s_m: float, d_m: float = 0.0, yaw_rad: float = 0.0) -> OnRoad:
    item = TrackedObject(number, ObjectKind.CAR, s_m, d_m, yaw_rad, (0.0, 0.0), 4.5, 1.9, 1.5)
    places = np.full(1, s_m), np.full(1, d_m), np.full(1, 2.25), np.full(1, 0.95)
    return OnRoad(PredictedObject(item), *places)


def places_of(ways: list[OnRoad]) -> dict[int, float]:
    return {way.one.item.track_id: float(way.s_m[0]) for way in ways}


def holding() -> PassedObstacles:
    passed = PassedObstacles(VIEW)
    passed.hold([standing(18, 112.0)], frozenset({18}))
    return passed


def test_an_obstacle_that_the_camera_does_not_see_any_more_has_gone() -> None:
    passed = holding()
    assert places_of(passed.settle([], 100.0, 0.0, 1.0)) == {18: 112.0}
    assert places_of(passed.settle([], 100.0, 0.0, 1.9)) == {18: 112.0}
    assert places_of(passed.settle([], 100.0, 0.0, 2.1)) == {}


def test_an_obstacle_whose_track_is_elsewhere_has_gone() -> None:
    """A track of radar returns that took another place: it kept the ego standing for 170 s (obstacles 7)."""
    passed = holding()
    elsewhere = standing(18, 190.0)
    assert places_of(passed.settle([elsewhere], 100.0, 0.0, 1.0)) == {18: 112.0}
    assert places_of(passed.settle([elsewhere], 100.0, 0.0, 2.1)) == {18: 190.0}


@pytest.mark.parametrize("seems_m", [0.0, 3.0])
def test_an_obstacle_whose_track_seems_to_move_a_little_stays_where_it_was(seems_m: float) -> None:
    passed = holding()
    for step in range(100):
        ways = passed.settle([standing(18, 112.0 + seems_m)], 100.0, 0.0, 0.1 * step)
    assert places_of(ways) == {18: 112.0}


@pytest.mark.parametrize(("ego_s_m", "speed_mps", "place_m"), [(100.0, 2.0, 1.0), (100.0, 0.8, 0.0), (109.0, 2.0, 0.0)])
def test_an_obstacle_that_sets_off_in_view_is_where_it_is_seen(
    ego_s_m: float, speed_mps: float, place_m: float
) -> None:
    """A bicycle at the kerb began to cross, and the ego drove on as if it stood (obstacles 40). At 109 m it is cut."""
    passed = holding()
    seen = standing(18, 112.0, 1.0)
    moving = replace(seen.one.item, velocity_mps=(0.0, speed_mps))
    ways = passed.settle([replace(seen, one=PredictedObject(moving))], ego_s_m, 0.0, 1.0)
    assert [float(way.d_m[0]) for way in ways] == [place_m]


def test_an_obstacle_beside_the_ego_stays_though_no_camera_sees_it() -> None:
    passed = holding()
    for step in range(100):
        ways = passed.settle([], 111.0, 3.0, 0.1 * step)
    assert places_of(ways) == {18: 112.0}


def test_an_obstacle_before_the_ego_has_gone_when_its_track_is_elsewhere_though_no_camera_shows_its_place() -> None:
    """It stood across the way of an ego that waited for it in a junction, and turned off."""
    passed = PassedObstacles(None, front_m=3.8)
    passed.hold([standing(18, 112.0)], frozenset({18}))
    elsewhere = standing(18, 125.0)
    assert places_of(passed.settle([elsewhere], 105.0, 0.0, 1.0)) == {18: 112.0}
    assert places_of(passed.settle([elsewhere], 105.0, 0.0, 2.1)) == {18: 125.0}
    passed.hold([standing(18, 112.0)], frozenset({18}))
    assert places_of(passed.settle([elsewhere], 111.0, 3.0, 4.0)) == {18: 112.0}
    assert places_of(passed.settle([elsewhere], 111.0, 3.0, 9.0)) == {18: 112.0}


def test_an_obstacle_before_the_front_that_nothing_has_seen_for_twenty_seconds_has_gone() -> None:
    """A radar's ghost that had ended kept the ego in a junction for 180 s (obstacles 86)."""
    passed = PassedObstacles(None, front_m=3.8)
    passed.hold([standing(18, 112.0)], frozenset({18}))
    assert places_of(passed.settle([], 105.0, 0.0, 1.0)) == {18: 112.0}
    assert places_of(passed.settle([standing(18, 112.0)], 105.0, 0.0, 15.0)) == {18: 112.0}
    assert places_of(passed.settle([], 105.0, 0.0, 16.0)) == {18: 112.0}
    assert places_of(passed.settle([], 105.0, 0.0, 35.0)) == {18: 112.0}
    assert places_of(passed.settle([], 105.0, 0.0, 36.0)) == {}


def test_an_obstacle_beside_the_ego_stays_though_nothing_sees_it() -> None:
    passed = PassedObstacles(None, front_m=3.8)
    passed.hold([standing(18, 112.0)], frozenset({18}))
    for time_s in (1.0, 30.0, 60.0):
        assert places_of(passed.settle([], 111.0, 3.0, time_s)) == {18: 112.0}


@pytest.mark.parametrize(("s_m", "yaw_rad", "after_s"), [(110.0, 1.2, 60.0), (110.0, 0.1, 8.0), (200.0, 1.2, 2.0)])
def test_a_vehicle_across_the_way_in_a_junction_waits_for_others_for_long(
    s_m: float, yaw_rad: float, after_s: float
) -> None:
    """An ego that tried to pass one after 8 s drove into the junction, had no way there, and stood on others' ways."""
    lanes = [straight(key(0), 0, 0, 0, 100), straight(key(1), 100, 0, 0, 20, junction=True)]
    graph = join([*lanes, straight(key(2), 120, 0, 0, 130)])
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(245, 0, 0), (), PlanningConfig().route)
    blockers, way = Blockers(), standing(18, s_m, yaw_rad=yaw_rad)
    found_s = next(
        0.5 * step for step in range(200) if blockers.update([way], route, {}, 0.0, 0.5 * step).obstacles == {18}
    )
    assert found_s == after_s


@pytest.mark.parametrize(("sideways_mps", "is_obstacle"), [(0.0, True), (0.2, True), (2.0, False)])
def test_a_slow_bicycle_is_passed_unless_it_crosses(sideways_mps: float, is_obstacle: bool) -> None:
    bicycle = replace(vehicle(1, 20.0, -3.0, 0.0, 2.0), kind=ObjectKind.BICYCLE, length_m=1.8, width_m=0.6)
    way = along(20.0, 2.0)
    way = replace(way, one=replace(way.one, item=bicycle), d_m=-3.0 + sideways_mps * TIMES_S)
    route = find_route(join([straight(key(0), 0, 0, 0, 200.0)]), Pose2D(0, 0, 0), Pose2D(190.0, 0, 0))
    assert (1 in Blockers().update([way], route, {}, 0.0, 0.0).obstacles) is is_obstacle


def test_who_waits_behind_the_ego_is_no_obstacle_but_one_that_was_passed_stays_one() -> None:
    """The ego left its lane at the end of a queue, since the car behind it had stood for 2 s."""
    route = find_route(join([straight(key(0), 0, 0, 0, 200.0)]), Pose2D(0, 0, 0), Pose2D(190.0, 0, 0))
    blockers = Blockers()
    for step in range(50):
        told = blockers.update([standing(9, 90.0), standing(18, 112.0)], route, {}, 100.0, 0.1 * step)
    assert told.obstacles == told.suspects == {18}
    assert blockers.update([standing(9, 90.0), standing(18, 112.0)], route, {}, 115.0, 5.1).obstacles == {18}


@pytest.mark.parametrize(("seems_mps", "is_found"), [(1.5, True), (2.5, False)])
def test_noise_in_the_speed_of_what_stands_does_not_start_its_time_anew(seems_mps: float, is_found: bool) -> None:
    route = find_route(join([straight(key(0), 0, 0, 0, 300)]), Pose2D(0, 0, 0), Pose2D(290, 0, 0))
    blockers, way = Blockers(), standing(7, 60.0)
    fast = replace(way, one=replace(way.one, item=replace(way.one.item, velocity_mps=(seems_mps, 0.0))))
    for step in range(25):
        told = blockers.update([fast if step == 15 else way], route, {}, 20.0, 0.1 * step)
    assert (7 in told.obstacles) == is_found
