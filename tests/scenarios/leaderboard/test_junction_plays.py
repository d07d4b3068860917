"""The types at junctions fit junctions of our own town, and play: lights, streams, crossing vehicles and walkers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from av_core.errors import RouteError
from av_core.orders import QuietJunction, SetSignal, Spawn
from av_core.types import LaneKey, LightState, SideKind, SideLane
from scenarios.leaderboard.plays.lane_walk import LaneSpot
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.table import build
from tests.scenarios.leaderboard.play_sites import TRIGGER_M, junction_sites, location, site_on, town, way
from tests.scenarios.script.stage import Stage

TOWN = "city_grid"
EGO_MPS = 8.0
FLOW: dict[str, Any] = {"flow_speed": 10.0, "source_dist_interval": (15.0, 25.0)}
GREEN_FROM_S = 5.0

CASES = [
    ("SignalizedJunctionLeftTurn", "left", True),
    ("NonSignalizedJunctionLeftTurn", "left", False),
    ("SignalizedJunctionRightTurn", "right", True),
    ("NonSignalizedJunctionRightTurn", "right", False),
    ("SignalizedJunctionLeftTurnEnterFlow", "left", True),
    ("NonSignalizedJunctionLeftTurnEnterFlow", "left", False),
    ("OppositeVehicleRunningRedLight", "straight", True),
    ("OppositeVehicleTakingPriority", "straight", False),
    ("PriorityAtJunction", "straight", True),
    ("BlockedIntersection", "left", None),
    ("PedestrianCrossing", "straight", None),
    ("VehicleTurningRoute", "right", None),
    ("VehicleTurningRoutePedestrian", "left", None),
    ("VehicleTurningRoutePedestrian", "right", None),
    ("VanillaSignalizedTurnEncounterGreenLight", "left", True),
    ("VanillaSignalizedTurnEncounterRedLight", "right", True),
    ("VanillaNonSignalizedTurn", "left", False),
    ("VanillaNonSignalizedTurnEncounterStopsign", "left", False),
]


def site_for(name: str, turn: str, has_lights: bool | None, **values: Any) -> Site:
    """The first place of our town at which the type can be built; other traffic from a direction goes straight on."""
    for site in junction_sites(TOWN, turn, has_lights):
        try:
            build(name, site, {**FLOW, **values})
        except RouteError:
            continue
        if "direction" not in values or site.junction.leads_straight(site.junction.entries(values["direction"])[-1]):
            return site
    raise AssertionError(f"no place for {name}")


def played(site: Site, name: str, stop_m: float = math.inf, **values: Any) -> Stage:
    """The stage on which the ego drives at constant speed, up to `stop_m` ahead of the trigger, where it stands."""
    last_m = min(site.route.length_m, site.trigger_m + stop_m)

    def ego(time_s: float) -> tuple[float, float]:
        s_m = min(EGO_MPS * time_s, last_m)
        return s_m, EGO_MPS if s_m < last_m else 0.0

    return Stage(build(name, site, {**FLOW, **values}), ego, site.graph, route=site.route)


def shown(stage: Stage, ids: tuple[str, ...]) -> list[tuple[float, LightState | None]]:
    """What the lights show, one after another."""
    told = [(time_s, order.state) for time_s, order in stage.orders(SetSignal) if order.signal_id in ids]
    return list(dict.fromkeys(told))


@pytest.mark.parametrize(("name", "turn", "has_lights"), CASES)
def test_a_type_begins_and_ends(name: str, turn: str, has_lights: bool | None) -> None:
    site = site_for(name, turn, has_lights)
    stage = played(site, name).play(45.0)
    fired = stage.engine.fired_s
    assert fired["begin"] == pytest.approx((TRIGGER_M - 2.0) / EGO_MPS, abs=0.1)
    assert fired["end"] > fired["begin"]
    assert stage.actors == {}
    assert not any(run.is_timed_out for run in stage.engine.parts.values())
    held = {order.signal_id: order.state for _, order in stage.orders(SetSignal)}
    assert all(state is None for state in held.values())
    assert bool(held) == name.startswith(("Signalized", "VanillaSignalized", "Priority", "OppositeVehicleRunning"))


@pytest.mark.parametrize("name", ["SignalizedJunctionLeftTurn", "SignalizedJunctionRightTurn"])
def test_the_ego_waits_at_red_and_the_stream_has_green(name: str) -> None:
    site = site_for(name, "left" if "Left" in name else "right", True)
    junction = site.junction
    own = junction.lights_of(junction.entry)
    stage = played(site, name, stop_m=junction.entry_m - 5.0).play(20.0)
    (began_s, red), (changed_s, green) = shown(stage, own)
    assert (red, green) == (LightState.RED, LightState.GREEN)
    assert changed_s - began_s == pytest.approx(GREEN_FROM_S, abs=0.1)
    others = {state for _, state in shown(stage, junction.other_lights(own))}
    assert LightState.RED in others
    assert stage.orders(Spawn)


def test_a_stream_crosses_the_egos_way() -> None:
    """While the ego stands before the junction, cars come from the other side and leave behind it."""
    site = site_for("NonSignalizedJunctionLeftTurn", "left", False)
    stage = played(site, "NonSignalizedJunctionLeftTurn", stop_m=site.junction.entry_m - 5.0).play(30.0)
    cars = list(stage.actors.values())
    assert len(cars) >= 3
    heading = float(site.route.curve.yaw_rad[0])
    assert all(math.cos(car.pose.yaw_rad - heading) < -0.7 for car in cars)
    path = site.junction.curve
    nearest = min(
        float(np.hypot(path.x_m - car.pose.x_m, path.y_m - car.pose.y_m).min())
        for _ in range(40)
        for car in stage.play(0.1).actors.values()
    )
    assert nearest < 1.0


def test_a_stream_turns_into_the_egos_exit() -> None:
    name = "NonSignalizedJunctionLeftTurnEnterFlow"
    site = site_for(name, "left", False)
    stage = played(site, name, stop_m=site.junction.entry_m - 5.0).play(20.0)
    yaw_rad = [actor.pose.yaw_rad for actor in stage.actors.values()]
    end_rad = float(site.junction.exit.curve.yaw_rad[0])
    assert any(math.cos(yaw - end_rad) > 0.9 for yaw in yaw_rad)


@pytest.mark.parametrize("direction", ["left", "right", "opposite"])
@pytest.mark.parametrize(
    ("name", "has_lights"), [("OppositeVehicleRunningRedLight", True), ("OppositeVehicleTakingPriority", False)]
)
def test_a_vehicle_crosses_just_before_the_ego(name: str, has_lights: bool, direction: str) -> None:
    site = site_for(name, "straight", has_lights, direction=direction)
    stage = played(site, name, direction=direction)
    nearest_m = math.inf
    for _ in range(240):
        stage.play(0.1)
        if "other" in stage.actors:
            x, y, _ = site.route.curve.pose_at(EGO_MPS * stage.time_s)
            other = stage.actors["other"].pose
            nearest_m = min(nearest_m, math.hypot(other.x_m - float(x), other.y_m - float(y)))
    assert nearest_m < 6.0
    ((_, spawned),) = stage.orders(Spawn)
    across = spawned.pose.yaw_rad - float(site.route.curve.yaw_rad[0])
    expected = {"left": -1.0, "right": 1.0, "opposite": 0.0}[direction]
    assert math.sin(across) == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize("turn", ["left", "right"])
def test_a_walker_comes_from_the_far_side(turn: str) -> None:
    """After a left turn from the right, after a right turn from the left, and walks over the ego's lane."""
    name = "VehicleTurningRoutePedestrian"
    site = site_for(name, turn, None)
    stage = played(site, name)
    start = site.route.curve.project(*_at(stage, "crossing"))
    assert (float(start.d_m) < 0.0) == (turn == "left")
    assert float(start.s_m) - site.trigger_m == pytest.approx(site.junction.exit_m + 0.5, abs=0.5)
    offsets = []
    while "crossing" in stage.actors and stage.time_s < 60.0:
        offsets.append(float(site.route.curve.project(*_at(stage, "crossing")).d_m))
        stage.play(0.1)
    assert offsets[0] * offsets[-1] < 0.0


