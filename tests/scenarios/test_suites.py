"""The suites' drives are long enough, start where they say, and are judged without mercy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest

from av_core.frames import carla_to_map_points
from av_stack.mission import mission_route
from av_stack.world.carla.map import lane_graph
from scenarios.judging.lane_locator import LaneLocator
from scenarios.model import load_scenario
from scenarios.suites import SUITES
from sim_configs.load import load_stack

TOWNS = SUITES["towns"].scenarios
MOTORWAY = load_scenario("Town04_motorway")
MOTORWAY_MPS = 25.0

GOOD: dict[str, Any] = {
    "error": None,
    "end": "arrived",
    "route_completion": 1.0,
    "collisions": 0,
    "red_lights": 0,
    "stop_signs": 0,
    "scenario_timeouts": 0,
    "failed_yields": 0,
    "fastest_1000_m_mps": MOTORWAY_MPS + 0.1,
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"route_completion": 0.99, "end": "time-out after 300 s"}, "99 % of the route"),
        ({"collisions": 1}, "1 collisions"),
        ({"red_lights": 2}, "2 red lights run"),
        ({"stop_signs": 1}, "1 stop signs passed"),
        ({"scenario_timeouts": 1}, "1 scenarios not finished in time"),
        ({"failed_yields": 1}, "1 emergency vehicles not let pass"),
        ({"error": "the server went away"}, "went away"),
        ({"fastest_1000_m_mps": MOTORWAY_MPS - 0.1}, "expected 25"),
        ({"fastest_1000_m_mps": None}, "expected 25"),
    ],
)
def test_what_a_drive_lacks_is_said(change: dict[str, Any], words: str) -> None:
    assert MOTORWAY.expect.shortcomings(GOOD) == []
    parts = [{"name": "a", "missing": ("a_car", "a_van")}, {"name": "b", "missing": ()}]
    assert MOTORWAY.expect.shortcomings({**GOOD, "parts": parts}) == [
        "a could not be played: the place of a_car, a_van was taken"
    ]
    assert words in " ".join(MOTORWAY.expect.shortcomings({**GOOD, **change}))


def test_three_drives_in_each_town_and_the_motorway() -> None:
    assert Counter(scenario.map for scenario in TOWNS) == {"Town01": 3, "Town02": 3, "Town10HD": 3, "Town04": 1}
    assert len({scenario.name for scenario in TOWNS}) == len(TOWNS)
    assert all(
        scenario.traffic.vehicles >= 15 and scenario.walkers for scenario in TOWNS if scenario.name != MOTORWAY.name
    )


@pytest.mark.parametrize("town", ["Town01", "Town02", "Town04", "Town10HD"])
def test_routes_are_long_enough_and_walkers_start_off_the_road(town: str, data_dir: Path) -> None:
    graph = lane_graph(carla.Map(town, (data_dir / "maps" / f"{town}.xodr").read_text()))
    locator = LaneLocator(graph)
    for scenario in (scenario for scenario in TOWNS if scenario.map == town):
        route = mission_route(graph, scenario, load_stack(scenario.ego.stack).planning)
        assert route.length_m >= (1000.0 if scenario.name == MOTORWAY.name else 500.0)
        for walker in scenario.walkers:
            x, y = np.asarray(carla_to_map_points(walker.start)).reshape(-1)
            assert not any(place.is_inside for place in locator.places(float(x), float(y), 0.0)), scenario.name
