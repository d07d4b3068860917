"""The event engine, played without a simulator: conditions, actions, flows, and equal results for equal seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from av_core.orders import Destroy, DriveItself, Hold, Move, OpenDoor, QuietJunction, SetSignal, ShowLights, Spawn
from av_core.types import LightState
from scenarios.script.situation import distance_m
from tests.planning.lanes_by_hand import beside, join, key, straight
from tests.scenarios.script.stage import STEP_S, Stage, driving, standing

CAR = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 100.0}}
WALKER = {"blueprint": "walker.pedestrian.0001", "place": {"route_m": 60.0, "offset_m": -5.0, "turn_deg": 90.0}}


def when(condition: dict[str, Any], *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A script with the actors `car` and `walker`, and one event."""
    events = [{"name": "it", "when": condition, "do": list(actions) or [{"despawn": "car"}]}]
    return {"actors": {"car": CAR, "walker": WALKER}, "events": events, **more}


@pytest.mark.parametrize(
    ("condition", "ego", "wanted_s"),
    [
        ({"time_s": 1.0}, standing, 1.0),
        ({"route_m": 20.0}, driving(10.0), 2.0),
        ({"distance": {"actor": "car", "below_m": 50.0}}, driving(10.0), 5.05),
        ({"distance": {"place": {"route_m": 30.0}, "below_m": 10.0}}, driving(10.0), 2.05),
        ({"arrival": {"actor": "car", "below_s": 2.0}}, driving(10.0), 8.05),
        ({"speed": {"above_mps": 9.0}}, lambda time_s: (0.0, 4.0 * time_s), 2.3),
        ({"speed": {"of": "car", "below_mps": 1.0}}, standing, 0.0),
        ({"standstill": {"for_s": 1.5}}, standing, 1.45),
        ({"passed": {"actor": "car"}}, driving(20.0), 5.05),
        ({"passed": {"actor": "car", "by_m": 10.0}}, driving(20.0), 5.5),
        ({"any": [{"time_s": 9.0}, {"route_m": 20.0}]}, driving(10.0), 2.0),
        ({"all": [{"time_s": 4.0}, {"route_m": 20.0}]}, driving(10.0), 4.0),
    ],
)
def test_an_event_happens_the_first_time_that_its_condition_holds(
    condition: dict[str, Any], ego: Any, wanted_s: float
) -> None:
    stage = Stage(when(condition), ego).play(10.0)
    assert stage.engine.fired_s["it"] == pytest.approx(wanted_s, abs=STEP_S + 1e-6)
    assert [time_s for time_s, _ in stage.orders(Destroy)] == [stage.engine.fired_s["it"]]


def test_a_standing_ego_never_arrives() -> None:
    stage = Stage(when({"arrival": {"actor": "car", "below_s": 100.0}}), standing).play(5.0)
    assert stage.engine.fired_s == {}


def test_an_event_after_another_one() -> None:
    events = [
        {"name": "later", "when": {"after": {"event": "first", "delay_s": 2.0}}, "do": [{"despawn": "car"}]},
        {"name": "first", "when": {"time_s": 1.0}, "do": [{"despawn": "walker"}]},
    ]
    stage = Stage({"actors": {"car": CAR, "walker": WALKER}, "events": events}, standing).play(5.0)
    assert stage.engine.fired_s == pytest.approx({"first": 1.0, "later": 3.0})


def test_a_car_follows_its_lane_and_stops() -> None:
    follow = {"follow_lane": {"actor": "car", "speed_mps": 8.0, "acceleration_mps2": 4.0, "distance_m": 60.0}}
    stage = Stage(when({"time_s": 0.5}, follow), standing)
    start = stage.actors["car"].pose
    stage.play(0.5 + 3.0)
    assert stage.actors["car"].velocity_mps[0] == pytest.approx(8.0)
    stage.play(12.0)
    assert stage.actors["car"].velocity_mps == (0.0, 0.0)
    assert distance_m(start, stage.actors["car"].pose) == pytest.approx(60.0, abs=0.5)
    speeds = [math.hypot(*order.velocity_mps) for _, order in stage.orders(Move)]
    assert np.abs(np.diff(speeds)).max() <= 4.0 * STEP_S + 1e-9


def test_a_car_at_the_egos_speed() -> None:
    follow = {"follow_lane": {"actor": "car", "ego_share": 0.8, "over_ego_mps": 1.0}}
    stage = Stage(when({"time_s": 0.0}, follow), driving(10.0)).play(6.0)
    assert stage.actors["car"].velocity_mps[0] == pytest.approx(9.0)


