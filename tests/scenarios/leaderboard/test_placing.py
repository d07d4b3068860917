"""Places are found on our own towns, are the same for the same seed, and offer what their type needs."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.errors import ConfigError
from av_core.types import LaneGraph, SideKind
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from benchmarks.places import OWN, tables
from scenarios.leaderboard.building.waypoints import plan
from scenarios.leaderboard.drive import scenario_of
from scenarios.leaderboard.lint import lint
from scenarios.leaderboard.placing.find import Places, find_places
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.placing.table import NEEDS
from scenarios.leaderboard.route_writer import to_xml
from scenarios.leaderboard.route_xml import survey
from scenarios.leaderboard.routes import LeaderboardRoute
from scenarios.leaderboard.types import TYPES


@cache
def graph_of(name: str) -> LaneGraph:
    return read_lane_graph(embedded_map_files()[name])


def find(type_name: str, map_name: str, seed: int = 0, count: int = 2) -> Places:
    return find_places(type_name, graph_of(map_name), seed, count)


def value_of(route: LeaderboardRoute, name: str) -> object:
    """A parameter of the route's scenario."""
    given = route.scenarios[0].parameter(name)
    assert given is not None
    return given.value


def test_the_table_has_every_type() -> None:
    assert set(NEEDS) == set(TYPES)


@given(st.sampled_from(sorted(TYPES)), st.sampled_from(("country_road", "proving_ground")), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_every_place_is_a_route_without_problems(type_name: str, map_name: str, seed: int) -> None:
    """The text of the places reads back, and the lint finds nothing; proving_ground has a place for every type."""
    places = find(type_name, map_name, seed)
    assert bool(places.routes) != bool(places.refusal)
    assert places.routes or map_name != "proving_ground"
    if not places.routes:
        assert map_name in places.refusal
        assert type_name in places.refusal
        return
    file = survey(to_xml(places.routes[:1]).encode(), "routes.xml")
    assert lint(file, graph_of).problems == ()
    assert [scenario.type for route in file.routes for scenario in route.scenarios] == [type_name]
    for route, length_m in zip(places.routes, places.lengths_m, strict=True):
        assert 100.0 <= length_m <= 400.0
        assert plan(route, graph_of(map_name))[1].length_m == length_m
        assert scenario_of(route, graph_of(map_name), seed=1).warnings == ()


def test_the_same_seed_gives_the_same_places_and_another_one_others() -> None:
    first, again, other = (find("T_Junction", "city_grid", seed) for seed in (0, 0, 1))
    assert first == again
    assert first.routes != other.routes


def test_places_are_spread_over_the_map() -> None:
    triggers = [route.scenarios[0].trigger for route in find("DynamicObjectCrossing", "city_grid", count=4).routes]
    assert len(triggers) == 4
    apart = [math.hypot(a.x_m - b.x_m, a.y_m - b.y_m) for a in triggers for b in triggers if a is not b]
    assert min(apart) > 100.0


@pytest.mark.parametrize(
    ("type_name", "words"),
    [
        ("CrossingBicycleFlow", "a bicycle lane across its way"),
        ("ParkingCutIn", "no road with a parking lane or a shoulder of 2 m beside the ego's lane"),
        ("Accident", "no road with a lane of the ego's direction beside the ego's; Accident needs one"),
        ("SignalizedJunctionLeftTurn", "a left turn and lights"),
        ("HighwayExit", "an exit beyond a lane with traffic"),
    ],
)
def test_a_map_without_a_place_says_what_it_lacks(type_name: str, words: str) -> None:
    """country_road has one lane each way, two T-junctions without lights, and no place to park."""
    assert words in find(type_name, "country_road").refusal


def test_the_obstacle_leaves_a_lane_on_its_other_side() -> None:
    graph = graph_of("city_grid")
    view = RoadView(graph)
    for route in find("Accident", "city_grid", count=4).routes:
        (scenario,) = route.scenarios
        planned = plan(route, graph)[1]
        parameters = {given.name: given.value for given in scenario.parameters}
        at = planned.curve.project(scenario.trigger.x_m, -scenario.trigger.y_m)
        row = planned.row_at(float(at.s_m) + float(str(parameters["distance"])))
        key = planned.lanes[int(planned.lane_index[row])]
        side = 1.0 if parameters["direction"] == "right" else -1.0
        assert view.same_way_beside(key, float(planned.lane_s_m[row]), side) is not None


def test_an_unknown_type_is_an_error_for_people() -> None:
    with pytest.raises(ConfigError, match="did you mean Accident"):
        find("Acident", "city_grid")


def test_side_lanes_are_of_every_kind_and_not_for_driving() -> None:
    graph = graph_of("proving_ground")
    assert {lane.kind for lane in graph.side_lanes.values()} == set(SideKind)
    assert not set(graph.side_lanes) & set(graph.lanes)


def test_the_page_has_two_places_of_every_type_on_our_own_towns() -> None:
    """The tables of docs/scenarios/places.md are those of docs/scenarios/places.json."""
    docs = Path(__file__).parents[3] / "docs"
    found = json.loads((docs / "scenarios" / "places.json").read_text(encoding="utf-8"))["types"]
    assert "\n".join(tables(found)) in (docs / "scenarios" / "places.md").read_text(encoding="utf-8")
    own = {name: sum(len(by_map[town].get("places", ())) for town in OWN) for name, by_map in found.items()}
    assert set(own) == set(TYPES)
    assert min(own.values()) >= 2


def test_a_route_that_begins_at_a_junction_has_its_trigger_as_a_waypoint_where_a_way_leads_around_it() -> None:
    """CARLA's planner starts this one inside the junction, from whose other side there is a way as short."""
    route = find("ParkedObstacleTwoWays", "city_grid").routes[0]
    trigger = route.scenarios[0].trigger
    assert (trigger.x_m, trigger.y_m) in [(waypoint.x_m, waypoint.y_m) for waypoint in route.waypoints[1:-1]]


def test_the_sign_of_an_obstacle_has_no_oncoming_lane_in_its_place() -> None:
    """The streets with several lanes have nothing between the directions; motorways have a median."""
    grid = find("ConstructionObstacle", "city_grid", count=8)
    assert {str(value_of(route, "direction")) for route in grid.routes} == {"right"}
    fast = find("ParkedObstacle", "motorway", count=8)
    assert {str(value_of(route, "direction")) for route in fast.routes} == {"left", "right"}


@pytest.mark.parametrize("map_name", ["city_grid", "motorway"])
def test_the_ego_and_the_vehicle_from_behind_are_spawned_apart(map_name: str) -> None:
    for route in find("YieldToEmergencyVehicle", map_name).routes:
        planned = plan(route, graph_of(map_name))[1]
        (scenario,) = route.scenarios
        trigger_m = float(planned.curve.project(scenario.trigger.x_m, -scenario.trigger.y_m).s_m)
        assert abs(trigger_m - float(str(value_of(route, "distance")))) > 15.0
