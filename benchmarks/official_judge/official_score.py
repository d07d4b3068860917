"""Scores random lists of infractions with the CARLA Leaderboard's own program, for the test of our two formulas.

    python -m benchmarks.official_judge.official_score --leaderboard-20 DIR --leaderboard-21 DIR --scenario-runner DIR \
        --out FILE

It takes checkouts of the branches leaderboard-2.0 and leaderboard-2.1 of
https://github.com/carla-simulator/leaderboard, and of https://github.com/carla-simulator/scenario_runner. It feeds each
list to `StatisticsManager` as a finished route, and writes the lists with both scores. `dictor` and `requests`, which
that program imports to resume and to upload results, are not needed and replaced by empty modules.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import carla

from scenarios.judging.score import Infractions

SEED = 2
COUNT = 1000

DIGITS = 12
"""Decimals that the program keeps; its own setting of 6 would hide small differences."""

EVENTS = {
    "collisions_walker": "COLLISION_PEDESTRIAN",
    "collisions_vehicle": "COLLISION_VEHICLE",
    "collisions_static": "COLLISION_STATIC",
    "red_lights": "TRAFFIC_LIGHT_INFRACTION",
    "stop_signs": "STOP_INFRACTION",
    "scenario_timeouts": "SCENARIO_TIMEOUT",
    "failed_yields": "YIELD_TO_EMERGENCY_VEHICLE",
}
"""Names of the Leaderboard's events, by the field of `Infractions`."""


def random_case(rng: random.Random) -> tuple[float, Infractions]:
    """A route completion in percent and a list of infractions; each kind is absent in about half of the cases."""
    counts = {name: rng.randint(1, 4) if rng.random() < 0.5 else 0 for name in EVENTS}
    slow = tuple(round(rng.uniform(0.0, 100.0), 2) for _ in range(rng.choice((0, 0, 1, 2, 3, 4))))
    outside = round(rng.random(), 6) if rng.random() < 0.5 else 0.0
    completion = 100.0 if rng.random() < 0.5 else round(rng.uniform(0.0, 100.0), 2)
    return completion, Infractions(**counts, minimum_speed_percent=slow, outside_lane_share=outside)


class Official:
    """`StatisticsManager` of one branch, imported from its checkout."""

    def __init__(self, checkout: Path) -> None:
        for name in [name for name in sys.modules if name.split(".")[0] == "leaderboard"]:
            del sys.modules[name]  # another branch's
        sys.path.insert(0, str(checkout))
        try:
            import leaderboard.utils.statistics_manager as statistics  # type: ignore[import-not-found]
            from srunner.scenariomanager import traffic_events  # type: ignore[import-not-found]
        finally:
            sys.path.remove(str(checkout))
        statistics.ROUND_DIGITS_SCORE = DIGITS
        self._statistics, self._events = statistics, traffic_events

    def score(self, completion: float, infractions: Infractions) -> float:
        """The driving score of a finished route."""
        events = [self._event("ROUTE_COMPLETION", route_completed=completion)]
        for field, kind in EVENTS.items():
            events += [self._event(kind) for _ in range(getattr(infractions, field))]
        events += [self._event("MIN_SPEED_INFRACTION", percentage=p) for p in infractions.minimum_speed_percent]
        if infractions.outside_lane_share:
            share = 100.0 * infractions.outside_lane_share
            events.append(self._event("OUTSIDE_ROUTE_LANES_INFRACTION", percentage=share))
        ends = [carla.Transform(carla.Location(x, 0.0, 0.0)) for x in (0.0, 100.0)]
        scenario = SimpleNamespace(
            route=[(end, None) for end in ends],
            timeout_node=SimpleNamespace(timeout=False),
            get_criteria=lambda: [SimpleNamespace(events=events)],
        )
        manager = self._statistics.StatisticsManager("", "")
        manager.create_route_data("RouteScenario_0_rep0", 0)
        manager.set_scenario(scenario)
        manager.compute_route_statistics(0)
        return float(manager._results.checkpoint.records[0].scores["score_composed"])

    def _event(self, kind: str, **values: float) -> Any:
        return self._events.TrafficEvent(self._events.TrafficEventType[kind], 0, kind, values)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.official_judge.official_score", description=__doc__)
    for name in ("leaderboard-20", "leaderboard-21", "scenario-runner"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="folder of a checkout")
    parser.add_argument("--out", type=Path, required=True, help="writes the lists and scores to this file")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.scenario_runner))
    for name in ("dictor", "requests"):
        sys.modules[name] = ModuleType(name)
    sys.modules["dictor"].__dict__["dictor"] = None
    rng = random.Random(SEED)
    cases = [random_case(rng) for _ in range(COUNT)]
    scores = []
    for checkout in (arguments.leaderboard_20, arguments.leaderboard_21):
        official = Official(checkout)
        scores.append([official.score(*case) for case in cases])
    columns = ["completion_percent", *asdict(Infractions()), "score_20", "score_21"]
    rows = [
        json.dumps([completion, *asdict(infractions).values(), *both])
        for (completion, infractions), *both in zip(cases, *scores, strict=True)
    ]
    head = json.dumps({"seed": SEED, "columns": columns})[:-1]
    arguments.out.write_text(f'{head}, "rows": [\n' + ",\n".join(rows) + "\n]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
