"""The routes of a file, and routes files made of places for types of scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from av_stack.server_process import embedded_town
from av_stack.world.carla.map import read_lane_graph
from scenarios.leaderboard.placing.find import find_places
from scenarios.leaderboard.route_writer import to_xml
from scenarios.leaderboard.routes import LeaderboardRoute

SEED = 1


@dataclass(frozen=True, slots=True)
class JudgedRoute:
    route_id: str
    town: str
    types: str


def routes_in(file: Path) -> list[JudgedRoute]:
    """The routes of a file, with the types of their scenarios."""
    return [
        JudgedRoute(
            route.get("id", ""),
            route.get("town", ""),
            ", ".join(scenario.get("type", "") for scenario in route.iter("scenario")),
        )
        for route in ElementTree.parse(file).iter("route")
    ]


def place(types: Sequence[str], maps: Path, town: str) -> str:
    """The text of a routes file with one place for each type that the map has room for; says which have none."""
    graph = read_lane_graph(embedded_town(town) or maps / f"{town}.xodr")
    found: list[LeaderboardRoute] = []
    for name in types:
        places = find_places(name, graph, SEED, 1)
        if places.refusal:
            print(places.refusal, flush=True)
        found += [replace(route, route_id=str(len(found)), town=town) for route in places.routes]
    return to_xml(found)
