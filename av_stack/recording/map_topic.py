"""The part of the map around a route as plain values, for the recording's topic `/map`."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from av_core.types import Float, Lane, LaneGraph, SignalKind
from planning import Route

MARGIN_M = 100.0
"""Lanes within this distance of the route's bounding box are kept."""

TOLERANCE_M = 0.05
"""Edges are simplified by at most this much."""

Points = list[list[float]]


def map_message(graph: LaneGraph, route: Route) -> dict[str, Any]:
    """The message of `/map`: lanes near the route by their edges, the route, and the stop lines on these lanes."""
    way = np.column_stack([route.curve.x_m, route.curve.y_m])
    low, high = way.min(axis=0) - MARGIN_M, way.max(axis=0) + MARGIN_M
    near = [lane for lane in graph.lanes.values() if _is_near(lane, low, high)]
    edges = _simplified([edge for lane in near for edge in _edges(lane)])
    keys = {lane.key for lane in near}
    signals = [signal for signal in graph.signals if signal.lane in keys and signal.kind is not SignalKind.YIELD]
    return {
        "name": graph.name,
        "lanes": [[lane.is_junction, edges[2 * i], edges[2 * i + 1]] for i, lane in enumerate(near)],
        "route": _simplified([way])[0],
        "stop_lines": [_stop_line(graph.lanes[signal.lane], signal.stop_s_m) for signal in signals],
    }


def _is_near(lane: Lane, low: Float, high: Float) -> bool:
    xy = lane.points[:, :2]
    return bool(np.all(xy.min(axis=0) <= high) and np.all(xy.max(axis=0) >= low))


def _edges(lane: Lane) -> tuple[Float, Float]:
    """Left and right edge (N, 2)."""
    left = np.column_stack([-np.sin(lane.yaw_rad), np.cos(lane.yaw_rad)]) * lane.width_m[:, None] / 2
    return lane.points[:, :2] + left, lane.points[:, :2] - left


def _stop_line(lane: Lane, s_m: float) -> Points:
    x, y, yaw = lane.curve.pose_at(s_m)
    half_m = float(lane.curve.interpolate(s_m, lane.width_m)) / 2
    across = np.array([-np.sin(yaw), np.cos(yaw)]) * half_m
    middle = np.array([float(x), float(y)])
    return _rounded(np.array([middle + across, middle - across]))


def _simplified(lines: list[Float]) -> list[Points]:
    if not lines:
        return []
    simple = shapely.simplify([shapely.LineString(line) for line in lines], TOLERANCE_M)
    return [_rounded(shapely.get_coordinates(line)) for line in simple]


def _rounded(xy: Float) -> Points:
    points: Points = np.round(xy, 2).tolist()
    return points
