"""The types with streams, slip roads and disturbances fit our own towns, and play."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from av_core.errors import RouteError
from av_core.orders import CapTraffic, Disturb, PlaceEgo, Spawn, StartTraffic, StopTraffic
from av_core.types import LaneGraph, LaneKey
from planning import Route, find_route
from scenarios.leaderboard.plays.lane_walk import LaneSpot
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.table import build
from scenarios.leaderboard.routes import Location
from tests.scenarios.leaderboard.play_sites import location, site_on, town, way
from tests.scenarios.leaderboard.test_plays import NARROW, WIDE
from tests.scenarios.script.stage import Stage

FLOW: dict[str, Any] = {"flow_speed": 12.0, "source_dist_interval": (20.0, 30.0)}


def at(graph: LaneGraph, lane: tuple[int, int], s_m: float) -> Location:
    pose = LaneSpot(graph.lanes[LaneKey(lane[0], 0, lane[1])], s_m).pose
    return location(pose.x_m, pose.y_m)


def along(graph: LaneGraph, *places: tuple[tuple[int, int], float]) -> Route:
    """The route through places on lanes: road and lane ids, and metres along the lane."""
    poses = [LaneSpot(graph.lanes[LaneKey(road, 0, lane)], s_m).pose for (road, lane), s_m in places]
    return find_route(graph, poses[0], poses[-1], poses[1:-1])


def stage_of(name: str, site: Site, ego_mps: float, **values: Any) -> Stage:
    length_m = site.route.length_m

    def ego(time_s: float) -> tuple[float, float]:
        s_m = min(ego_mps * time_s, length_m)
        return s_m, ego_mps if s_m < length_m else 0.0

    return Stage(build(name, site, {**FLOW, **values}), ego, site.graph, route=site.route)


def check_ended(stage: Stage) -> None:
    fired = stage.engine.fired_s
    assert fired["end"] > fired["begin"]
    assert stage.actors == {}
    assert not any(run.is_timed_out for run in stage.engine.parts.values())


MERGE = (((4, -5), 20.0), ((5, -4), 400.0))
MERGE_FROM, MERGE_TO = ((3, -4), 200.0), ((5, -4), 200.0)
"""The ego's way from the slip lane onto the motorway; start and end of the stream."""


@pytest.mark.parametrize(
    ("name", "lanes"),
    [("EnterActorFlow", 3), ("EnterActorFlowV2", 1), ("MergerIntoSlowTraffic", 1), ("MergerIntoSlowTrafficV2", 1)],
)
def test_the_ego_joins_a_stream(name: str, lanes: int) -> None:
    """Cars fill their lanes at once, in all junctions too; the scenario ends at the end of the stream."""
    graph = town("motorway")
    ends = {"start_actor_flow": at(graph, *MERGE_FROM), "end_actor_flow": at(graph, *MERGE_TO)}
    site = site_on(graph, along(graph, *MERGE))
    stage = stage_of(name, site, 15.0, source_dist_interval=(50.0, 60.0), **ends).play(1.0)
    flows = {actor.rsplit("_", 1)[0] for actor in stage.actors}
    assert len(flows) == lanes
    x = np.array([order.pose.x_m for _, order in stage.orders(Spawn)])
    assert ((x > 1420.0) & (x < 1480.0)).any()
    assert np.ptp(x) > 600.0
    stage.play(35.0)
    check_ended(stage)
    ego_m = stage.engine.fired_s["end"] * 15.0
    sink = site.route.curve.project(*_map(ends["end_actor_flow"]))
    assert ego_m == pytest.approx(float(sink.s_m), abs=12.0)


def test_the_ego_crosses_a_stream_to_leave() -> None:
    graph = town("motorway")
    site = site_on(graph, along(graph, ((2, -3), 5.0), ((15, -1), 150.0)))
    ends = {"start_actor_flow": at(graph, (1, -4), 1500.0), "end_actor_flow": at(graph, (3, -4), 200.0)}
    stage = stage_of("HighwayExit", site, 12.0, **ends).play(2.0)
    assert len(stage.actors) > 10
    stage.play(40.0)
    check_ended(stage)
    assert stage.engine.fired_s["end"] * 12.0 == pytest.approx(site.trigger_m + site.junction.exit_m, abs=1.0)


def test_the_ego_turns_left_off_a_country_road() -> None:
    graph = town("country_road")
    site = site_on(graph, along(graph, ((3, -1), 480.0), ((12, -1), 10.0), ((10, -1), 100.0)))
    ends = {"start_actor_flow": at(graph, (8, 1), 60.0), "end_actor_flow": at(graph, (7, 1), 25.0)}
    stage = stage_of("InterurbanActorFlow", site, 6.0, **ends).play(8.0)
    assert len(stage.actors) > 1
    stage.play(30.0)
    check_ended(stage)


