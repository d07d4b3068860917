"""Random routes are as long as they should be, on the road, and the same for the same seed."""

from __future__ import annotations

import pytest

from av_core.errors import ConfigError
from av_core.types import LaneGraph
from av_stack.mission import mission_route
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from av_stack.world.carla.weather import weather_presets
from scenarios import random_routes
from scenarios.random_routes import WEATHERS, Length, random_scenario
from scenarios.suites import SUITES
from sim_configs.load import load_stack

OWN_MAPS = embedded_map_files()


@pytest.fixture(scope="module", params=["city_grid", "country_road"])
def town(request: pytest.FixtureRequest) -> LaneGraph:
    return read_lane_graph(OWN_MAPS[request.param])


def test_routes_are_long_enough_and_the_stack_finds_them(town: LaneGraph) -> None:
    drives = [random_scenario(town, town.name, 3, number) for number in range(8)]
    for drive in drives:
        route = mission_route(town, drive, load_stack(drive.ego.stack).planning)
        assert 500.0 <= route.length_m <= 1500.0
        assert drive.timeout_s > route.length_m / 3.0
    assert len({(drive.route, drive.weather, drive.seed) for drive in drives}) == len(drives)
    assert {drive.weather for drive in drives} <= set(weather_presets())


def test_the_same_seed_gives_the_same_drives(town: LaneGraph) -> None:
    one = random_scenario(town, town.name, 3, 5)
    assert one == random_scenario(town, town.name, 3, 5)
    assert one != random_scenario(town, town.name, 4, 5)


def test_a_town_without_such_a_route_says_so(town: LaneGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_routes, "TRIES_MAX", 20)
    with pytest.raises(ConfigError, match="none of 20 random routes is 90000 to 99000 m long"):
        random_scenario(town, town.name, 3, 0, Length(90_000.0, 99_000.0))


def test_every_weather_is_a_preset() -> None:
    assert set(WEATHERS) < set(weather_presets())


def test_quick_has_twelve_short_drives_on_our_own_maps() -> None:
    drives = SUITES["quick"].scenarios
    assert len(drives) == 12
    assert {drive.map for drive in drives} == {"city_grid", "country_road", "motorway"}
    assert len({drive.weather for drive in drives}) >= 5
    assert sum(drive.timeout_s for drive in drives) <= 12 * 60.0
