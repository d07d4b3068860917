"""Triggers off the route, whose scenarios the official code drops with a warning.

The route is the one that planning finds on the town's lanes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from av_core.config import shortened
from av_core.errors import RouteError
from av_core.frames import carla_to_map_points, map_to_carla_points
from av_core.types import Float, LaneGraph, LaneKey
from planning import Route, find_route, pose_on_lane
from scenarios.leaderboard.lint_placement import TRIGGER_DISTANCE_M, TRIGGER_HEADING_DEG, heading_error_deg
from scenarios.leaderboard.routes import LeaderboardRoute, Problem, Trigger

HEIGHT_MAX_M = 2.0
"""Height above the road up to which the official code accepts a trigger."""

SPACING_M = 0.5

WAYPOINTS_MAX = 2000
"""Most waypoints of a route that is compared with the road; the official routes have up to 61."""


def road_problems(route: LeaderboardRoute, graph: LaneGraph) -> Iterator[Problem]:
    """Waypoints that are on no lane, a route that does not exist, and triggers off the route."""
    if len(route.waypoints) > WAYPOINTS_MAX:
        yield Problem(
            route.line,
            f"{len(route.waypoints)} waypoints are too many to compare the route with the road; allowed are "
            f"{WAYPOINTS_MAX}",
        )
        return
    poses = []
    for waypoint in route.waypoints:
        try:
            poses.append(pose_on_lane(graph, *map(float, carla_to_map_points((waypoint.x_m, waypoint.y_m)))))
        except RouteError:
            place = f"({waypoint.x_m:.1f}, {waypoint.y_m:.1f})"
            yield Problem(waypoint.line, f"the waypoint {place} is not on a driving lane of {shortened(route.town)}")
    if len(poses) < len(route.waypoints) or len(poses) < 2:
        return
    try:
        found = find_route(graph, poses[0], poses[-1], poses[1:-1])
    except RouteError as error:
        yield Problem(route.line, f"no route leads through the waypoints: {error}")
        return
    centres = LaneCentres(found, graph)
    for scenario in route.scenarios:
        wrong = centres.off_route(scenario.trigger)
        if wrong:
            yield Problem(
                scenario.trigger.line,
                f"{shortened(scenario.name)}: {wrong}; the official code drops it unless the trigger is within "
                f"{TRIGGER_DISTANCE_M:g} m and {TRIGGER_HEADING_DEG:g} degrees of the route",
            )


class LaneCentres:
    """The centres of all lanes that a route uses. During a lane change both count, as the official route jumps."""

    def __init__(self, route: Route, graph: LaneGraph) -> None:
        rows = _points(route, graph)
        self._xy_m, self._z_m = map_to_carla_points(rows[:, :2]), rows[:, 2]
        self._yaw_deg = -np.degrees(rows[:, 3])
        self._tree = cKDTree(self._xy_m)

    def off_route(self, trigger: Trigger) -> str:
        """The reason why the trigger is off the route, in words; empty if it is on the route."""
        here = (trigger.x_m, trigger.y_m)
        near = self._tree.query_ball_point(here, TRIGGER_DISTANCE_M)
        if not near:
            return f"the trigger is {self._tree.query(here)[0]:.1f} m from the route"
        errors_deg = [heading_error_deg(trigger.yaw_deg, float(self._yaw_deg[row])) for row in near]
        if min(errors_deg) >= TRIGGER_HEADING_DEG:
            return f"the trigger's yaw is {min(errors_deg):.0f} degrees off the route's"
        above_m = trigger.z_m - max(float(self._z_m[row]) for row in near)
        return f"the trigger is {above_m:.1f} m above the road" if above_m >= HEIGHT_MAX_M else ""


def _points(route: Route, graph: LaneGraph) -> Float:
    """Points about `SPACING_M` apart on the lanes that a route uses: (N, 4) x, y, z (m) and heading (rad)."""
    spans: list[tuple[LaneKey, float, float]] = []
    for piece in route.pieces:
        spans.append((piece.lane, piece.start_s_m, piece.end_s_m))
        if piece.change_from is not None:
            spans.append((piece.change_from, piece.change_start_s_m, piece.change_end_s_m))
    parts = []
    for key, start_s_m, end_s_m in spans:
        lane = graph.lanes[key]
        count = max(2, int(np.ceil((end_s_m - start_s_m) / SPACING_M)) + 1)
        s_m = np.linspace(start_s_m, end_s_m, count, dtype=np.float64)
        x_m, y_m, yaw_rad = lane.curve.pose_at(s_m)
        parts.append(np.stack([x_m, y_m, np.interp(s_m, lane.s_m, lane.points[:, 2]), yaw_rad], axis=1))
    return np.concatenate(parts)