def test_a_car_changes_lanes() -> None:
    right = straight(key(0), 0.0, 0.0, 0.0, 400.0)
    graph = join(beside(right, straight(key(1), 0.0, 3.5, 0.0, 400.0)))
    change = {"change_lane": {"actor": "car", "to": "left", "speed_mps": 10.0, "within_s": 3.0}}
    events = [
        {"name": "go", "when": {"time_s": 0.0}, "do": [{"follow_lane": {"actor": "car", "speed_mps": 10.0}}]},
        {"name": "change", "when": {"time_s": 4.0}, "do": [change]},
    ]
    stage = Stage({"actors": {"car": CAR}, "events": events}, standing, graph).play(5.5)
    assert 0.5 < stage.actors["car"].pose.y_m < 3.0
    stage.play(5.0)
    assert stage.actors["car"].pose.y_m == pytest.approx(3.5, abs=0.05)
    assert stage.actors["car"].pose.yaw_rad == pytest.approx(0.0, abs=0.01)
    assert stage.actors["car"].velocity_mps[0] == pytest.approx(10.0, abs=0.01)


def test_a_walker_crosses() -> None:
    cross = {"cross": {"actor": "walker", "speed_mps": 2.0, "distance_m": 10.0, "acceleration_mps2": 20.0}}
    stage = Stage(when({"arrival": {"actor": "walker", "below_s": 2.0}}, cross), driving(10.0))
    start = stage.actors["walker"].pose
    stage.play(15.0)
    end = stage.actors["walker"].pose
    assert (end.x_m - start.x_m, end.y_m - start.y_m) == pytest.approx((0.0, 10.0), abs=0.3)
    assert stage.actors["walker"].velocity_mps == (0.0, 0.0)


def test_stop_ends_a_motion() -> None:
    events = [
        {"name": "go", "when": {"time_s": 0.0}, "do": [{"follow_lane": {"actor": "car", "speed_mps": 10.0}}]},
        {"name": "brake", "when": {"time_s": 5.0}, "do": [{"stop": {"actor": "car", "deceleration_mps2": 5.0}}]},
    ]
    stage = Stage({"actors": {"car": CAR}, "events": events}, standing).play(5.0)
    before = stage.actors["car"].pose.x_m
    stage.play(4.0)
    assert stage.actors["car"].velocity_mps == (0.0, 0.0)
    assert stage.actors["car"].pose.x_m - before == pytest.approx(10.0**2 / (2 * 5.0), rel=0.05)


def test_orders_that_are_passed_on() -> None:
    stage = Stage(
        when(
            {"time_s": 1.0},
            {"open_door": {"actor": "car", "door": "front_left"}},
            {"lights": {"actor": "car", "hazard": True, "emergency": True}},
            {"signal": {"ids": ["7"], "state": "red", "for_s": 2.0}},
            {"autopilot": "car"},
            {"quiet_junction": {"others_wait": True}},
        ),
        standing,
    ).play(4.0)
    assert [order for _, order in stage.orders(QuietJunction)] == [QuietJunction(others_wait=True)]
    assert [order for _, order in stage.orders(OpenDoor)] == [OpenDoor("car", "front_left")]
    ((_, lights),) = stage.orders(ShowLights)
    assert lights.lights.hazard
    assert lights.is_emergency
    assert [order for _, order in stage.orders(SetSignal)] == [SetSignal("7", LightState.RED), SetSignal("7", None)]
    assert [time_s for time_s, _ in stage.orders(SetSignal)] == pytest.approx([1.0, 3.0])
    assert [order for _, order in stage.orders(DriveItself)] == [DriveItself("car")]


def test_an_actor_that_waits_is_spawned_by_an_event() -> None:
    late = {"actors": {"car": {**CAR, "waits": True}}}
    events = [{"name": "it", "when": {"time_s": 2.0}, "do": [{"spawn": "car"}]}]
    stage = Stage({**late, "events": events}, standing).play(3.0)
    ((time_s, order),) = stage.orders(Spawn)
    assert (time_s, order.actor) == (2.0, "car")
    assert [order.actor for _, order in stage.orders(Hold)] == ["car"]


FLOW = {"start": {"route_m": 10.0}, "end": {"route_m": 210.0}, "speed_mps": 10.0, "gap_m": [20.0, 40.0]}


def test_a_flow_keeps_its_gaps_and_ends_at_its_end() -> None:
    events = [
        {"name": "on", "when": {"time_s": 1.0}, "do": [{"start_flow": "stream"}]},
        {"name": "off", "when": {"time_s": 41.0}, "do": [{"stop_flow": "stream"}]},
    ]
    stage = Stage({"flows": {"stream": FLOW}, "events": events}, standing).play(41.0)
    born_s = [time_s for time_s, _ in stage.orders(Spawn)]
    assert born_s[0] == pytest.approx(1.0)
    gaps_m = 10.0 * np.diff(born_s)
    assert gaps_m.min() >= 20.0 - 1e-6
    assert gaps_m.max() <= 40.0 + 2.5
    stage.play(25.0)
    assert stage.actors == {}
    assert len(stage.orders(Spawn)) == len(born_s) == len(stage.orders(Destroy))


def test_equal_seeds_give_equal_orders() -> None:
    values = {"flows": {"stream": {**FLOW, "on": True}}}
    one, same, other = (Stage(values, standing, seed=seed).play(30.0).seen for seed in (3, 3, 4))
    assert one == same
    assert one != other
