"""Background traffic on a real server: it is around the ego, obeys orders, counts as background, and is repeatable."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from av_core.types import ControlCommand, Truth
from av_stack.world.spec import Address
from tests.scenarios.script.test_script_on_server import Play, event

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


def _speeds_ahead(truth: Truth) -> list[float]:
    return [
        one.speed_mps
        for one in truth.objects
        if one.track_id in truth.background_ids and abs(one.yaw_rad) < 0.5 and 0.0 < one.x_m - truth.ego.x_m < 60.0
    ]


def _poses(truth: Truth) -> list[tuple[float, ...]]:
    """The poses of the background, in the order of the cars; ids differ from one drive to the next."""
    cars = sorted(one.track_id for one in truth.objects if one.track_id in truth.background_ids)
    by_id = {one.track_id: one for one in truth.objects}
    return [(by_id[i].x_m, by_id[i].y_m, by_id[i].yaw_rad, *by_id[i].velocity_mps) for i in cars]
