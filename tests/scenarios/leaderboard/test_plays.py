"""Each scenario type's script fits a street of our own town, and plays: it begins, and ends once the ego is past."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from av_core.errors import RouteError
from av_core.types import LaneGraph
from scenarios.leaderboard.plays.table import PLAYS, build
from scenarios.leaderboard.types import TYPES
from tests.scenarios.leaderboard.play_sites import site_on, town, way
from tests.scenarios.script.stage import Stage

VALUES: dict[str, Any] = {
    "distance": 40.0,
    "direction": "right",
    "frequency": (20.0, 40.0),
    "bicycle_speed": 10.0,
    "bicycle_drive_distance": 20.0,
    "crossing_angle": 0.0,
    "blocker_model": "static.prop.vendingmachine",
}
WIDE = ((236.0, 194.8), (520.0, 194.8))
NARROW = ((423.2, 375.5), (423.2, 60.0))
"""Start and goal of a street with two lanes each way, and one with one lane each way, in the map frame."""


STREET_TYPES = (
    "Accident",
    "AccidentTwoWays",
    "ParkedObstacle",
    "ParkedObstacleTwoWays",
    "ConstructionObstacle",
    "ConstructionObstacleTwoWays",
    "HazardAtSideLane",
    "HazardAtSideLaneTwoWays",
    "VehicleOpensDoorTwoWays",
    "ParkingCutIn",
    "StaticCutIn",
    "DynamicObjectCrossing",
    "ParkingCrossingPedestrian",
)
"""The types that need nothing but a street."""


@pytest.fixture(scope="module")
def graph() -> LaneGraph:
    return town("city_grid")


def test_every_type_can_be_played() -> None:
    assert set(PLAYS) == set(TYPES)


@pytest.mark.parametrize("name", STREET_TYPES)
def test_a_type_begins_and_ends(graph: LaneGraph, name: str) -> None:
    """The left lane of two is the way round, or the oncoming lane, or the queue of a cut-in."""
    route = way(graph, *(NARROW if "TwoWays" in name else WIDE))
    values = {**VALUES, "direction": "left"} if name == "StaticCutIn" else VALUES
    script = build(name, site_on(graph, route), values)
    stage = Stage(script, lambda time_s: (min(8.0 * time_s, route.length_m), 8.0), graph, route=route)
    before = set(stage.actors)
    assert before == set(script.actors)
    stage.play(40.0)
    fired = stage.engine.fired_s
    assert "begin" in fired
    assert fired["end"] > fired["begin"]
    assert not before & set(stage.actors)
    if "TwoWays" in name:
        assert fired["near"] < fired["flow"] < fired["end"]


@pytest.mark.parametrize("name", ["Accident", "ParkedObstacle", "ConstructionObstacle", "HazardAtSideLane"])
@pytest.mark.parametrize("direction", ["left", "right"])
def test_an_obstacle_stands_in_the_egos_lane(graph: LaneGraph, name: str, direction: str) -> None:
    route = way(graph, *WIDE)
    site = site_on(graph, route)
    stage = Stage(build(name, site, {**VALUES, "direction": direction}), lambda _: (0.0, 0.0), graph, route=route)
    places = [route.curve.project(a.pose.x_m, a.pose.y_m) for n, a in stage.actors.items() if n != "sign"]
    offsets = np.array([float(place.d_m) for place in places])
    assert np.abs(offsets).max() < site.half_lane_m(40.0)
    assert min(float(place.s_m) for place in places) == pytest.approx(45.0, abs=0.5)
    if name in ("Accident", "ParkedObstacle"):
        assert (offsets > 0.5).all() if direction == "left" else (offsets < -0.5).all()


def test_a_walker_meets_the_ego_on_its_lane(graph: LaneGraph) -> None:
    """At 8 m/s the walker is on the ego's lane when the ego is there."""
    route = way(graph, *NARROW)
    script = build("DynamicObjectCrossing", site_on(graph, route), VALUES)
    stage = Stage(script, lambda time_s: (8.0 * time_s, 8.0), graph, route=route)
    nearest = math.inf
    for _ in range(200):
        stage.play(0.05)
        if "walker" in stage.actors:
            walker = stage.actors["walker"].pose
            x, y, _ = route.curve.pose_at(8.0 * stage.time_s)
            nearest = min(nearest, math.hypot(walker.x_m - float(x), walker.y_m - float(y)))
    assert nearest < 2.0


def test_a_place_that_does_not_suit_is_refused(graph: LaneGraph) -> None:
    route = way(graph, *NARROW)
    with pytest.raises(RouteError, match="no lane of the ego's direction to the left"):
        build("StaticCutIn", site_on(graph, route), {**VALUES, "direction": "left"})
    with pytest.raises(RouteError, match="the route ends before"):
        build("ParkedObstacle", site_on(graph, route, route.length_m - 10.0), VALUES)
