"""Makes the drive of one route of a Leaderboard file: reads the file, selects the route, finds its map."""

from __future__ import annotations

from pathlib import Path

from av_core.config import shortened
from av_core.errors import ConfigError, RouteError
from av_core.types import LaneGraph
from av_stack.checks import check_map
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from av_stack.world.factory import served_lane_graph
from av_stack.world.spec import Address
from scenarios.leaderboard.drive import scenario_of
from scenarios.leaderboard.route_xml import read_routes
from scenarios.leaderboard.routes import LeaderboardRoute
from scenarios.leaderboard.subset import select_routes
from scenarios.model import Scenario


def load_route(path: Path, routes: str | None, maps: Path | None, address: Address | None, seed: int) -> Scenario:
    """The scenario of the one route that `routes` names, or of the file's only route.

    Raises ConfigError for a file that cannot be read, an unknown id, several routes, and an unknown town; RouteError if
    no path leads through the waypoints.
    """
    route = one_route(path, routes)
    try:
        return scenario_of(route, _lane_graph(route.town, maps, address), seed)
    except (ConfigError, RouteError) as error:
        raise type(error)(f"{path}:{route.line}: route {shortened(route.route_id)}: {error}") from None


def one_route(path: Path, routes: str | None) -> LeaderboardRoute:
    """The route that `routes` names, or the only one of the file. Raises ConfigError."""
    found = read_routes(path).routes
    chosen = found if routes is None else select_routes(found, routes)
    if len(chosen) != 1:
        what = f"{path} has {len(chosen)} routes" if routes is None else f"--routes {routes} names {len(chosen)} routes"
        more = "" if routes is None else f" --routes {routes}"
        raise ConfigError(f"{what}; choose one with --routes ID, or drive all with av-stack suite {path}{more}")
    return chosen[0]


def _lane_graph(town: str, maps: Path | None, address: Address | None) -> LaneGraph:
    """The lanes of a town: from its file, or else from the server at `address`."""
    files = embedded_map_files(maps)
    file = files.get(town) or files.get(town.removesuffix("_Opt"))
    if file is not None:
        return read_lane_graph(file)
    if address is not None:
        return served_lane_graph(address, town)
    check_map(town, sorted(files))
    raise AssertionError(town)  # check_map knows the same names
