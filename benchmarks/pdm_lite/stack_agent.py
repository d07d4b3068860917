"""The stack as an agent for carla_garage's Leaderboard evaluator: `--agent .../benchmarks/pdm_lite/stack_agent.py`.

carla_garage changed how its evaluator calls an agent: it hands over the drive's name, the TrafficManager, the sensors'
actors and the results as well. This agent drops them all, so the stack drives as under the unmodified Leaderboard.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# The evaluator puts this folder first on the path; the project's packages are two folders up.
sys.path[:] = [str(_HERE.parents[1]), *(path for path in sys.path if Path(path or ".").resolve() != _HERE)]

from av_stack.leaderboard_agent import AvStackAgent  # noqa: E402


def get_entry_point() -> str:
    """The name of the agent's class, for the evaluator."""
    return "GarageAgent"


class GarageAgent(AvStackAgent):
    """`AvStackAgent`, which is handed more and uses none of it."""

    def __init__(self, path_to_conf_file: str, name: Any = None) -> None:
        del path_to_conf_file, name
        super().__init__("localhost", 0)  # the base class of the Leaderboard reads neither

    def setup(self, path_to_conf_file: str, name: Any = None, traffic_manager: Any = None) -> None:
        del name, traffic_manager
        super().setup(path_to_conf_file)

    def __call__(self, sensor_actors: Any = None) -> Any:
        del sensor_actors
        return super().__call__()

    def destroy(self, results: Any = None) -> None:
        del results
        super().destroy()
