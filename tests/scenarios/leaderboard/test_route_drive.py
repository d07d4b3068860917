"""What becomes of a Leaderboard route: its way, its scenarios with their names, what is left out, and its weather."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from av_core.errors import ConfigError, RouteError
from av_core.orders import Spawn
from av_core.types import LaneGraph
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from planning import PlanningConfig
from scenarios.ego_route import ego_route
from scenarios.leaderboard.building.merge import Prepared, merged
from scenarios.leaderboard.building.waypoints import plan
from scenarios.leaderboard.drive import scenario_of
from scenarios.leaderboard.plays.table import PLAYS
from scenarios.leaderboard.routes import Interval, ScenarioInstance
from scenarios.leaderboard.weather import Weather
from scenarios.model import Scenario
from scenarios.script.model import Script
from tests.planning.lanes_by_hand import chain
from tests.scenarios.leaderboard.street_routes import FROM_M, STREET_Y_M, TO_M, instance, moved, street
from tests.scenarios.script.stage import Stage, driving, script

PARKED = instance("Parked_1", "ParkedObstacle", 20.0, distance=60.0)


@cache
def city() -> LaneGraph:
    return read_lane_graph(embedded_map_files()["city_grid"])


def built(*scenarios: ScenarioInstance, **route: Any) -> Scenario:
    return scenario_of(street(*scenarios, **route), city(), seed=3)


def test_a_route_becomes_a_drive() -> None:
    scenario = built(PARKED)
    assert (scenario.map, scenario.seed, scenario.route_id) == ("city_grid", 3, "7")
    assert scenario.ego.blueprint == "vehicle.lincoln.mkz_2020"
    assert scenario.traffic.background
    assert scenario.warnings == ()
    assert set(scenario.actors) == {"Parked_1_parked", "Parked_1_sign"}
    assert {"Parked_1_begin", "Parked_1_end"} <= {event.name for event in scenario.events}
    route = ego_route(city(), scenario.route, PlanningConfig())
    assert route.length_m == pytest.approx(TO_M - FROM_M, abs=1.5)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (moved(PARKED, y_m=STREET_Y_M - 10.0), "m from the route"),
        (moved(PARKED, yaw_deg=15.0), "yaw is 15 degrees off"),
        (moved(PARKED, z_m=5.0), "4.6 m above the road"),
        (instance("Odd_1", "ParkedObstacl", 20.0), "unknown scenario type ParkedObstacl .did you mean ParkedObstacle"),
        (instance("Odd_1", "ParkedObstacle", 20.0, direction="up"), "direction up is not allowed"),
        (instance("Odd_1", "HighwayCutIn", 20.0), "expected <other_actor_location"),
        (instance("Odd_1", "ParkedObstacle", 20.0, distance=600.0), "the route ends before"),
    ],
)
def test_scenarios_that_are_left_out(scenario: ScenarioInstance, words: str) -> None:
    made = built(scenario, instance("Parked_2", "ParkedObstacle", 20.0))
    (warning,) = made.warnings
    assert warning.startswith(f"{scenario.name} ({scenario.type}) is left out: ")
    assert re.search(words, warning)
    assert all(name.startswith("Parked_2_") for name in made.actors)


def test_a_trigger_may_be_a_little_off() -> None:
    assert built(moved(PARKED, y_m=STREET_Y_M - 1.9, yaw_deg=-9.0)).warnings == ()


def test_two_scenarios_at_one_place_are_not_both_there() -> None:
    (warning,) = built(PARKED, instance("Again_1", "ParkedObstacle", 20.0, distance=60.0)).warnings
    assert "Again_1 (ParkedObstacle) is left out: actors Parked_1: parked and Again_1: parked are at one" in warning


def test_the_ego_starts_at_one_place_only() -> None:
    exits = [instance(f"Exit_{i}", "ParkingExit", 20.0 + 100.0 * i) for i in range(2)]
    made = built(*exits)
    assert made.warnings == ("Exit_1 (ParkingExit) is left out: it puts the ego at another place than Exit_0",)
    assert made.ego_place == built(exits[0]).ego_place
    assert all(name.startswith("Exit_0_") for name in made.actors)


def test_a_scenario_needs_its_vehicles_but_not_its_props() -> None:
    assert built(PARKED).parts["Parked_1"].actors == ("Parked_1_parked",)


def test_the_actors_of_a_far_scenario_come_when_the_ego_is_near() -> None:
    """The first scenario is there from the start, the second one from 500 m before its trigger on."""
    actors = {"car": {"blueprint": "vehicle.audi.tt", "place": {"route_m": 100.0}}}
    events = [{"name": "begin", "when": {"route_m": 90.0}}, {"name": "end", "when": {"passed": {"actor": "car"}}}]
    first = script({"actors": actors, "events": events})
    actors["car"] = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 800.0}}
    second = script({"actors": actors, "events": events})
    near = {"distance": {"place": {"route_m": 790.0}, "below_m": 500.0}}
    graph = chain([("straight", 1000.0, 0.0)])
    whole = merged([Prepared("a", first), Prepared("b", second, near)])
    stage = Stage(whole, lambda time_s: (min(20.0 * time_s, 1000.0), 20.0), graph).play(60.0)
    assert [(order.actor, time_s) for time_s, order in stage.orders(Spawn)] == [
        ("a_car", 0.0),
        ("b_car", pytest.approx((790.0 - 500.0) / 20.0, abs=0.1)),
    ]
    assert set(stage.engine.fired_s) == {"a_begin", "a_end", "b_near_1", "b_begin", "b_end"}


@pytest.mark.parametrize("kind", sorted(PLAYS))
def test_every_name_of_a_type_is_renamed(kind: str) -> None:
    """Two scenarios of one name do not get into each other's way."""
    one = _script_of(kind)
    if one is None:
        pytest.skip(f"{kind} does not fit this street")
    whole = Script.model_validate(merged([Prepared("9 x!", one), Prepared("9 x!", one)]))
    assert {name.split("_x__")[0] for name in whole.actors} <= {"_9"}
    assert len(whole.actors) == 2 * len(one.actors)
    assert len(whole.events) == 2 * len(one.events)
    assert len(whole.flows) == 2 * len(one.flows)
    own = {*one.actors, *one.flows, *(event.name for event in one.events)}
    assert not own & {event.name for event in whole.events}


