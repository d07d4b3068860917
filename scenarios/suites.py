"""Suites: tables of scenarios that are driven one after the other, and the requirements that they have to meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.model import EgoTable, Place, RouteTable, Scenario, TrafficTable, WalkerTable, load_scenario

TOWN_TIMEOUT_S = 300.0
WALKING_MPS = 1.4
"""Speed of the walkers."""

TRAFFIC = TrafficTable(vehicles=18)


Walk = tuple[Place, Place]
"""Start and end of a walk."""


def _town(
    town: str,
    number: int,
    start: Place,
    goal: Place,
    via: tuple[Place, ...] = (),
    patrols: tuple[Walk, ...] = (),
    crossing: Walk | None = None,
) -> Scenario:
    """A drive with traffic, walkers that patrol the pavements, and one that crosses the road before the ego."""
    walkers = [WalkerTable(start=a, end=b, speed_mps=WALKING_MPS, trigger_m=None, patrol=True) for a, b in patrols]
    if crossing is not None:
        walkers.append(WalkerTable(start=crossing[0], end=crossing[1], speed_mps=WALKING_MPS, trigger_m=30.0))
    return Scenario(
        name=f"{town}_{number}",
        map=town,
        seed=number,
        route=RouteTable(start=start, via=via, goal=goal),
        traffic=TRAFFIC,
        walkers=tuple(walkers),
        timeout_s=TOWN_TIMEOUT_S,
    )


MOTORWAY_MPS = 25.0
"""Mean speed that the motorway drive has to reach over its fastest 1000 m."""

# Without traffic, because traffic drives below the limit, and the stack follows rather than overtakes.
MOTORWAY = Scenario(
    name="Town04_motorway",
    seed=0,
    map="Town04",
    ego=EgoTable(stack="motorway"),
    route=RouteTable(start=(231.6, -392.1), via=((-13.1, -129.4), (-11.5, 211.2)), goal=(-486.7, 253.9)),
    timeout_s=TOWN_TIMEOUT_S,
)

TOWNS = (
    _town(
        "Town01",
        1,
        (334.8, 153.7),
        (115.3, 55.5),
        patrols=(((137.4, 190.8), (117.4, 190.8)), ((137.4, 203.5), (117.4, 203.5))),
        crossing=((187.4, 190.8), (187.4, 203.5)),
    ),
    _town(
        "Town01",
        2,
        (177.2, 59.5),
        (88.4, 105.9),
        patrols=(((204.6, -6.4), (184.6, -6.4)), ((204.6, 6.3), (184.6, 6.3))),
        crossing=((299.2, 63.8), (299.2, 51.1)),
    ),
    _town(
        "Town01",
        3,
        (92.4, 176.2),
        (311.7, 2.0),
        via=((246.2, 55.5),),
        patrols=(((224.5, 51.1), (204.5, 51.1)), ((224.5, 63.9), (204.5, 63.9))),
        crossing=((274.1, 137.9), (274.1, 125.1)),
    ),
    _town(
        "Town02",
        1,
        (171.5, 105.4),
        (66.8, 187.6),
        via=((193.7, 271.5),),
        patrols=(((136.2, 310.9), (156.2, 310.9)), ((136.2, 298.2), (156.2, 298.2))),
        crossing=((-11.8, 155.6), (0.9, 155.6)),
    ),
    _town(
        "Town02",
        2,
        (-3.4, 284.6),
        (66.8, 187.6),
        via=((116.7, 306.6),),
        patrols=(((144.1, 310.9), (164.1, 310.9)), ((144.1, 298.2), (164.1, 298.2))),
        crossing=((78.1, 310.9), (78.1, 298.2)),
    ),
    _town(
        "Town02",
        3,
        (170.8, 302.5),
        (-7.4, 280.6),
        via=((89.8, 240.9),),
        patrols=(((107.0, 183.2), (87.0, 183.2)), ((107.0, 196.0), (87.0, 196.0))),
        crossing=((81.2, 245.3), (81.2, 232.5)),
    ),
    _town(
        "Town10HD",
        1,
        (29.3, 137.5),
        (33.4, 130.5),
        patrols=(((37.3, -50.0), (57.3, -50.0)), ((37.3, -75.3), (57.3, -75.3))),
    ),
    _town(
        "Town10HD",
        2,
        (-17.0, 69.7),
        (-87.3, 133.2),
        patrols=(((-34.1, 109.3), (-34.2, 89.3)), ((-59.4, 109.4), (-59.4, 89.4))),
    ),
    _town(
        "Town10HD",
        3,
        (105.3, -33.0),
        (33.4, 134.0),
        patrols=(((0.0, 36.1), (19.8, 36.1)), ((0.0, 5.3), (19.9, 5.4))),
    ),
    MOTORWAY,
)

DEMO_WEATHERS = ("ClearNoon", "HardRainNoon", "ClearNight", "SoftRainSunset", "clear_noon_fog")


def _weathers() -> tuple[Scenario, ...]:
    """The demo's drive in each of `DEMO_WEATHERS`, named after them, with tyres that lose grip on a wet road."""
    demo = load_scenario("town_drive")
    changes = {"handling": "tyres", "ego": demo.ego.model_copy(update={"stack": "tyres"})}
    return tuple(demo.model_copy(update={**changes, "name": name, "weather": name}) for name in DEMO_WEATHERS)


SUITES = {"towns": TOWNS, "weathers": _weathers()}


def shortcomings(scenario: Scenario, figures: Mapping[str, Any]) -> list[str]:
    """The requirements that a drive of a suite does not meet, in words; `figures` as in result.json."""
    found = []
    if figures["error"]:
        found.append(str(figures["error"]))
    if figures["route_completion"] < 1.0:
        found.append(f"{100 * figures['route_completion']:.0f} % of the route ({figures['end']})")
    if figures["collisions"]:
        found.append(f"{figures['collisions']} collisions")
    if figures["red_lights"]:
        found.append(f"{figures['red_lights']} red lights run")
    if figures["stop_signs"]:
        found.append(f"{figures['stop_signs']} stop signs passed")
    if scenario is MOTORWAY and (figures["fastest_1000_m_mps"] or 0.0) < MOTORWAY_MPS:
        found.append(f"fastest 1000 m at {figures['fastest_1000_m_mps']} m/s, needed are {MOTORWAY_MPS}")
    return found
