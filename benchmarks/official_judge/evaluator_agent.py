"""The judged agents for the Leaderboard's evaluator: CARLA's own, with the evaluator's plan, and the TrafficManager.

It is run by the evaluator, on whose path are `leaderboard`, `srunner`, CARLA's `agents` and this project. The file that
the evaluator passes on (`--agent-config`) holds an `Order` as JSON.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import carla
import py_trees  # type: ignore[import-not-found]
from agents.navigation.basic_agent import BasicAgent  # type: ignore[import-not-found]
from agents.navigation.behavior_agent import BehaviorAgent  # type: ignore[import-not-found]
from leaderboard.autoagents.autonomous_agent import AutonomousAgent, Track  # type: ignore[import-not-found]
from srunner.scenariomanager.carla_data_provider import CarlaDataProvider  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[2]))  # the evaluator's own folder, the first, has another `scenarios`

from av_stack.world.carla.agents.autopilot import Autopilot
from av_stack.world.carla.agents.carla_agents import BASIC_KMH, carla_agent_step, thinned
from av_stack.world.carla.road_users.traffic import Traffic
from av_stack.world.carla.truth import BACKGROUND_ROLE
from benchmarks.official_judge.order import Order
from benchmarks.official_judge.second_judge import SecondJudge


def get_entry_point() -> str:
    return "JudgedAgent"


class JudgedAgent(AutonomousAgent):  # type: ignore[misc]  # the evaluator is not typed
    """Asks the simulator for everything, so it needs no sensor but one, since the evaluator wants some.

    Our judge looks on, and writes its own verdict on the same drive.
    """

    def setup(self, path_to_conf_file: str) -> None:
        self.track = Track.MAP
        self._order = Order.read(Path(path_to_conf_file))
        self._driver: Any = None
        self._second: SecondJudge | None = None

    def set_global_plan(self, global_plan_gps: Any, global_plan_world_coord: Any) -> None:
        """Keep the whole plan, with points 1 m apart, not only one in 200 m: between these there may be two ways."""
        super().set_global_plan(global_plan_gps, global_plan_world_coord)
        self._plan = global_plan_world_coord

    def sensors(self) -> list[dict[str, Any]]:
        return [{"type": "sensor.speedometer", "id": "speed", "reading_frequency": 20}]

    def run_step(self, input_data: Any, timestamp: float) -> Any:
        world, ego = CarlaDataProvider.get_world(), CarlaDataProvider.get_hero_actor()
        if self._second is None:
            self._second = SecondJudge(world, ego, self._order)
            self._driver = _DRIVERS[self._order.agent](self, ego)
        if not self._order.has_background:
            _remove_background(world)
        control = self._driver(timestamp)
        self._second.update(control)
        return control

    def destroy(self) -> None:
        if self._second is not None:
            self._second.close()


def _carla_agent(judged: JudgedAgent, agent: Any) -> Any:
    """One of CARLA's agents, with the evaluator's route as its plan."""
    town = CarlaDataProvider.get_map()
    plan = thinned((town.get_waypoint(transform.location), option) for transform, option in judged._plan)
    agent.set_global_plan(plan)

    return lambda _time_s: carla_agent_step(agent)


def _behavior(judged: JudgedAgent, ego: Any) -> Any:
    return _carla_agent(judged, BehaviorAgent(ego, behavior="normal", map_inst=CarlaDataProvider.get_map()))


def _basic(judged: JudgedAgent, ego: Any) -> Any:
    agent = BasicAgent(ego, BASIC_KMH, map_inst=CarlaDataProvider.get_map())
    agent.follow_speed_limits(True)
    return _carla_agent(judged, agent)


def _autopilot(judged: JudgedAgent, ego: Any) -> Any:
    """The TrafficManager, led by the project's own agent `autopilot`.

    The evaluator would overwrite each command of the TrafficManager with the one that the agent returns. So this hides
    the method by which it does, on this one object of Python, and the evaluator's own program stays as it is.
    """
    ego.apply_control = lambda _control: None
    second = judged._second
    assert second is not None
    traffic = Traffic(CarlaDataProvider.get_client(), second.scenario.seed)
    session = SimpleNamespace(answering=lambda _what: nullcontext())
    episode = SimpleNamespace(ego=ego, session=session)
    world: Any = SimpleNamespace(lane_graph=second.graph, episode=episode, require_traffic=lambda: traffic)
    autopilot = Autopilot(world, second.route)

    def step(time_s: float) -> Any:
        stamp = SimpleNamespace(frame=0, time_s=time_s)  # the autopilot has the ego from its first frame on
        autopilot.step(SimpleNamespace(stamp=stamp))  # type: ignore[arg-type]
        return ego.get_control()

    return step


def _idle(judged: JudgedAgent, ego: Any) -> Any:
    return lambda _time_s: carla.VehicleControl(brake=1.0)


_DRIVERS = {"behavior": _behavior, "basic": _basic, "autopilot": _autopilot, "idle": _idle}


NO_TRAFFIC = {
    "BA_ChangeRoadBehavior": [0, 0, None, None],  # cars in front, cars behind, their distance, more space
    "BA_ChangeOppositeBehavior": [None, None, False],  # distance of the source, of the cars, whether they come
    "BA_ChangeJunctionBehavior": [None, None, 0, 0],  # distance of the source, of the cars, most cars, percentage
}
"""Parameters of the background traffic, as scenarios write them on the evaluator's blackboard."""


def _remove_background(world: Any) -> None:
    """Ask for no more background traffic, and destroy what is there, as the TrafficManager may do, too."""
    for name, values in NO_TRAFFIC.items():
        py_trees.blackboard.Blackboard().set(name, values, overwrite=True)
    for vehicle in world.get_actors().filter("vehicle.*"):
        if vehicle.attributes.get("role_name") == BACKGROUND_ROLE:
            vehicle.destroy()
