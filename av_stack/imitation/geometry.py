"""The points that the imitation network gets and learns, in the frame of the car or of one beside it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from av_core.frames import map_to_vehicle, vehicle_to_map
from av_core.types import CameraModel, EgoState, Float, Plan, Pose2D
from perception.imitation.samples import PATH_AHEAD_M, ROUTE_AHEAD_M
from planning import Route, RouteTracker

REJOIN_M = 10.0
"""Distance over which the path returns to the route beyond the end of a plan."""

SEARCH_M = 15.0
"""Half the length of the route that is searched for the end of a plan, around the place given by the plan's length."""


def beside(pose: Pose2D, left_m: float, turned_rad: float) -> Pose2D:
    """The pose `left_m` to the left of `pose`, turned to the left."""
    x, y = vehicle_to_map((0.0, left_m), pose)
    return Pose2D(float(x), float(y), pose.yaw_rad + turned_rad)


def mounted_beside(camera: CameraModel, name: str, left_m: float, turned_rad: float) -> CameraModel:
    """`camera` where it would be on a car `left_m` to the left and turned: a mount on the car itself."""
    cos, sin = math.cos(turned_rad), math.sin(turned_rad)
    return replace(
        camera,
        name=name,
        x_m=cos * camera.x_m - sin * camera.y_m,
        y_m=left_m + sin * camera.x_m + cos * camera.y_m,
        yaw_rad=camera.yaw_rad + turned_rad,
    )


def route_points(route: Route, tracker: RouteTracker, ego: EgoState) -> Float:
    """Points (routes, 2) of the route at the distances `ROUTE_AHEAD_M`, map frame; beyond its end, its last point."""
    s = np.minimum(tracker.update(ego).s_m + np.array(ROUTE_AHEAD_M), route.length_m)
    x, y, _ = route.curve.pose_at(s)
    return np.stack([x, y], axis=1)


def path_points(plan: Plan, route: Route) -> Float:
    """(points, 2) Points of the expert's path at `PATH_AHEAD_M`, in the map frame.

    A plan that stops is shorter than that: from its end on, the path follows the route, which it rejoins where the plan
    is beside it.
    """
    ahead, planned = np.array(PATH_AHEAD_M), plan.trajectory.curve
    x, y, _ = planned.pose_at(np.minimum(ahead, planned.length_m))
    points = np.stack([x, y], axis=1)
    is_beyond = ahead > planned.length_m
    if is_beyond.any():
        near = plan.route_s_m + planned.length_m
        rows = route.curve.rows_between(near - SEARCH_M, near + SEARCH_M)
        end_x, end_y = float(planned.x_m[-1]), float(planned.y_m[-1])
        end = route.curve.project(end_x, end_y, route.curve.nearest(end_x, end_y, rows))
        further = ahead[is_beyond] - planned.length_m
        offset = float(end.d_m) * np.maximum(1.0 - further / REJOIN_M, 0.0)
        x, y, _ = route.curve.pose_at(float(end.s_m) + further, offset)
        points[is_beyond] = np.stack([x, y], axis=1)
    return points


def seen_from(points: Float, pose: Pose2D) -> Float:
    """Points (N, 2) of the map frame in the frame of `pose`."""
    return map_to_vehicle(points, pose)
