"""Written route files read back as the same routes, also by the official parser's rules."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from scenarios.leaderboard.route_writer import to_xml
from scenarios.leaderboard.route_xml import survey
from scenarios.leaderboard.routes import LeaderboardRoute
from scenarios.leaderboard.routes import RouteFile as File
from tests.scenarios.leaderboard.route_text import VALID, route_files


def without_lines(route: LeaderboardRoute) -> LeaderboardRoute:
    scenarios = [
        replace(
            scenario,
            line=0,
            trigger=replace(scenario.trigger, line=0),
            parameters=tuple(replace(parameter, line=0) for parameter in scenario.parameters),
        )
        for scenario in route.scenarios
    ]
    return replace(
        route,
        line=0,
        weather=tuple(replace(keyframe, line=0) for keyframe in route.weather),
        waypoints=tuple(replace(waypoint, line=0) for waypoint in route.waypoints),
        scenarios=tuple(scenarios),
    )


@given(route_files())
@settings(max_examples=150, deadline=None)
def test_random_routes_read_back_as_they_were(file: File) -> None:
    found = survey(to_xml(file.routes).encode(), "routes.xml")
    assert (found.ignored, found.problems) == ((), ())
    assert [without_lines(route) for route in found.routes] == [without_lines(route) for route in file.routes]


def test_the_text_is_for_people_too() -> None:
    text = to_xml(survey(VALID.encode(), "routes.xml").routes)
    assert text.splitlines()[1:] == VALID.splitlines()
