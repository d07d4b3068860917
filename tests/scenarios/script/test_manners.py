"""Flows and cars that brake behind others, or not; noise on the ego's command; orders to the background traffic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.orders import CapTraffic, ClearTraffic, Disturb, PlaceEgo, SetSignal, Spawn, StartTraffic, StopTraffic
from tests.scenarios.script.stage import Stage, driving, script, standing

FLOW = {"start": {"route_m": 10.0}, "end": {"route_m": 310.0}, "speed_mps": 10.0, "gap_m": [20.0, 40.0], "on": True}
EGO_AT_M = 150.0


def stands_at(route_m: float) -> Any:
    return lambda _: (route_m, 0.0)


def ahead_of_ego(stage: Stage) -> list[str]:
    return [name for name, actor in stage.actors.items() if actor.pose.x_m > EGO_AT_M]


def test_a_flow_drives_through_the_ego_or_stops_behind_it() -> None:
    reckless = Stage({"flows": {"stream": FLOW}}, stands_at(EGO_AT_M)).play(25.0)
    assert ahead_of_ego(reckless)
    polite = Stage({"flows": {"stream": {**FLOW, "yields": "always"}}}, stands_at(EGO_AT_M)).play(60.0)
    assert not ahead_of_ego(polite)
    at = sorted(actor.pose.x_m for actor in polite.actors.values())
    assert EGO_AT_M - 10.0 < at[-1] < EGO_AT_M - 5.0
    assert np.diff(at).min() > 5.0


def test_after_a_collision_all_vehicles_of_a_flow_yield() -> None:
    stage = Stage({"flows": {"stream": {**FLOW, "yields": "after_collision"}}}, stands_at(EGO_AT_M)).play(14.0)
    first = max(stage.actors, key=lambda name: stage.actors[name].pose.x_m)
    stage.hit.add(first)
    stage.play(60.0)
    later = [name for name in stage.actors if name != first]
    assert later
    assert all(stage.actors[name].pose.x_m < EGO_AT_M - 5.0 for name in later)


@pytest.mark.parametrize("filled", ["no", "everywhere"])
def test_a_flow_fills_its_way_at_once(filled: str) -> None:
    stage = Stage({"flows": {"stream": {**FLOW, "filled": filled}}}, standing).play(0.05)
    at = np.sort([order.pose.x_m for _, order in stage.orders(Spawn)])
    assert at[0] == pytest.approx(10.0, abs=0.5)
    if filled == "no":
        assert len(at) == 1
    else:
        assert at[-1] > 265.0
        gaps = np.diff(at)
        assert gaps.min() > 19.9
        assert gaps.max() < 40.1


def test_a_flow_beside_its_lane_that_clears_its_way() -> None:
    stage = Stage({"flows": {"stream": {**FLOW, "offset_m": 1.5, "clears": True}}}, standing).play(20.0)
    assert {round(actor.pose.y_m, 2) for actor in stage.actors.values()} == {1.5}
    cleared = [time_s for time_s, _ in stage.orders(ClearTraffic)]
    assert cleared == pytest.approx(np.arange(0.0, 20.0, 1.0))


def test_clear_flow_removes_its_vehicles() -> None:
    events = [{"name": "over", "when": {"time_s": 10.0}, "do": [{"clear_flow": "stream"}]}]
    stage = Stage({"flows": {"stream": FLOW}, "events": events}, standing).play(15.0)
    assert stage.actors == {}


def test_a_car_that_yields_stops_behind_the_ego() -> None:
    car = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 20.0}}
    follow = {"follow_lane": {"actor": "car", "ego_share": 1.0, "over_ego_mps": 15.0, "yields": True}}
    events = [{"name": "it", "when": {"time_s": 0.0}, "do": [follow]}]
    stage = Stage({"actors": {"car": car}, "events": events}, stands_at(EGO_AT_M)).play(30.0)
    assert EGO_AT_M - 10.0 < stage.actors["car"].pose.x_m < EGO_AT_M - 5.0


def test_a_fixed_share_is_that_of_the_start() -> None:
    car = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 60.0}}
    follow = {"follow_lane": {"actor": "car", "ego_share": 0.5, "fixed": True}}
    events = [{"name": "it", "when": {"time_s": 1.0}, "do": [follow]}]
    stage = Stage({"actors": {"car": car}, "events": events}, lambda t: (10.0, 8.0 if t < 2.0 else 0.0)).play(6.0)
    assert stage.actors["car"].velocity_mps[0] == pytest.approx(4.0)


def test_a_car_meets_the_ego() -> None:
    """Both have their places 100 m and 150 m on; the car keeps the share of their distances."""
    car = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 20.0}}
    meet = {"meet": {"actor": "car", "at": {"route_m": 120.0}, "ego_at": {"route_m": 150.0}}}
    events = [{"name": "it", "when": {"time_s": 0.0}, "do": [meet]}]
    stage = Stage({"actors": {"car": car}, "events": events}, driving(10.0)).play(14.5)
    assert stage.actors["car"].pose.x_m == pytest.approx(120.0, abs=7.0)


def test_noise_disturbs_the_ego_while_it_is_near_a_place() -> None:
    place = {"place": {"route_m": 50.0}}
    noise = {"throttle": {"mean": 0.03, "deviation": 0.01}, "steer": {"mean": 0.055, "deviation": 0.015}}
    events: list[dict[str, Any]] = [
        {"name": "near", "when": {"distance": {**place, "below_m": 2.0}}, "do": [{"disturb": noise}]},
        {
            "name": "far",
            "when": {"all": [{"after": {"event": "near"}}, {"distance": {**place, "above_m": 2.0}}]},
            "do": [{"end_disturbance": {}}],
        },
    ]
    stages = [Stage({"events": events}, driving(8.0), seed=seed).play(10.0) for seed in (0, 0, 1)]
    noisy = [order for _, order in stages[0].orders(Disturb)]
    assert noisy[-1] == Disturb(0.0, 0.0)
    steer = np.array([order.steer for order in noisy[:-1]])
    assert len(steer) == pytest.approx(10, abs=1)
    assert abs(steer.mean()) == pytest.approx(0.055, abs=0.015)
    assert steer.std() < 0.04
    assert stages[0].seen == stages[1].seen
    assert stages[0].seen != stages[2].seen


def test_orders_to_the_background_and_the_ego() -> None:
    do = [
        {"stop_traffic": {"within_m": 60.0}},
        {"cap_traffic": {"speed_mps": 5.0}},
        {"clear_traffic": {"place": {"route_m": 20.0}, "within_m": 9.0}},
        {"signal": {"ids": ["7"], "state": "red"}},
    ]
    undo = [{"start_traffic": {}}, {"cap_traffic": {}}, {"release_signal": {"ids": ["7", "8"]}}]
    events = [
        {"name": "do", "when": {"time_s": 1.0}, "do": do},
        {"name": "undo", "when": {"driven": {"event": "do", "by_m": 10.0}}, "do": undo},
    ]
    stage = Stage({"events": events, "ego_place": {"route_m": 3.0, "offset_m": -3.0}}, driving(5.0)).play(4.0)
    assert [order.pose.y_m for _, order in stage.orders(PlaceEgo)] == [-3.0]
    assert [order for _, order in stage.orders(StopTraffic)] == [StopTraffic(60.0)]
    assert [order for _, order in stage.orders(CapTraffic)] == [CapTraffic(5.0), CapTraffic(None)]
    ((_, cleared),) = stage.orders(ClearTraffic)
    assert (cleared.within_m, cleared.places[0].x_m) == (9.0, pytest.approx(20.0))
    assert [order.state for _, order in stage.orders(SetSignal)][-1] is None
    ((time_s, _),) = stage.orders(StartTraffic)
    assert time_s == pytest.approx(3.0, abs=0.1)


def test_an_actor_whose_place_is_taken_comes_later() -> None:
    car = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 20.0}, "waits": True}
    events = [{"name": "it", "when": {"time_s": 1.0}, "do": [{"spawn": "car"}]}]
    stage = Stage({"actors": {"car": car}, "events": events}, standing)
    stage.taken.add("car")
    stage.play(3.5)
    stage.taken.clear()
    stage.play(3.0)
    assert [time_s for time_s, _ in stage.orders(Spawn)] == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert "car" in stage.actors


@pytest.mark.parametrize(
    ("do", "words"),
    [
        ({"disturb": {"throttle": {"mean": 2.0, "deviation": 0.1}, "steer": {"mean": 0.0, "deviation": 0.0}}}, "mean"),
        ({"cap_traffic": {"speed_mps": -1.0}}, "speed_mps"),
        ({"end_disturbance": {"now": 1}}, "end_disturbance"),
        ({"clear_flow": "none"}, "no flow none"),
        ({"release_signal": {"ids": []}}, "ids"),
    ],
)
def test_a_wrong_action_is_refused(do: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        script({"events": [{"name": "it", "when": {"time_s": 1.0}, "do": [do]}]})


@pytest.mark.parametrize(
    "when",
    [
        {"distance": {"place": {"route_m": 1.0}, "below_m": 1.0, "above_m": 2.0}},
        {"distance": {"place": {"route_m": 1.0}}},
        {"driven": {"event": "never", "by_m": 1.0}},
    ],
)
def test_a_wrong_condition_is_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        script({"events": [{"name": "it", "when": when}]})
