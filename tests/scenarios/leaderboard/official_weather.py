"""Writes official_weather.json: the weather that CARLA's own code computes along a route, which the tests compare with.

    python -m tests.scenarios.leaderboard.official_weather LEADERBOARD SCENARIO_RUNNER

The arguments are checkouts of carla-simulator/leaderboard (leaderboard-2.1) and carla-simulator/scenario_runner
(v0.9.16). Their code runs as it is, on the real `carla` wheel; modules that it imports and does not need here are
empty. The route is a straight line of 101 points, so that point i is at i %.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import carla

from scenarios.leaderboard.weather import WEATHER_NAMES

STORED = Path(__file__).with_name("official_weather.json")
PERCENTAGES = (0, 1, 10, 25, 33, 50, 51, 75, 99, 100)

CASES = {
    "none": "",
    "one": '<weathers><weather route_percentage="0" wetness="30" fog_density="7.5" dust_storm="20"/></weathers>',
    "one in the middle": '<weathers><weather route_percentage="40" precipitation="80"/></weathers>',
    "two": '<weathers><weather route_percentage="0" cloudiness="5" sun_altitude_angle="90" wind_intensity="10"/>'
    '<weather route_percentage="100" cloudiness="90.5" sun_altitude_angle="-30" fog_density="20"/></weathers>',
    "five": '<weathers><weather route_percentage="0" sun_azimuth_angle="-1"/>'
    '<weather route_percentage="10" precipitation="100" precipitation_deposits="50"/>'
    '<weather route_percentage="33.3" fog_distance="30" fog_falloff="0.2" scattering_intensity="1"/>'
    '<weather route_percentage="75" mie_scattering_scale="0.03" rayleigh_scattering_scale="0.2"/>'
    '<weather route_percentage="100" dust_storm="60" wetness="10"/></weathers>',
    "unsorted": '<weathers><weather route_percentage="100" cloudiness="100"/>'
    '<weather route_percentage="0" cloudiness="0"/><weather route_percentage="60" cloudiness="10"/></weathers>',
    "beyond 100": '<weathers><weather route_percentage="0" wetness="0"/><weather route_percentage="120" wetness="60"/>'
    "</weathers>",
    "first not at 0": '<weathers><weather route_percentage="20"/><weather route_percentage="100"/></weathers>',
    "last not at 100": '<weathers><weather route_percentage="0"/><weather route_percentage="80"/></weathers>',
    "same percentage": '<weathers><weather route_percentage="0"/><weather route_percentage="50"/>'
    '<weather route_percentage="50"/><weather route_percentage="100"/></weathers>',
    "empty": "<weathers/>",
}


class _Anything:
    """Stands in for all names of the modules that the official code imports and does not need here."""

    def __init__(self, *arguments: object, **named: object) -> None: ...

    def __getattr__(self, name: str) -> type[_Anything]:
        return _Anything

    @staticmethod
    def get_world() -> None: ...


def _stand_in(name: str) -> None:
    module = ModuleType(name)
    module.__getattr__ = lambda attribute: _Anything  # type: ignore[method-assign]
    sys.modules[name] = module


def official_code(leaderboard: Path, scenario_runner: Path) -> tuple[Any, Any]:
    """(RouteParser, RouteWeatherBehavior) of the checkouts."""
    for name in (
        "ephem", "py_trees", "py_trees.behaviour", "agents", "agents.navigation", "agents.navigation.local_planner",
        "srunner.scenariomanager.carla_data_provider", "srunner.scenariomanager.timer",
        "srunner.scenarioconfigs.route_scenario_configuration",
    ):  # fmt: skip
        _stand_in(name)
    sys.modules["py_trees"].behaviour = sys.modules["py_trees.behaviour"]  # type: ignore[attr-defined]
    sys.modules["py_trees.behaviour"].Behaviour = _Anything  # type: ignore[attr-defined]
    sys.path[:0] = [str(leaderboard), str(scenario_runner)]
    from leaderboard.utils.route_parser import RouteParser  # type: ignore[import-not-found]
    from srunner.scenariomanager.weather_sim import RouteWeatherBehavior  # type: ignore[import-not-found]

    return RouteParser, RouteWeatherBehavior


def official_weathers(parser: Any, behavior: Any, route_xml: str) -> list[dict[str, float]]:
    """The weather at each of `PERCENTAGES`, as the official code sets it."""
    from xml.etree import ElementTree

    keyframes = parser.parse_weather(ElementTree.fromstring(route_xml))
    if len(keyframes) == 1:
        found = [keyframes[0][1]] * 101
    else:
        line = [(carla.Transform(carla.Location(x=float(i))), None) for i in range(101)]
        found = behavior(None, line, keyframes)._route_weathers
    return [{name: getattr(found[i], name) for name in WEATHER_NAMES} for i in PERCENTAGES]


def main() -> None:
    parser, behavior = official_code(Path(sys.argv[1]), Path(sys.argv[2]))
    stored = []
    for name, xml in CASES.items():
        case: dict[str, Any] = {"name": name, "xml": xml}
        try:
            weathers = official_weathers(parser, behavior, f"<route>{xml}</route>")
            case["weathers"] = {str(at): weather for at, weather in zip(PERCENTAGES, weathers, strict=True)}
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            case["error"] = type(error).__name__
        stored.append(case)
    STORED.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