def test_three_walkers_cross_one_after_another() -> None:
    site = site_for("PedestrianCrossing", "straight", None)
    stage = played(site, "PedestrianCrossing", stop_m=site.junction.entry_m - 10.0)
    assert len(stage.actors) == 3
    offsets: list[list[float]] = [[], [], []]
    while stage.actors and stage.time_s < 60.0:
        for number in range(3):
            if f"walker_{number}" in stage.actors:
                offsets[number].append(float(site.route.curve.project(*_at(stage, f"walker_{number}")).d_m))
        stage.play(0.1)
    assert stage.actors == {}, "who stayed where the walk ends would stand on the oncoming lane"
    assert all(first < -2.0 and last > 1.0 for first, *_, last in offsets)
    walks = [stage.engine.fired_s[f"walk_{n}"] - stage.engine.fired_s["soon"] for n in range(3)]
    assert len(set(walks)) == 3
    assert max(walks) < 1.6


def test_a_car_stands_behind_the_turn_for_ten_seconds() -> None:
    site = site_for("BlockedIntersection", "left", None)
    stage = played(site, "BlockedIntersection", stop_m=site.junction.exit_m - 5.0).play(30.0)
    fired = stage.engine.fired_s
    assert fired["end"] - fired["near"] == pytest.approx(10.0, abs=0.1)
    assert stage.actors == {}


