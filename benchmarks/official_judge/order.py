"""What one drive under both judges is: route, agent, traffic; passed to the evaluator's agent as a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from av_stack.route_drive import load_route
from scenarios.model import Scenario

SEED = 0
"""Of the drives under our judge; the evaluator's own are not for us to choose."""


VERDICT = "second.json"
"""File of our judge's verdict on the evaluator's drive, in the folder of the drive."""


@dataclass(frozen=True, slots=True)
class Order:
    """One drive: `routes` is the file and `route_id` the route in it, `maps` the folder with the towns.

    `folder` takes what the drive writes. Without `has_background` there is no background traffic.
    """

    routes: str
    route_id: str
    maps: str
    folder: str
    agent: str
    has_background: bool

    @classmethod
    def read(cls, file: Path) -> Order:
        values: dict[str, Any] = json.loads(file.read_text())
        return cls(**values)

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self), indent=1))

    def scenario(self) -> Scenario:
        """The drive as ours plays it."""
        scenario = load_route(Path(self.routes), self.route_id, Path(self.maps), None, SEED)
        if self.has_background:
            return scenario
        return scenario.model_copy(update={"traffic": scenario.traffic.model_copy(update={"background": False})})
