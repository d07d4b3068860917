"""Suites: the scenarios and Leaderboard routes that are driven under one name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scenarios.model import Scenario, load_scenario

FOLDER = Path(__file__).parent

TOWNS = (
    *(f"Town01_{number}" for number in (1, 2, 3)),
    *(f"Town02_{number}" for number in (1, 2, 3)),
    *(f"Town10HD_{number}" for number in (1, 2, 3)),
    "Town04_motorway",
)

OBSTACLES = FOLDER / "leaderboard" / "suites" / "obstacles.xml"
"""Routes of one scenario each on our own maps; `scripts/suite_routes.py` says how they were chosen."""

OBSTACLES_IN_TOWNS = FOLDER / "leaderboard" / "suites" / "towns.xml"
"""The same in CARLA's Town01, Town02, Town04 and Town10HD."""

QUICK = tuple(sorted(path.stem for path in (FOLDER / "quick").glob("*.yaml")))

DEMO_WEATHERS = ("ClearNoon", "HardRainNoon", "ClearNight", "SoftRainSunset", "clear_noon_fog")


@dataclass(frozen=True, slots=True)
class Suite:
    """What is driven: scenarios, and every route of Leaderboard files. `about` is one line for people."""

    about: str
    scenarios: tuple[Scenario, ...] = ()
    route_files: tuple[Path, ...] = ()


def _weathers() -> tuple[Scenario, ...]:
    """The demo's drive in each of `DEMO_WEATHERS`, named after them, with tyres that lose grip on a wet road."""
    demo = load_scenario("town_drive")
    changes = {"handling": "tyres", "ego": demo.ego.model_copy(update={"stack": "tyres"})}
    return tuple(demo.model_copy(update={**changes, "name": name, "weather": name}) for name in DEMO_WEATHERS)


SUITES = {
    "quick": Suite("twelve short drives of all kinds on our own maps, twelve minutes at most on two cores",
                   tuple(load_scenario(name) for name in QUICK)),
    "obstacles": Suite("the 46 types of Leaderboard scenarios, each at two places on our own maps",
                       route_files=(OBSTACLES,)),
    "full": Suite("obstacles, and the same types in CARLA's Town01, 02, 04 and 10HD (--maps)",
                  route_files=(OBSTACLES, OBSTACLES_IN_TOWNS)),
    "towns": Suite("three routes each in Town01, Town02 and Town10HD, and Town04's motorway",
                   tuple(load_scenario(name) for name in TOWNS)),
    "weathers": Suite("the demo in sun, hard rain, night, wet sunset and fog", _weathers()),
}  # fmt: skip

RANDOM_ABOUT = "random routes of 0.5 to 1.5 km through the towns of --map, with traffic and weather, from --seed"
