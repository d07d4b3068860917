"""Suites: the scenarios that are driven one after the other under one name."""

from __future__ import annotations

from scenarios.model import Scenario, load_scenario

TOWNS = (
    *(f"Town01_{number}" for number in (1, 2, 3)),
    *(f"Town02_{number}" for number in (1, 2, 3)),
    *(f"Town10HD_{number}" for number in (1, 2, 3)),
    "Town04_motorway",
)

DEMO_WEATHERS = ("ClearNoon", "HardRainNoon", "ClearNight", "SoftRainSunset", "clear_noon_fog")


def _weathers() -> tuple[Scenario, ...]:
    """The demo's drive in each of `DEMO_WEATHERS`, named after them, with tyres that lose grip on a wet road."""
    demo = load_scenario("town_drive")
    changes = {"handling": "tyres", "ego": demo.ego.model_copy(update={"stack": "tyres"})}
    return tuple(demo.model_copy(update={**changes, "name": name, "weather": name}) for name in DEMO_WEATHERS)


SUITES = {"towns": tuple(load_scenario(name) for name in TOWNS), "weathers": _weathers()}