def test_the_ego_turns_left_onto_a_country_road() -> None:
    """One stream comes from the left, the other from the right, into the ego's exit."""
    graph = town("country_road")
    site = site_on(graph, along(graph, ((10, 1), 220.0), ((7, 1), 25.0)))
    ends = {"start_actor_flow": at(graph, (7, -1), 12.0), "end_actor_flow": at(graph, (8, -1), 120.0)}
    stage = stage_of("InterurbanAdvancedActorFlow", site, 8.0, **ends)
    stage.play(6.0)
    yaw_rad = {name.rsplit("_", 1)[0]: actor.pose.yaw_rad for name, actor in stage.actors.items()}
    assert math.cos(yaw_rad["stream"] - yaw_rad["second"]) < -0.9
    stage.play(40.0)
    check_ended(stage)


def test_a_car_from_a_slip_road_cuts_in_with_the_ego() -> None:
    graph = town("motorway")
    site = site_on(graph, along(graph, ((3, -4), 220.0), ((5, -4), 300.0)))
    stage = stage_of("HighwayCutIn", site, 20.0, other_actor_location=at(graph, (16, -1), 60.0))
    offsets = []
    while "end" not in stage.engine.fired_s and stage.time_s < 60.0:
        stage.play(0.5)
        if "cutter" in stage.actors:
            cutter = site.route.curve.project(stage.actors["cutter"].pose.x_m, stage.actors["cutter"].pose.y_m)
            offsets.append((float(cutter.d_m), float(cutter.s_m) - 20.0 * stage.time_s))
    assert offsets[0][0] < -10.0
    assert abs(offsets[-1][0]) < 1.0
    assert abs(offsets[-1][1]) < 40.0
    check_ended(stage.play(0.1))


def test_an_emergency_vehicle_stays_behind_an_ego_that_does_not_yield() -> None:
    graph = town("motorway")
    site = site_on(graph, along(graph, ((5, -3), 20.0), ((5, -3), 900.0)), trigger_m=30.0)
    stage = stage_of("YieldToEmergencyVehicle", site, 15.0)
    gaps = []
    while "end" not in stage.engine.fired_s and stage.time_s < 50.0:
        stage.play(0.5)
        if "rescue" in stage.actors:
            rescue = stage.actors["rescue"].pose
            gaps.append(15.0 * stage.time_s - float(site.route.curve.project(rescue.x_m, rescue.y_m).s_m))
    assert gaps[0] > 120.0
    assert 5.0 < min(gaps) < 30.0
    fired = stage.engine.fired_s
    assert fired["end"] - fired["near"] == pytest.approx(10.0, abs=0.1)
    assert "ahead" not in fired
    assert stage.engine.parts["YieldToEmergencyVehicle"].ended_s is not None


def test_an_emergency_vehicle_passes_an_ego_that_changes_lanes() -> None:
    graph = town("motorway")
    site = site_on(graph, along(graph, ((5, -3), 20.0), ((5, -3), 900.0)), trigger_m=30.0)
    script = build("YieldToEmergencyVehicle", site, {})
    beside = along(graph, ((5, -4), 20.0), ((5, -4), 900.0))
    stage = Stage(script, lambda time_s: (15.0 * time_s, 15.0), graph, route=beside).play(30.0)
    fired = stage.engine.fired_s
    assert fired["near"] < fired["ahead"] < fired["end"]
    check_ended(stage)


def test_oncoming_cars_invade_the_egos_lane() -> None:
    graph = town("country_road")
    site = site_on(graph, along(graph, ((0, -1), 100.0), ((0, -1), 500.0)))
    script = build("InvadingTurn", site, {"distance": 100.0, "offset": 0.4})
    stage = Stage(script, lambda _: (6.0, 0.0), graph, route=site.route).play(12.0)
    cars = [actor.pose for name, actor in stage.actors.items() if name.startswith("invaders")]
    edges_m = [abs(float(site.route.curve.project(car.x_m, car.y_m).d_m)) - 0.7 for car in cars]
    assert len(cars) >= 2
    assert np.array(edges_m) == pytest.approx(site.half_lane_m(0.0) - 0.4, abs=0.35)
    cones = [actor.pose for name, actor in stage.actors.items() if name.startswith("cone")]
    assert len(cones) == 10
    stage = stage_of("InvadingTurn", site, 10.0, distance=100.0).play(30.0)
    check_ended(stage)


