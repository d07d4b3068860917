"""The actors of each scenario type have room on a street of a real server, and the ego's way starts free."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from av_core.types import Rig
from av_stack.director import Director
from av_stack.mission import mission_route, world_spec
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from planning import PlanningConfig
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.table import build
from scenarios.model import RouteTable, Scenario
from scenarios.script.places import Roads
from tests.scenarios.leaderboard.test_plays import NARROW, STREET_TYPES, VALUES, WIDE

STEP_S = 0.05
TRIGGER_M = 10.0


@pytest.mark.parametrize("name", STREET_TYPES)
def test_the_actors_have_room(city_server: Address, name: str) -> None:
    """Props, people and cars stand still where the script puts them, and touch nothing."""
    (x0, y0), (x1, y1) = NARROW if "TwoWays" in name else WIDE
    bare = Scenario(name=name, map="city_grid", route=RouteTable(start=(x0, -y0), goal=(x1, -y1)))
    with closing(CarlaWorld(city_server, world_spec(bare, Rig(()), "ClearNoon"))) as world:
        route = mission_route(world.lane_graph, bare, PlanningConfig())
        values = {**VALUES, "direction": "left"} if name == "StaticCutIn" else VALUES
        script = build(name, Site(Roads(world.lane_graph, route), TRIGGER_M), values)
        director = Director(world, route, bare.model_copy(update=dict(script)), STEP_S, ScenarioEvents())
        for _ in range(8):
            world.tick()
            truth = world.truth()
            director.update(truth, 0.0)
        assert set(truth.actors) == set(script.actors)
        first = {actor: one.pose for actor, one in truth.actors.items()}
        for _ in range(20):
            world.tick()
            truth = world.truth()
        moved = [np.hypot(one.pose.x_m - first[a].x_m, one.pose.y_m - first[a].y_m) for a, one in truth.actors.items()]
        assert max(moved) < 0.1
        assert not truth.collisions
