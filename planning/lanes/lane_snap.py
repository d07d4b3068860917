"""Snaps a position on the map to the nearest lane centre, for start and goal positions."""

from __future__ import annotations

import numpy as np

from av_core.errors import RouteError
from av_core.types import LaneGraph, Pose2D

SNAP_M = 6.0
"""Largest distance from a position to the centre of its lane."""

JUNCTION_HANDICAP_M = 1.0
"""A lane inside a junction is chosen only if it is nearer than any other lane by this distance."""


def pose_on_lane(graph: LaneGraph, x_m: float, y_m: float) -> Pose2D:
    """Pose at the nearest point of a lane's centre, with the lane's heading.

    (x, y) and the pose are in the map frame (OpenDRIVE's).

    Raises RouteError when no lane's centre is within `SNAP_M`.
    """
    best, best_distance = None, SNAP_M
    for lane in graph.lanes.values():
        row = lane.curve.nearest(x_m, y_m)
        distance = float(np.hypot(lane.curve.x_m[row] - x_m, lane.curve.y_m[row] - y_m))
        distance += JUNCTION_HANDICAP_M if lane.is_junction else 0.0
        if distance < best_distance:
            best, best_distance = (lane.curve, row), distance
    if best is None:
        raise RouteError(f"({x_m:.1f}, {y_m:.1f}) in the map frame is not on a driving lane of {graph.name}")
    curve, row = best
    return Pose2D(float(curve.x_m[row]), float(curve.y_m[row]), float(curve.yaw_rad[row]))
