"""Each scenario type's script fits a street of our own town, and plays: it begins, and ends once the ego is past."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from av_core.errors import RouteError
from av_core.orders import BackgroundOrder, CrossingSpace, LaneTraffic, TrafficAhead
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


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ConstructionObstacle", [LaneTraffic(comes=False, left=0), LaneTraffic(comes=True, left=0)]),
        ("HazardAtSideLane", [TrafficAhead(30.0), TrafficAhead(0.0)]),
        ("ParkingCutIn", [TrafficAhead(20.0), TrafficAhead(0.0)]),
        (
            "StaticCutIn",
            [
                TrafficAhead(30.0),
                LaneTraffic(comes=False, left=1),
                TrafficAhead(0.0),
                LaneTraffic(comes=True, left=1),
            ],
        ),
        ("Accident", []),
    ],
)
def test_what_background_traffic_is_told(graph: LaneGraph, name: str, told: list[BackgroundOrder]) -> None:
    route = way(graph, *WIDE)
    script = build(name, site_on(graph, route), {**VALUES, "direction": "left"})
    stage = Stage(script, lambda time_s: (min(8.0 * time_s, route.length_m), 8.0), graph, route=route).play(40.0)
    assert [order for _, order in stage.orders((LaneTraffic, TrafficAhead))] == told


def test_oncoming_traffic_leaves_space_when_a_walker_starts(graph: LaneGraph) -> None:
    """On the lane to the left of the ego's, beside what hides the walker."""
    route = way(graph, *NARROW)
    site = site_on(graph, route)
    script = build("DynamicObjectCrossing", site, {**VALUES, "distance": 45.0})
    stage = Stage(script, lambda time_s: (min(8.0 * time_s, route.length_m), 8.0), graph, route=route).play(20.0)
    ((time_s, order),) = stage.orders(CrossingSpace)
    place = route.curve.project(order.place.x_m, order.place.y_m)
    assert float(place.s_m) == pytest.approx(site.trigger_m + 45.0, abs=0.5)
    assert float(place.d_m) == pytest.approx(2.0 * site.half_lane_m(45.0), abs=0.1)
    assert time_s == pytest.approx(stage.engine.fired_s["walk"], abs=0.1)


@pytest.mark.parametrize("name", ["Accident", "ParkedObstacle", "ConstructionObstacle", "HazardAtSideLane"])
@pytest.mark.parametrize("direction", ["left", "right"])
def test_an_obstacle_stands_in_the_egos_lane(graph: LaneGraph, name: str, direction: str) -> None:
    route = way(graph, *WIDE)
    site = site_on(graph, route)
    stage = Stage(build(name, site, {**VALUES, "direction": direction}), lambda _: (0.0, 0.0), graph, route=route)
    places = [route.curve.project(a.pose.x_m, a.pose.y_m) for n, a in stage.actors.items() if n != "sign"]
    offsets = np.array([float(place.d_m) for place in places])
    assert np.abs(offsets).max() < site.half_lane_m(40.0)
    first_m = 40.0 if name == "ConstructionObstacle" else 45.0  # its trailer stands 5 m before the cones
    assert min(float(place.s_m) for place in places) == pytest.approx(first_m, abs=0.5)
    if name in ("Accident", "ParkedObstacle"):
        assert (offsets > 0.5).all() if direction == "left" else (offsets < -0.5).all()


@pytest.mark.parametrize("direction", ["left", "right"])
def test_road_works_leave_one_side_of_the_lane_free(graph: LaneGraph, direction: str) -> None:
    """Four cones along the inner edge, 2 m apart, and three across the lane behind them, as in scenario_runner."""
    route = way(graph, *WIDE)
    site = site_on(graph, route)
    script = build("ConstructionObstacle", site, {**VALUES, "direction": direction})
    stage = Stage(script, lambda _: (0.0, 0.0), graph, route=route)
    poses = [actor.pose for name, actor in stage.actors.items() if name.startswith("cone")]
    cones = [route.curve.project(pose.x_m, pose.y_m) for pose in poses]
    inner = 0.85 * site.half_lane_m(45.0) * (1.0 if direction == "right" else -1.0)
    outwards = -1.0 if direction == "right" else 1.0
    offsets = [inner] * 4 + [inner + outwards * across for across in (1.0, 2.0, 3.0)]
    assert [float(cone.d_m) for cone in cones] == pytest.approx(offsets, abs=0.05)
    assert [float(cone.s_m) for cone in cones] == pytest.approx([47.0, 49.0, 51.0, 53.0, 53.0, 53.0, 53.0], abs=0.5)


@pytest.mark.parametrize("name", ["Accident", "ParkedObstacle", "ConstructionObstacle"])
def test_a_warning_sign_stands_beside_the_road(graph: LaneGraph, name: str) -> None:
    route = way(graph, *WIDE)
    site = site_on(graph, route)
    stage = Stage(build(name, site, VALUES), lambda _: (0.0, 0.0), graph, route=route)
    sign = stage.actors["sign"].pose
    widest_half_m = 0.66
    assert float(route.curve.project(sign.x_m, sign.y_m).d_m) < -site.edge_m(0.0, -1.0) - widest_half_m


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
