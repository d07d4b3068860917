"""Background traffic on a real server: it is around the ego, obeys orders, counts as background, and is repeatable."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from typing import Any

from av_core.types import ControlCommand, TrackedObject, Truth
from av_stack.world.spec import Address
from scenarios.leaderboard.plays.table import build
from tests.scenarios.leaderboard.play_sites import site_on, town, way
from tests.scenarios.leaderboard.test_plays import VALUES, WIDE
from tests.scenarios.script.test_script_on_server import STEP_S, Play, event

STREET = {"start": (236.0, -194.8), "goal": (520.0, -194.8)}


def drive(address: Address, seconds: float, **script: Any) -> list[Truth]:
    """The truths of a drive in which the ego drives straight on; the traffic is that of a route file."""
    with closing(Play(address, route=STREET, traffic={"background": True}, seed=4, **script)) as play:
        for _ in range(round(seconds / 0.5)):
            slow = not play.seen or play.seen[-1].ego_speed_mps < 8.0
            play.world.apply(ControlCommand(throttle=0.6 if slow else 0.0, brake=0.0, steer=0.0))
            x_m = play.seen[-1].ego.x_m if play.seen else STREET["start"][0]
            play.play(0.5, max(x_m - STREET["start"][0], 0.0))
        return play.seen


def ahead_m(truth: Truth) -> list[float]:
    """How far each car of the background on the ego's side of the road is ahead of the ego."""
    cars = [one for one in truth.objects if one.track_id in truth.background_ids]
    return sorted(one.x_m - truth.ego.x_m for one in cars if abs(one.yaw_rad) < 0.5 and abs(one.y_m - 195.0) < 8.0)


def test_cars_are_around_the_ego_and_repeat_to_the_bit(city_server: Address) -> None:
    one, other = (drive(city_server, 7.0) for _ in range(2))
    first, last = ahead_m(one[2]), ahead_m(one[-1])
    assert sum(gap_m > 0.0 for gap_m in first) == 4  # two on each of two lanes
    assert sum(gap_m < 0.0 for gap_m in last) >= 2
    assert min(abs(gap_m) for gap_m in last) < 40.0
    assert max(len(truth.background_ids) for truth in one) <= 40
    assert not any(truth.collisions for truth in one)
    assert [_poses(truth) for truth in one] == [_poses(truth) for truth in other]


def test_the_traffic_ahead_stops_by_an_order_and_drives_on(city_server: Address) -> None:
    events = [
        event({"time_s": 4.0}, {"stop_traffic": {}}, name="stop"),
        event({"time_s": 7.0}, {"start_traffic": {}}, name="start"),
    ]
    seen = drive(city_server, 10.0, events=events)
    assert max(_speeds_ahead(seen[75])) > 5.0
    assert max(_speeds_ahead(seen[138])) < 1.0
    assert max(_speeds_ahead(seen[-1])) > 2.0


def test_traffic_ahead_brakes_hard_and_goes_on(city_server: Address) -> None:
    """HardBreakRoute: the ego brakes with the cars ahead of it, and ends the scenario when they have driven on."""
    graph = town("city_grid")
    script = build("HardBreakRoute", site_on(graph, way(graph, *WIDE), trigger_m=60.0), VALUES)
    with closing(
        Play(city_server, route=STREET, traffic={"background": True}, seed=4, **script.model_dump(exclude_unset=True))
    ) as play:
        fired_s = play.director.fired_s
        while "end" not in fired_s and len(play.seen) < 800:
            waits = "begin" in fired_s and "go_on" not in fired_s
            waits |= bool(play.seen) and _is_close_behind(play.seen[-1])
            slow = not play.seen or play.seen[-1].ego_speed_mps < 8.0
            play.world.apply(ControlCommand(0.6 if slow and not waits else 0.0, 1.0 if waits else 0.0, 0.0))
            x_m = play.seen[-1].ego.x_m if play.seen else STREET["start"][0]
            play.play(STEP_S, max(x_m - STREET["start"][0], 0.0))
        began, went_on, ended = (round(fired_s[name] / STEP_S) for name in ("begin", "go_on", "end"))
        before = play.seen[began - 1]
        ahead = {one.track_id for one in before.objects if _is_ahead(one, before)}
        assert len(ahead) >= 2
        assert min(_speeds_of(ahead, before)) > 3.0
        assert max(max(_speeds_of(ahead, truth)) for truth in play.seen[began + 40 : went_on]) < 0.3
        assert max(max(_speeds_of(ahead, truth)) for truth in play.seen[went_on:ended]) > 3.0
        assert not any(truth.collisions for truth in play.seen)


def test_a_cap_holds_for_all_traffic_until_it_is_lifted(city_server: Address) -> None:
    """Cars come faster than the cap, as others do, and have a second to slow down."""
    cap = {"cap_traffic": {"speed_mps": 3.0}}
    events = [event({"time_s": 4.0}, cap, name="cap"), event({"time_s": 8.0}, {"cap_traffic": {}}, name="lift")]
    seen = drive(city_server, 11.0, events=events)
    before, capped, later = (_speeds_of(truth.background_ids, truth) for truth in (seen[75], seen[145], seen[-1]))
    assert max(before) > 5.0
    assert 2.5 < max(capped) < 3.5
    assert len(capped) >= 8
    assert max(later) > 5.0


def _is_ahead(one: TrackedObject, truth: Truth) -> bool:
    is_near = 0.0 < one.x_m - truth.ego.x_m < 60.0 and abs(one.yaw_rad) < 0.5
    return is_near and one.track_id in truth.background_ids


def _is_close_behind(truth: Truth) -> bool:
    """Whether the middle of a car in the ego's lane is less than 14 m ahead: 8 m between the bumpers."""
    ahead = [one.x_m - truth.ego.x_m for one in truth.objects if abs(one.y_m - truth.ego.y_m) < 1.5]
    return any(0.0 < ahead_m < 14.0 for ahead_m in ahead)


def _speeds_of(track_ids: Collection[int], truth: Truth) -> list[float]:
    return [one.speed_mps for one in truth.objects if one.track_id in track_ids]


def _speeds_ahead(truth: Truth) -> list[float]:
    return [one.speed_mps for one in truth.objects if _is_ahead(one, truth)]


def _poses(truth: Truth) -> list[tuple[float, ...]]:
    """The poses of the background, in the order of the cars; ids differ from one drive to the next."""
    cars = sorted(one.track_id for one in truth.objects if one.track_id in truth.background_ids)
    by_id = {one.track_id: one for one in truth.objects}
    return [(by_id[i].x_m, by_id[i].y_m, by_id[i].yaw_rad, *by_id[i].velocity_mps) for i in cars]