def _script_of(kind: str) -> Script | None:
    values: dict[str, Any] = {"distance": 60.0, "frequency": Interval(20.0, 40.0)}
    if kind == "StaticCutIn":
        values["direction"] = "left"
    known = {name: value for name, value in values.items() if _has(kind, name)}
    made = built(instance("One", kind, 20.0, **known))
    if made.warnings:
        return None
    fields = {name: getattr(made, name) for name in Script.model_fields}
    return Script.model_validate({name: value for name, value in fields.items() if value is not None})


def _has(kind: str, parameter: str) -> bool:
    from scenarios.leaderboard.parameters import Shape
    from scenarios.leaderboard.types import TYPES

    known = TYPES[kind].parameter(parameter)
    return known is not None and (parameter != "frequency" or known.shape is Shape.INTERVAL)


def test_the_weather_of_a_route() -> None:
    assert [frame.route_percent for frame in built().weather_keyframes] == [0.0]
    frames = built(weather=[(100.0, Weather(cloudiness=90.0)), (0.0, Weather(cloudiness=5.0))]).weather_keyframes
    assert [(frame.route_percent, frame.cloudiness) for frame in frames] == [(0.0, 5.0), (100.0, 90.0)]
    assert built(weather=[(0.0, Weather())]).weather_label == "keyframes"
    with pytest.raises(ConfigError, match="cloudiness"):
        built(weather=[(0.0, Weather(cloudiness=120.0))])


def test_a_waypoint_beside_the_lane_belongs_to_it() -> None:
    beside = [(FROM_M, STREET_Y_M + 0.8), (FROM_M + 0.1, STREET_Y_M), (400.0, STREET_Y_M - 0.9), (TO_M, STREET_Y_M)]
    _, route = plan(street(waypoints=beside), city())
    assert route.length_m == pytest.approx(TO_M - FROM_M, abs=1.5)


def test_waypoints_in_junctions_do_not_lead_astray() -> None:
    """Waypoints 2 m apart, as route files of Bench2Drive have them, give the same route as those it was made of."""
    graph = city()
    ends = ((423.2, -375.5), (236.0, STREET_Y_M))
    _, straight_on = plan(street(waypoints=ends), graph)
    x, y, _ = straight_on.curve.pose_at(np.arange(0.0, straight_on.length_m, 2.0))
    _, again = plan(street(waypoints=list(zip(x.tolist(), (-y).tolist(), strict=True))), graph)
    assert straight_on.is_junction.any()
    assert again.length_m == pytest.approx(straight_on.length_m, abs=3.0)
    assert again.lanes[:-1] == straight_on.lanes[: len(again.lanes) - 1]


@pytest.mark.parametrize(
    ("waypoints", "words"),
    [
        (
            [(FROM_M, STREET_Y_M), (FROM_M, STREET_Y_M + 60.0)],
            r"waypoint \(236.0, -134.8\) in line 2 is not on a driving",
        ),
        ([(FROM_M, STREET_Y_M), (FROM_M + 0.3, STREET_Y_M)], "all waypoints are at one place"),
    ],
)
def test_routes_that_cannot_be_driven(waypoints: list[tuple[float, float]], words: str) -> None:
    with pytest.raises(RouteError, match=words):
        built(waypoints=waypoints)


def test_there_is_no_way_back_on_a_one_way_street() -> None:
    graph = chain([("straight", 400.0, 0.0)])
    with pytest.raises(RouteError, match=r"no way leads from the waypoint \(300.0, 0.0\) in line 1 to"):
        plan(street(waypoints=[(300.0, 0.0), (100.0, 0.0)]), graph)


def test_a_drive_of_a_route_plays() -> None:
    stage = Stage(Script.model_validate(merged([Prepared("a", script({}))])), driving(10.0)).play(1.0)
    assert stage.seen == []
