"""BehaviorAgent as an agent for the Leaderboard's evaluator, with the evaluator's plan.

It is run by the evaluator, on whose path are `leaderboard`, `srunner` and CARLA's `agents`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import carla
from agents.navigation.behavior_agent import BehaviorAgent  # type: ignore[import-not-found]
from leaderboard.autoagents.autonomous_agent import AutonomousAgent, Track  # type: ignore[import-not-found]
from srunner.scenariomanager.carla_data_provider import CarlaDataProvider  # type: ignore[import-not-found]


def get_entry_point() -> str:
    return "JudgedAgent"


class JudgedAgent(AutonomousAgent):  # type: ignore[misc]  # the evaluator is not typed
    """Asks the simulator for everything, so it needs no sensor but one, since the evaluator wants some."""

    def setup(self, path_to_conf_file: str) -> None:
        self.track = Track.MAP
        self._driver: Any = None

    def sensors(self) -> list[dict[str, Any]]:
        return [{"type": "sensor.speedometer", "id": "speed", "reading_frequency": 20}]

    def run_step(self, input_data: Any, timestamp: float) -> Any:
        if self._driver is None:
            ego = CarlaDataProvider.get_hero_actor()
            town = CarlaDataProvider.get_map()
            self._driver = BehaviorAgent(ego, behavior="normal", map_inst=town)
            ends = [town.get_waypoint(transform.location) for transform, _ in self._global_plan_world_coord]
            plan: list[Any] = []
            for here, there in pairwise(ends):
                plan += self._driver.trace_route(here, there)
            self._driver.set_global_plan(plan)
        if self._driver.done():  # it raises an error once its plan is used up, and the route may end a little later
            return carla.VehicleControl(throttle=0.3)
        return self._driver.run_step()
