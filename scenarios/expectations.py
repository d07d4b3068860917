"""What a scenario requires of a drive, and the requirements that a drive fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from av_core.config import Strict
from scenarios.script.keys import Mps, Name, Seconds

Count = Annotated[int, Field(ge=0)]


class Expectations(Strict):
    """The requirements on a drive: least route completion, largest number of infractions, and the following.

    * `score`: least driving score.
    * `fastest_1000_m_mps`: least mean speed over the fastest 1000 m.
    * `time_s`: longest time.
    * `events`: events of the script that must have happened.
    """

    route_completion: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    collisions: Count = 0
    red_lights: Count = 0
    stop_signs: Count = 0
    scenario_timeouts: Count = 0
    failed_yields: Count = 0
    score: Annotated[float, Field(ge=0.0, le=100.0)] | None = None
    fastest_1000_m_mps: Mps | None = None
    time_s: Seconds | None = None
    events: tuple[Name, ...] = ()

    def shortcomings(self, figures: Mapping[str, Any]) -> list[str]:
        """The requirements that a drive fails, as sentences; `figures` as in result.json."""
        found = [str(figures["error"])] if figures["error"] else []
        if figures["route_completion"] < self.route_completion:
            found.append(f"{100 * figures['route_completion']:.0f} % of the route ({figures['end']})")
        for key, words in (
            ("collisions", "collisions"),
            ("red_lights", "red lights run"),
            ("stop_signs", "stop signs passed"),
            ("scenario_timeouts", "scenarios not finished in time"),
            ("failed_yields", "emergency vehicles not let pass"),
        ):
            if figures[key] > getattr(self, key):
                found.append(f"{figures[key]} {words}")
        if self.score is not None and figures["driving_score"] < self.score:
            found.append(f"score {figures['driving_score']:.1f}, expected {self.score:g}")
        fastest_mps = figures["fastest_1000_m_mps"] or 0.0
        if self.fastest_1000_m_mps is not None and fastest_mps < self.fastest_1000_m_mps:
            found.append(f"fastest 1000 m at {fastest_mps:.1f} m/s, expected {self.fastest_1000_m_mps:g}")
        if self.time_s is not None and figures["time_s"] > self.time_s:
            found.append(f"took {figures['time_s']:.0f} s, allowed are {self.time_s:g}")
        found += [
            f"{part['name']} could not be played: the place of {', '.join(part['missing'])} was taken"
            for part in figures.get("parts", ())
            if part["missing"]
        ]
        found += [f"event {name} did not happen" for name in self.events if name not in figures["events"]]
        return found
