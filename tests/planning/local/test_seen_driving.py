"""A vehicle that was seen driving and stands is waited for; one that always stood may be passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from av_core.types import LaneGraph, ObjectKind, Pose2D
from planning import find_route
from planning.local.blockers import Blockers
from planning.local.occupancy import OnRoad
from planning.local.seen_driving import SeenDriving
from planning.reference_path import Route
from tests.planning.lanes_by_hand import join, key, straight
from tests.planning.local.test_blockers import standing


def moving(number: int, s_m: float, speed_mps: float, d_m: float = 0.0) -> OnRoad:
    way = standing(number, s_m, d_m)
    return replace(way, one=replace(way.one, item=replace(way.one.item, velocity_mps=(speed_mps, 0.0))))


def road() -> Route:
    graph: LaneGraph = join([straight(key(0), 0, 0, 0, 300)])
    return find_route(graph, Pose2D(0, 0, 0), Pose2D(290, 0, 0))


def queue_end(number_at: Callable[[float], int]) -> float | None:
    """When a car that drove 20 m ahead of the ego, and stands from 5 s on, becomes an obstacle."""
    blockers, route = Blockers(), road()
    for step in range(800):
        time_s = 0.1 * step
        way = moving(number_at(time_s), 40.0 + 4.0 * min(time_s, 5.0), 4.0 if time_s < 5.0 else 0.0)
        told = blockers.update([way], route, {}, 20.0 + 4.0 * min(time_s, 5.0), time_s)
        if told.obstacles:
            return time_s - 5.0
        assert time_s < 2.5 or told.not_passed
        assert not told.suspects
    return None


def test_a_car_that_drove_before_the_ego_and_stands_is_waited_for_over_a_cycle_of_a_light() -> None:
    """An ego that took the end of a queue for an obstacle passed nine cars, and met the traffic that came from the
    light."""
    waited_s = queue_end(lambda _: 7)
    assert waited_s == pytest.approx(60.0, abs=0.2)


def test_a_new_track_of_that_car_is_waited_for_as_well() -> None:
    waited_s = queue_end(lambda time_s: 7 if time_s < 6.0 else 8)
    assert waited_s == pytest.approx(61.0, abs=0.2)


@pytest.mark.parametrize(("error_m", "d_m"), [(0.0, 0.0), (6.0, 0.0), (0.0, 1.5), (0.0, 3.5)])
def test_what_stands_is_not_seen_driving(error_m: float, d_m: float) -> None:
    """Its distance is estimated too short from afar, so that it seems to move; or another drives by."""
    seen = SeenDriving()
    for step in range(60):
        ego_s_m = 0.5 * step
        seems_m = 36.0 - error_m * max(36.0 - ego_s_m, 0.0) / 36.0
        ways = [moving(7, seems_m, 2.0), *([moving(8, 10.0 + 1.0 * step, 10.0, d_m)] if d_m else [])]
        assert 7 not in seen.update(ways, ego_s_m, 0.1 * step)


@pytest.mark.parametrize("kind", [ObjectKind.PEDESTRIAN, ObjectKind.BICYCLE])
def test_only_cars_are_seen_driving(kind: ObjectKind) -> None:
    seen = SeenDriving()
    for step in range(60):
        way = moving(7, 10.0 + 0.4 * step, 4.0)
        way = replace(way, one=replace(way.one, item=replace(way.one.item, kind=kind)))
        assert not seen.update([way], 0.0, 0.1 * step)


def test_behind_one_that_begins_to_drive_nothing_is_passed() -> None:
    """The first car of the queue was an obstacle; the ego passed the whole queue as the last one started."""
    blockers, route, drove_s = Blockers(), road(), 5.0
    for step in range(400):
        time_s = 0.1 * step
        speed_mps = 0.0 if drove_s < time_s < 35.0 else 4.0
        s_m = 40.0 + 4.0 * min(time_s, drove_s) + 4.0 * max(time_s - 35.0, 0.0)
        ways = [moving(7, s_m, speed_mps), *([standing(8, 90.0)] if time_s > drove_s else [])]
        told = blockers.update(ways, route, {}, 20.0 + 4.0 * min(time_s, drove_s), time_s)
    assert told.obstacles == {8}
    assert told.not_passed == {7}


def test_one_that_is_gone_is_forgotten() -> None:
    seen = SeenDriving()
    for step in range(30):
        seen.update([moving(7, 10.0 + 0.4 * step, 4.0)], 0.0, 0.1 * step)
    assert seen.update([], 0.0, 3.0) == {7}
    assert seen.update([standing(9, 22.0)], 0.0, 4.0) == {7, 9}
    assert seen.update([], 0.0, 7.0) == frozenset()


@pytest.mark.parametrize(("brakes_mps2", "is_driver"), [(7.5, True), (11.0, False)])
def test_one_that_stops_harder_than_brakes_can_waits_for_nothing(brakes_mps2: float, is_driver: bool) -> None:
    """A car vanished where a building site came up, and its track jumped to that, which was waited for over a cycle."""
    seen, s_m, told = SeenDriving(), 10.0, frozenset[int]()
    for step in range(60):
        speed_mps = max(10.7 - brakes_mps2 * max(0.1 * step - 2.0, 0.0), 0.0)
        s_m += 0.1 * speed_mps
        told = seen.update([moving(7, s_m, speed_mps)], 0.0, 0.1 * step)
        assert step < 10 or step > 20 or told == {7}
    assert told == (frozenset({7}) if is_driver else frozenset())
