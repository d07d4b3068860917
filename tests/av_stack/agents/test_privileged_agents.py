"""Agents that know the simulator's truth follow the route, its lane changes and turns included."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import LaneGraph
from av_stack.agents.factory import choose_agent
from av_stack.agents.route_plan import (
    BEFORE_JUNCTION_M,
    BEHIND_JUNCTION_M,
    lane_changes,
    road_options,
    rows_outside_junctions,
)
from av_stack.mission import mission_route
from av_stack.run import Options, run
from av_stack.world.carla.client import connect
from av_stack.world.carla.map import lane_graph
from av_stack.world.spec import Address
from planning import PlanningConfig, Route
from scenarios.model import RouteTable, Scenario
from tests.av_stack.drives.test_drive import messages

SHORT = Scenario(
    name="a lane change",
    map="city_grid",
    seed=1,
    route=RouteTable(start=(236.0, -194.75), goal=(312.0, -198.25)),
    timeout_s=60.0,
)

TURN = Scenario(
    name="two turns",
    map="city_grid",
    seed=1,
    route=RouteTable(start=(70.0, -93.25), via=((111.75, -147.5),), goal=(140.0, -194.75)),
    timeout_s=90.0,
)

PURE_PURSUIT = """
import math
import carla


class BehaviorAgent:
    def __init__(self, vehicle, behavior, map_inst):
        assert behavior == "normal" and isinstance(map_inst, carla.Map)
        self._vehicle = vehicle

    def set_global_plan(self, plan):
        self._plan = list(plan)
        assert all(option in ("LANEFOLLOW", "LEFT", "RIGHT") for _, option in plan)

    def done(self):
        return False

    def run_step(self):
        here = self._vehicle.get_transform()
        while len(self._plan) > 1 and self._plan[0][0].transform.location.distance(here.location) < 5.0:
            del self._plan[0]
        to = self._plan[0][0].transform.location - here.location
        off = math.remainder(math.atan2(to.y, to.x) - math.radians(here.rotation.yaw), 2 * math.pi)
        speed = self._vehicle.get_velocity().length()
        return carla.VehicleControl(throttle=0.5 if speed < 5.0 else 0.0, steer=max(-1.0, min(1.0, off)))
"""


STRAIGHT_PLANNER = """
class GlobalRoutePlanner:
    def __init__(self, town, gap_m):
        assert gap_m == 1.0
        self._town = town

    def trace_route(self, here, there):
        count = max(int(here.distance(there)), 1)
        places = [here + (there - here) * (number / count) for number in range(count + 1)]
        return [(self._town.get_waypoint(place), "LANEFOLLOW") for place in places]
"""
"""Finds the right way only where it leads straight on, and knows no lane changes."""


class RouteOf:
    """The route of a scenario on the map that a server has loaded."""

    def __init__(self, graph: LaneGraph) -> None:
        self.graph = graph

    def __call__(self, scenario: Scenario) -> Route:
        return mission_route(self.graph, scenario, PlanningConfig())


@pytest.fixture(scope="module")
def route_of(city_server: Address) -> RouteOf:
    return RouteOf(lane_graph(connect(city_server).get_world().get_map()))


def test_what_a_route_means_to_drivers_that_know_lanes_and_turns(route_of: RouteOf) -> None:
    change, turns = route_of(SHORT), route_of(TURN)
    (to_left,) = lane_changes(change, route_of.graph)
    assert to_left.is_left
    assert 15.0 < to_left.end_m - to_left.start_m < 60.0
    assert set(road_options(change, route_of.graph)) == {"LANEFOLLOW", "CHANGELANELEFT"}
    options = road_options(turns, route_of.graph)
    kinds = [options[0], *(after for before, after in pairwise(options) if after != before)]
    assert kinds == ["LANEFOLLOW", "LEFT", "LANEFOLLOW", "RIGHT", "LANEFOLLOW"]
    assert not lane_changes(turns, route_of.graph)


def test_way_points_keep_clear_of_junctions(route_of: RouteOf) -> None:
    route = route_of(TURN)
    rows = rows_outside_junctions(route, 10.0)
    assert not route.is_junction[rows].any()
    ends_m = route.s_m[np.flatnonzero(np.diff(route.is_junction.astype(int)) == -1)]
    for end_m in ends_m:
        behind = route.s_m[rows] - end_m
        assert behind[behind > 0.0].min() >= min(BEHIND_JUNCTION_M, (route.length_m - end_m) / 2) - 1.0
    starts_m = route.s_m[np.flatnonzero(np.diff(route.is_junction.astype(int)) == 1) + 1]
    for start_m in starts_m:
        before = start_m - route.s_m[rows]
        assert before[before > 0.0].min() >= BEFORE_JUNCTION_M - 1.0
    assert (np.diff(route.s_m[rows]) < 60.0).all()


@pytest.mark.parametrize("scenario", [SHORT, TURN], ids=["lane change", "turns"])
def test_the_autopilot_follows_the_route(city_server: Address, tmp_path: Path, scenario: Scenario) -> None:
    figures = run(scenario, Options(city_server, out=tmp_path, agent="autopilot")).figures
    assert (figures["end"], figures["error"]) == ("arrived", None)
    assert figures["route_completion"] == 1.0
    assert figures["collisions"] == 0
    commands = [json.loads(data) for data in messages(tmp_path / "recording.mcap", "/control")]
    assert len(commands) == figures["steps"]
    assert max(command["throttle"] for command in commands) > 0.3, "the TrafficManager's own commands are recorded"


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a folder as CARLA's PythonAPI/carla with this behavior_agent.py."""

    def make(behavior_agent: str) -> Path:
        package = tmp_path / "carla" / "agents" / "navigation"
        package.mkdir(parents=True)
        for folder in (package.parent, package):
            (folder / "__init__.py").write_text("")
        names = ("LANEFOLLOW", "LEFT", "RIGHT", "STRAIGHT", "CHANGELANELEFT", "CHANGELANERIGHT")
        options = "\n".join(f"    {name} = {name!r}" for name in names)
        (package / "local_planner.py").write_text(f"class RoadOption:\n{options}\n")
        (package / "behavior_agent.py").write_text(behavior_agent)
        (package / "global_route_planner.py").write_text(STRAIGHT_PLANNER)
        return tmp_path / "carla"

    return make


@pytest.mark.parametrize("scenario", [SHORT, TURN], ids=["way of CARLA's planner", "the route, where that is off it"])
def test_an_agent_of_carlas_folder_gets_a_plan_along_the_route(
    city_server: Address, tmp_path: Path, make_folder: Callable[[str], Path], scenario: Scenario
) -> None:
    folder = make_folder(PURE_PURSUIT)
    figures = run(scenario, Options(city_server, out=tmp_path, agent="behavior", agents=folder)).figures
    assert (figures["end"], figures["error"]) == ("arrived", None)
    assert figures["outside_lane_m"] < 5.0
    assert figures["route_completion"] == 1.0


def test_a_folder_without_carlas_agents(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no agents/navigation/behavior_agent\.py in it"):
        choose_agent("behavior", tmp_path)