def test_lights_stay_held_until_the_junction_is_passed() -> None:
    site = site_for("PriorityAtJunction", "straight", True)
    own = site.junction.lights_of(site.junction.entry)
    stage = played(site, "PriorityAtJunction", stop_m=site.junction.entry_m).play(60.0)
    assert [state for _, state in shown(stage, own)] == [LightState.GREEN]
    assert {state for _, state in shown(stage, site.junction.other_lights(own))} == {LightState.RED}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SignalizedJunctionLeftTurn", "there is no junction on the route"),
        ("PriorityAtJunction", "there is no junction on the route"),
        ("CrossingBicycleFlow", "needs start_actor_flow"),
        ("EnterActorFlow", "needs start_actor_flow, end_actor_flow"),
    ],
)
def test_a_place_without_a_junction_is_refused(name: str, words: str) -> None:
    graph = town("country_road")
    x, y, _ = graph.lanes[LaneKey(1, 0, -1)].curve.pose_at(np.array([20.0, 320.0]))
    route = way(graph, (float(x[0]), float(y[0])), (float(x[1]), float(y[1])))
    with pytest.raises(RouteError, match=words):
        build(name, site_on(graph, route), FLOW)


def test_cyclists_ride_across_the_egos_turn() -> None:
    """A bicycle lane to the right of the ego's leads straight on through the junction where the ego turns right."""
    site = next(iter(junction_sites(TOWN, "right", True)))
    entry = LaneSpot(site.junction.entry, site.junction.entry.length_m)
    start_m, end_m = -60.0, 90.0
    lanes = {}
    for number, (low, high) in enumerate([(start_m, 0.0), (0.0, 25.0), (25.0, end_m)]):
        s = np.linspace(low, high, 30)
        x, y, yaw = entry.lane.curve.pose_at(entry.s_m + s, np.full(30, -3.0))
        points = np.column_stack([x, y, np.zeros(30)])
        following = (LaneKey(900, number + 1, -2),) if number < 2 else ()
        lane_key = LaneKey(900, number, -2)
        width = np.full(30, 1.5)
        lanes[lane_key] = SideLane(lane_key, SideKind.BICYCLE, points, s - low, yaw, width, number == 1, following)
    site = site_on(replace(site.graph, side_lanes=lanes), site.route)
    first = lanes[LaneKey(900, 0, -2)].points[0]
    start = location(float(first[0]), float(first[1]))
    stage = played(site, "CrossingBicycleFlow", stop_m=site.junction.entry_m, start_actor_flow=start, flow_speed=5.0)
    stage.play(15.0)
    own = site.junction.lights_of(site.junction.entry)
    assert [state for _, state in shown(stage, own)] == [LightState.RED, LightState.GREEN]
    riders = [order.blueprint for _, order in stage.orders(Spawn)]
    assert len(set(riders)) == 3
    ahead_m = [float(site.route.curve.project(a.pose.x_m, a.pose.y_m).d_m) for a in stage.actors.values()]
    assert min(ahead_m) == pytest.approx(-3.0, abs=0.5)
    assert max(ahead_m) > 3.0


def _at(stage: Stage, name: str) -> tuple[float, float]:
    pose = stage.actors[name].pose
    return pose.x_m, pose.y_m


@pytest.mark.parametrize(
    ("name", "turn", "has_lights", "others_wait", "space_m"),
    [
        ("SignalizedJunctionLeftTurn", "left", True, False, 20.0 + 2.5 * 12.0),
        ("NonSignalizedJunctionRightTurn", "right", False, True, 20.0 + 3.0 * 12.0),
        ("OppositeVehicleTakingPriority", "straight", False, True, 0.0),
        ("BlockedIntersection", "left", None, True, 0.0),
    ],
)
def test_background_traffic_keeps_out_of_the_junction(
    name: str, turn: str, has_lights: bool | None, others_wait: bool, space_m: float
) -> None:
    """Cars that wait behind it leave 20 m behind a stream, which ends 2.5 s or 3 s at its speed behind it."""
    values: dict[str, Any] = {"direction": "left"} if name.startswith("Opposite") else {}
    values |= {"flow_speed": 12.0} if "Signalized" in name else {}
    stage = played(site_for(name, turn, has_lights, **values), name, **values).play(20.0)
    assert [order for _, order in stage.orders(QuietJunction)] == [QuietJunction(others_wait, space_m)]
