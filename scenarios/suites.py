"""Suites: the scenarios and Leaderboard routes that are driven under one name."""

from __future__ import annotations

from collections.abc import Sequence
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

PRESETS = (
    *(f"{sky}Noon" for sky in ("Clear", "Cloudy", "Wet", "WetCloudy", "SoftRain", "MidRainy", "HardRain")),
    *(f"{sky}Sunset" for sky in ("Clear", "Cloudy", "Wet", "WetCloudy", "SoftRain", "MidRain", "HardRain")),
    *(f"{sky}Night" for sky in ("Clear", "Cloudy", "Wet", "WetCloudy", "SoftRain", "MidRainy", "HardRain")),
    "DustStorm",
)
"""All weather presets of CARLA 0.9.16 but Default, which is the map's own weather. CARLA itself writes
MidRainSunset, but MidRainyNoon and MidRainyNight."""


@dataclass(frozen=True, slots=True)
class Suite:
    """What is driven: scenarios, and every route of Leaderboard files. `about` is one line for people."""

    about: str
    scenarios: tuple[Scenario, ...] = ()
    route_files: tuple[Path, ...] = ()


def _weathers(weathers: Sequence[str]) -> tuple[Scenario, ...]:
    """The demo's drive in each of `weathers`, named after them, with tyres that lose grip on a wet road."""
    demo = load_scenario("town_drive")
    changes = {"handling": "tyres", "ego": demo.ego.model_copy(update={"stack": "tyres"})}
    return tuple(demo.model_copy(update={**changes, "name": name, "weather": name}) for name in weathers)


SUITES = {
    "quick": Suite("twelve short drives of all kinds on our own maps, twelve minutes at most on two cores",
                   tuple(load_scenario(name) for name in QUICK)),
    "obstacles": Suite("the 46 types of Leaderboard scenarios, each at two places on our own maps",
                       route_files=(OBSTACLES,)),
    "full": Suite("obstacles, and the same types in CARLA's Town01, 02, 04 and 10HD (--maps)",
                  route_files=(OBSTACLES, OBSTACLES_IN_TOWNS)),
    "towns": Suite("three routes each in Town01, Town02 and Town10HD, and Town04's motorway",
                   tuple(load_scenario(name) for name in TOWNS)),
    "weathers": Suite("the demo in sun, hard rain, night, wet sunset and fog", _weathers(DEMO_WEATHERS)),
    "presets": Suite("the demo in each of CARLA's 22 weather presets", _weathers(PRESETS)),
}  # fmt: skip

RANDOM_ABOUT = "random routes of 0.5 to 1.5 km through the towns of --map, with traffic and weather, from --seed"
