"""The lane-level route of the ego through the places of a scenario."""

from __future__ import annotations

from av_core.errors import RouteError
from av_core.frames import carla_to_map_points
from av_core.types import LaneGraph, Pose2D
from planning import PlanningConfig, Route, find_route, pose_on_lane
from scenarios.model import Place, RouteTable


def ego_route(graph: LaneGraph, table: RouteTable, config: PlanningConfig) -> Route:
    """The route from place to place.

    Raises RouteError where a place is not on a lane, or no route leads from one place to the next.
    """
    places = (table.start, *table.via, table.goal)
    names = ("start", *(f"via {number}" for number in range(1, len(places) - 1)), "goal")
    poses = [_on_lane(graph, place, name) for place, name in zip(places, names, strict=True)]
    return find_route(graph, poses[0], poses[-1], poses[1:-1], config.route)


def _on_lane(graph: LaneGraph, place: Place, name: str) -> Pose2D:
    """The pose on the lane nearest to a place of the scenario. Places, also in error messages, are in CARLA's frame."""
    try:
        return pose_on_lane(graph, *(float(value) for value in carla_to_map_points(place)))
    except RouteError:
        raise RouteError(
            f"route {name} ({place[0]:.1f}, {place[1]:.1f}) is not on a driving lane of {graph.name}"
        ) from None
