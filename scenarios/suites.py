"""Suites: tables of drives that are run one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.model import EgoTable, Place, RouteTable, Scenario, TrafficTable

TOWN_TIMEOUT_S = 300.0
TRAFFIC = TrafficTable(vehicles=18)


def _town(town: str, number: int, start: Place, goal: Place, via: tuple[Place, ...] = ()) -> Scenario:
    route = RouteTable(start=start, via=via, goal=goal)
    return Scenario(
        name=f"{town}_{number}", map=town, seed=number, route=route, traffic=TRAFFIC, timeout_s=TOWN_TIMEOUT_S
    )


MOTORWAY_MPS = 25.0
"""What the fastest 1000 m of the motorway drive shall reach at least."""

MOTORWAY = Scenario(
    name="Town04_motorway",
    seed=0,
    map="Town04",
    ego=EgoTable(stack="motorway"),
    route=RouteTable(start=(231.6, -392.1), via=((-13.1, -129.4), (-11.5, 211.2)), goal=(-486.7, 253.9)),
    timeout_s=TOWN_TIMEOUT_S,
)

TOWNS = (
    _town("Town01", 1, (334.8, 153.7), (115.3, 55.5)),
    _town("Town01", 2, (177.2, 59.5), (88.4, 105.9)),
    _town("Town01", 3, (92.4, 176.2), (311.7, 2.0), via=((246.2, 55.5),)),
    _town("Town02", 1, (171.5, 105.4), (66.8, 187.6), via=((193.7, 271.5),)),
    _town("Town02", 2, (-3.4, 284.6), (66.8, 187.6), via=((116.7, 306.6),)),
    _town("Town02", 3, (170.8, 302.5), (-7.4, 280.6), via=((89.8, 240.9),)),
    _town("Town10HD", 1, (29.3, 137.5), (33.4, 130.5)),
    _town("Town10HD", 2, (-17.0, 69.7), (-87.3, 133.2)),
    _town("Town10HD", 3, (105.3, -33.0), (33.4, 134.0)),
    MOTORWAY,
)

SUITES = {"towns": TOWNS}


def shortcomings(scenario: Scenario, figures: Mapping[str, Any]) -> list[str]:
    """What a drive of a suite lacks, in words; `figures` as in result.json."""
    found = []
    if figures["error"]:
        found.append(str(figures["error"]))
    if figures["route_completion"] < 1.0:
        found.append(f"{100 * figures['route_completion']:.0f} % of the route ({figures['end']})")
    if figures["collisions"]:
        found.append(f"{figures['collisions']} collisions")
    if scenario is MOTORWAY and (figures["fastest_1000_m_mps"] or 0.0) < MOTORWAY_MPS:
        found.append(f"fastest 1000 m at {figures['fastest_1000_m_mps']} m/s, needed are {MOTORWAY_MPS}")
    return found
