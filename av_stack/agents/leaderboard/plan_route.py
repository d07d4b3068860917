"""The route that leads along the evaluator's plan: on the map of the MAP track, or on a map made of the plan itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import least_squares

from av_core.curve import Curve
from av_core.errors import RouteError
from av_core.frames import geodetic_to_map, map_to_carla_points
from av_core.types import Float, GeoReference, Lane, LaneGraph, LaneKey, MarkingColour, MarkingKind, Pose2D
from planning import Route, find_route
from scenarios.leaderboard.building.waypoints import plan as plan_of_waypoints
from scenarios.leaderboard.routes import LeaderboardRoute, Waypoint

LANE_WIDTH_M = 3.5
UNKNOWN_LIMIT_MPS = 30.0 / 3.6
"""Speed limit where no map gives one."""

SPACING_M = 1.0
SAME_M = 0.5
"""Points of the plan nearer to each other than this count as one."""


def route_on_map(graph: LaneGraph, plan: Sequence[Pose2D]) -> Route:
    """The route on the lanes that leads through the points of the plan.

    Raises RouteError where a point is on no lane, or is not connected with the one before.
    """
    places = map_to_carla_points(np.array([(point.x_m, point.y_m) for point in plan]))
    waypoints = tuple(Waypoint(float(x), float(y), 0.0, 0) for x, y in places)
    _, route = plan_of_waypoints(LeaderboardRoute("plan", graph.name, (), waypoints, (), 0), graph)
    return route


def route_on_plan(graph: LaneGraph, plan: Sequence[Pose2D]) -> Route:
    """The route along the one lane of `map_of_plan`."""
    return find_route(graph, plan[0], plan[-1])


def map_of_plan(plan: Sequence[Pose2D], geo: GeoReference) -> LaneGraph:
    """A map of one lane that runs through the plan's points with their headings. It has no signals.

    Between points, which may be 200 m apart, the lane is a smooth guess.
    """
    kept = [plan[0]]
    for place in plan[1:]:
        if np.hypot(place.x_m - kept[-1].x_m, place.y_m - kept[-1].y_m) > SAME_M:
            kept.append(place)
    if len(kept) < 2:
        raise RouteError("the plan of the route has one point only")
    curve = _smooth(kept)
    count = len(curve.s_m)
    key = LaneKey(1, 0, -1)
    lane = Lane(
        key=key,
        points=np.column_stack([curve.x_m, curve.y_m, np.zeros(count)]),
        s_m=curve.s_m,
        yaw_rad=curve.yaw_rad,
        curvature_1pm=curve.curvature_1pm,
        width_m=np.full(count, LANE_WIDTH_M),
        speed_limit_mps=UNKNOWN_LIMIT_MPS,
        is_junction=False,
        successors=(),
        predecessors=(),
        left=None,
        right=None,
        left_change=np.zeros(count, dtype=bool),
        right_change=np.zeros(count, dtype=bool),
        left_marking=(MarkingKind.NONE,) * count,
        right_marking=(MarkingKind.NONE,) * count,
        left_colour=(MarkingColour.WHITE,) * count,
        right_colour=(MarkingColour.WHITE,) * count,
    )
    return LaneGraph("the plan", {key: lane}, (), geo)


def geo_reference(fixes: Float, place: Pose2D) -> GeoReference:
    """The map frame's origin from GNSS fixes (N, 2), degrees of latitude and longitude, of a vehicle that stands there.

    The plan's own degrees do not help: the evaluator computes them by another projection than CARLA's GNSS sensor.
    """
    fix = fixes.mean(axis=0)

    def off_m(reference: Float) -> Float:
        geo = GeoReference(float(reference[0]), float(reference[1]))
        return np.asarray(geodetic_to_map(fix[0], fix[1], geo) - (place.x_m, place.y_m))

    found = least_squares(off_m, fix, x_scale=1e-3)
    return GeoReference(float(found.x[0]), float(found.x[1]))


def _smooth(places: Sequence[Pose2D]) -> Curve:
    xy = np.array([(place.x_m, place.y_m) for place in places])
    chord_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
    ahead = np.array([(np.cos(place.yaw_rad), np.sin(place.yaw_rad)) for place in places])
    wanted = np.linspace(0.0, chord_m[-1], max(2, round(chord_m[-1] / SPACING_M) + 1))
    return Curve.through(*CubicHermiteSpline(chord_m, xy, ahead)(wanted).T)
