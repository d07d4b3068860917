"""The agents `behavior` and `basic`: CARLA's own, from the user's copy of its folder `agents`.

They ask the simulator for other road users and the lights, so they know its truth.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import carla
import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve
from av_core.errors import AgentError, ConfigError
from av_core.types import LaneGraph, SensorFrame
from av_stack.agents.base import AgentStep
from av_stack.agents.custom import checked
from av_stack.agents.guard import Guard
from av_stack.agents.route_plan import road_options, rows_every
from av_stack.world.carla.controls import command_of
from av_stack.world.carla.world import CarlaWorld
from planning import Route

PLAN_GAP_M = 2.0
"""Distance between the way points of the plan: the sampling of CARLA's own agents."""

CLOSE_M = 0.1
"""Tolerance by which this distance may be smaller."""

TRACE_GAP_M = 1.0
"""Distance between the points of the Leaderboard's routes."""

OFF_ROUTE_M = 7.0
"""Largest distance of a planned path from the route; a path farther away is another one.

It is wide because the planner may change lanes at another place than the route."""

Step = tuple[carla.Waypoint, Any]
"""A way point, and the `RoadOption` there."""

BASIC_KMH = 30.0
"""Target speed of the basic agent until it knows a speed limit, as in CARLA's automatic_control.py."""

ROLL_ON_THROTTLE = 0.3
"""Throttle after the end of the agent's plan, where its own step would raise an error.

It can be needed before the end of the route, because an agent drops its plan when it makes way for another vehicle."""

NEEDED = Path("agents") / "navigation" / "behavior_agent.py"


class CarlaAgent:
    """Drives the ego of `world` with `agent`, one of CARLA's own agents that has its plan; `guard` calls it."""

    def __init__(self, name: str, world: CarlaWorld, agent: Any, guard: Guard) -> None:
        self._name, self._world, self._agent, self._guard = name, world, agent, guard

    def step(self, frame: SensorFrame) -> AgentStep:
        control = self._guard.call("a step", self._run_step)
        if not isinstance(control, carla.VehicleControl):
            raise AgentError(f"the agent's step returned {type(control).__name__}; expected a carla.VehicleControl")
        return AgentStep(checked(self._name, command_of(control)))

    def close(self) -> None:
        self._guard.close()

    def _run_step(self) -> Any:
        with self._world.episode.session.answering("the agent's questions"):
            return carla_agent_step(self._agent)


def carla_agent_step(agent: Any) -> Any:
    """The `carla.VehicleControl` of one of CARLA's agents, also behind the end of its plan."""
    if agent.done():
        return carla.VehicleControl(throttle=ROLL_ON_THROTTLE)
    return agent.run_step()


def check_folder(folder: Path | None) -> None:
    """Raise ConfigError unless CARLA's agents are in `folder`, or can be imported without one."""
    if folder is not None:
        if not (folder / NEEDED).is_file():
            raise ConfigError(f"--agents {folder}: no {NEEDED} in it; expected CARLA's folder PythonAPI/carla")
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))
        if not hasattr(sys.modules.get("agents"), "navigation"):  # another package of this common name
            sys.modules.pop("agents", None)
            importlib.invalidate_caches()
    try:
        importlib.import_module("agents.navigation.behavior_agent")
    except ImportError as error:
        if folder is None:
            raise ConfigError(
                "CARLA's own agents are not on the Python path; expected --agents DIR, CARLA's folder PythonAPI/carla"
            ) from None
        raise ConfigError(f"--agents {folder}: its agents cannot be imported: {error}") from None


def make_carla_agent(name: str, world: CarlaWorld, route: Route, guard: Guard) -> CarlaAgent:
    """The agent `behavior` (of the behavior "normal") or `basic`, with the route as its global plan.

    Raises AgentError where it cannot be made.
    """
    makers: dict[str, Callable[[CarlaWorld], Any]] = {"behavior": _behavior, "basic": _basic}
    agent = guard.call("its constructor", makers[name], world)
    plan = _plan(world, route, guard)
    guard.call("set_global_plan", agent.set_global_plan, plan)
    return CarlaAgent(name, world, agent, guard)


def _behavior(world: CarlaWorld) -> Any:
    module = importlib.import_module("agents.navigation.behavior_agent")
    return module.BehaviorAgent(world.episode.ego, behavior="normal", map_inst=world.episode.map)


def _basic(world: CarlaWorld) -> Any:
    module = importlib.import_module("agents.navigation.basic_agent")
    agent = module.BasicAgent(world.episode.ego, BASIC_KMH, map_inst=world.episode.map)
    agent.follow_speed_limits(True)
    return agent


def thinned(plan: Iterable[Step]) -> list[Step]:
    """The points of a plan that are `PLAN_GAP_M` apart, or more."""
    kept: list[Step] = []
    for waypoint, option in plan:
        place = waypoint.transform.location
        if not kept or place.distance(kept[-1][0].transform.location) >= PLAN_GAP_M - CLOSE_M:
            kept.append((waypoint, option))
    return kept


def _plan(world: CarlaWorld, route: Route, guard: Guard) -> list[Step]:
    """The plan as CARLA's agents get it in the Leaderboard: the path of CARLA's own planner along the route.

    If this planner finds another path or none, the plan consists of the points of the route itself.
    """
    try:
        traced = guard.call("its route planner", _traced, world, route)
    except AgentError:  # CARLA's planner finds no path
        traced = []
    places = np.array([(waypoint.transform.location.x, -waypoint.transform.location.y) for waypoint, _ in traced])
    if len(places) > 1 and _is_same_way(places, route.curve):
        return thinned(traced)
    return _followed(world.episode.map, route, world.lane_graph)


def _is_same_way(places: NDArray[np.float64], curve: Curve) -> bool:
    """Whether the path through `places` (N, 2) stays near the curve along the curve's whole length."""
    there = curve.distance_m(*places.T).max()
    back = np.hypot(curve.x_m[:, None] - places[:, 0], curve.y_m[:, None] - places[:, 1]).min(axis=1)
    return bool(max(there, back.max()) < OFF_ROUTE_M)


def _traced(world: CarlaWorld, route: Route) -> list[Step]:
    """Points 1 m apart on the path of CARLA's planner."""
    planner = importlib.import_module("agents.navigation.global_route_planner").GlobalRoutePlanner(
        world.episode.map, TRACE_GAP_M
    )
    at = [carla.Location(x=x, y=y, z=float(route.z_m[route.curve.nearest(x, -y)])) for x, y in world.episode.spec.route]
    return [step for here, there in pairwise(at) for step in planner.trace_route(here, there)]


def _followed(town: carla.Map, route: Route, graph: LaneGraph) -> list[Step]:
    """The points of the route itself."""
    options = importlib.import_module("agents.navigation.local_planner").RoadOption
    names, curve = road_options(route, graph), route.curve
    plan = []
    for row in rows_every(route, PLAN_GAP_M).tolist():
        at = carla.Location(x=float(curve.x_m[row]), y=-float(curve.y_m[row]), z=float(route.z_m[row]))
        plan.append((town.get_waypoint(at), getattr(options, names[row])))
    return plan