def test_control_is_lost_near_debris() -> None:
    graph = town("city_grid")
    site = site_on(graph, way(graph, *WIDE))
    stage = stage_of("ControlLoss", site, 8.0)
    assert len(stage.actors) == 3
    stage.play(20.0)
    noisy = np.array([8.0 * time_s - 5.0 for time_s, order in stage.orders(Disturb) if order.steer != 0.0])
    assert np.abs(noisy[:, None] - np.array([14.0, 48.0, 74.0])).min(axis=1).max() < 2.6
    steer = np.array([abs(order.steer) for _, order in stage.orders(Disturb) if order.steer != 0.0])
    assert steer.mean() == pytest.approx(0.055, abs=0.015)
    check_ended(stage)


def test_traffic_ahead_brakes_for_ten_seconds() -> None:
    graph = town("city_grid")
    site = site_on(graph, way(graph, *WIDE))
    stage = stage_of("HardBreakRoute", site, 5.0).play(20.0)
    ((stopped_s, _),), ((started_s, _),) = stage.orders(StopTraffic), stage.orders(StartTraffic)
    assert started_s - stopped_s == pytest.approx(10.0, abs=0.1)
    assert stage.engine.fired_s["end"] == pytest.approx(started_s + 3.0, abs=0.1)


def test_the_ego_starts_between_parked_cars() -> None:
    graph = town("city_grid")
    site = site_on(graph, way(graph, *WIDE), trigger_m=1.0)
    values = {"front_vehicle_distance": 9.0, "behind_vehicle_distance": 9.0}
    stage = stage_of("ParkingExit", site, 5.0, **values)
    ((_, ego),) = stage.orders(PlaceEgo)
    place = site.route.curve.project(ego.pose.x_m, ego.pose.y_m)
    assert float(place.d_m) < -2.0
    parked = {name: site.route.curve.project(a.pose.x_m, a.pose.y_m) for name, a in stage.actors.items()}
    assert float(parked["front"].d_m) == pytest.approx(float(place.d_m), abs=0.1)
    assert float(parked["front"].s_m) - float(place.s_m) == pytest.approx(9.0, abs=0.1)
    assert float(parked["behind"].d_m) == pytest.approx(float(place.d_m), abs=0.3)
    check_ended(stage.play(15.0))


@pytest.mark.parametrize("name", ["SequentialLaneChange", "T_Junction"])
def test_a_drive_of_200_m(name: str) -> None:
    graph = town("city_grid")
    site = site_on(graph, way(graph, *WIDE))
    stage = stage_of(name, site, 10.0).play(25.0)
    assert stage.engine.fired_s["end"] == pytest.approx((site.trigger_m + 200.0) / 10.0, abs=0.1)


def test_traffic_slows_down_beside_an_obstacle() -> None:
    """5 s after the ego has come near, while it stands before the obstacle."""
    graph = town("city_grid")
    site = site_on(graph, way(graph, *WIDE))
    script = build("ParkedObstacle", site, {"distance": 60.0, "speed": 40.0})
    stage = Stage(script, lambda time_s: (min(8.0 * time_s, 50.0), 8.0), graph, route=site.route).play(20.0)
    assert [order.speed_mps for _, order in stage.orders(CapTraffic)] == pytest.approx([40.0 / 3.6])


def test_oncoming_cars_brake_for_an_ego_in_their_lane() -> None:
    graph = town("city_grid")
    route = way(graph, *NARROW)
    site = site_on(graph, route)
    script = build("ParkedObstacleTwoWays", site, {"distance": 60.0})
    lane = site.oncoming_spot(60.0).pose

    def ego(time_s: float) -> tuple[float, float]:
        return min(8.0 * time_s, 45.0), 0.1

    stage = Stage(script, ego, graph, route=route).play(13.0)
    cars = [name for name in stage.actors if name.startswith("oncoming")]
    assert cars
    assert math.cos(stage.actors[cars[0]].pose.yaw_rad - lane.yaw_rad) > 0.9
    assert stage.engine.parts["ParkedObstacleTwoWays"].is_running


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("YieldToEmergencyVehicle", {"distance": 5000.0}, "does not reach"),
        ("InvadingTurn", {"distance": 400.0}, "the route ends before"),
        ("HighwayCutIn", {"other_actor_location": Location(0.0, 9000.0, 0.0)}, "is not on a driving lane"),
        ("CrossingBicycleFlow", {"start_actor_flow": Location(0.0, 9000.0, 0.0)}, "there is no bicycle lane"),
        ("InterurbanActorFlow", {}, "needs start_actor_flow"),
    ],
)
def test_a_place_that_does_not_suit_is_refused(name: str, values: dict[str, Any], words: str) -> None:
    graph = town("city_grid")
    with pytest.raises(RouteError, match=words):
        build(name, site_on(graph, way(graph, *WIDE)), {**FLOW, **values})


def _map(place: Location) -> tuple[float, float]:
    return place.x_m, -place.y_m
