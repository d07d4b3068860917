"""Snaps a position on the map to the nearest lane centre, for start and goal positions."""

from __future__ import annotations

from av_core.lane_points import nearest_lane
from av_core.types import LaneGraph, Pose2D


def pose_on_lane(graph: LaneGraph, x_m: float, y_m: float) -> Pose2D:
    """Pose at the nearest point of a lane's centre, with the lane's heading.

    (x, y) and the pose are in the map frame (OpenDRIVE's).

    Raises RouteError when no lane's centre is within `lane_points.SNAP_M`.
    """
    lane, row = nearest_lane(graph, x_m, y_m)
    curve = lane.curve
    return Pose2D(float(curve.x_m[row]), float(curve.y_m[row]), float(curve.yaw_rad[row]))
