"""Searches all lanes of a map: for the lane nearest to a position, or for lane points near it with a k-d tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from av_core.curve import ahead_and_left
from av_core.errors import RouteError
from av_core.map_types import Float, Lane, LaneGraph

Rows = NDArray[np.int64]

SNAP_M = 6.0
"""Largest distance from a position to the centre of its lane."""

JUNCTION_HANDICAP_M = 1.0
"""A lane inside a junction is chosen only if it is nearer than any other lane by this distance."""


def nearest_lane(graph: LaneGraph, x_m: float, y_m: float) -> tuple[Lane, int]:
    """The lane whose centre is nearest to a position in the map frame, and the nearest row of its points.

    Heights do not count: where a bridge crosses a road, the lane whose centre is nearer in the plane is taken. Raises
    RouteError when no lane's centre is within `SNAP_M`.
    """
    best: tuple[Lane, int] | None = None
    best_distance = SNAP_M
    for lane in graph.lanes.values():
        row = int(lane.curve.nearest(x_m, y_m))
        distance = float(np.hypot(lane.curve.x_m[row] - x_m, lane.curve.y_m[row] - y_m))
        distance += JUNCTION_HANDICAP_M if lane.is_junction else 0.0
        if distance < best_distance:
            best, best_distance = (lane, row), distance
    if best is None:
        raise RouteError(f"({x_m:.1f}, {y_m:.1f}) in the map frame is not on a driving lane of {graph.name}")
    return best


class LanePoints:
    """The centre-line points of all lanes of a map, in one table of M rows, with a k-d tree to search them.

    * `lanes`: the lanes in the map's order.
    * `xy` (M, 2) m and `yaw_rad` (M,): position and heading of each point, map frame.
    * `s_m` (M,): arc length of the point along its own lane.
    * `lane_of` (M,): index in `lanes` of the point's lane.

    Raises ValueError for a map without lanes.
    """

    def __init__(self, graph: LaneGraph) -> None:
        if not graph.lanes:
            raise ValueError(f"map {graph.name!r} has no lanes to localize in")
        self.lanes = tuple(graph.lanes.values())
        counts = [len(lane.points) for lane in self.lanes]
        self.xy: Float = np.concatenate([lane.points[:, :2] for lane in self.lanes])
        self.yaw_rad: Float = np.concatenate([lane.curve.yaw_rad for lane in self.lanes])
        self.s_m: Float = np.concatenate([lane.curve.s_m for lane in self.lanes])
        self.lane_of: Rows = np.repeat(np.arange(len(counts)), counts)
        self._first_row = [0, *np.cumsum(counts).tolist()]
        self._tree = cKDTree(self.xy)

    def within(self, x_m: float, y_m: float, radius_m: float) -> Rows:
        """Rows of the points within `radius_m` of a position, in no order."""
        return np.asarray(self._tree.query_ball_point((x_m, y_m), radius_m), dtype=np.int64)

    def nearest(self, xy_m: Float, count: int, distance_max_m: float = np.inf) -> tuple[Float, Rows]:
        """Distances (N, K) and rows (N, K) of the `count` points nearest to each of the (N, 2) positions.

        K is smaller than `count` on a map with fewer points. Beyond `distance_max_m` the distance is inf, the row 0.
        """
        count = min(count, len(self.xy))
        distance, rows = self._tree.query(xy_m, k=count, distance_upper_bound=distance_max_m)
        distance, rows = np.reshape(distance, (-1, count)), np.reshape(rows, (-1, count))
        return distance, np.where(np.isfinite(distance), rows, 0)

    def nearest_of_each_lane(self, x_m: float, y_m: float, rows: Rows) -> Rows:
        """Of the points `rows`, the one of each lane that is nearest to a position; nearest lane first."""
        gap = np.hypot(self.xy[rows, 0] - x_m, self.xy[rows, 1] - y_m)
        order = rows[np.argsort(gap, kind="stable")]
        _, first = np.unique(self.lane_of[order], return_index=True)
        return order[np.sort(first)]

    def lane_and_row(self, row: int) -> tuple[Lane, int]:
        """The lane of a point, and the point's row in that lane."""
        number = int(self.lane_of[row])
        return self.lanes[number], row - self._first_row[number]

    def ahead_and_left(self, x_m: Float | float, y_m: Float | float, rows: Rows) -> tuple[Float, Float]:
        """How far positions lie ahead of and to the left of the points `rows`, m; all arrays of one shape."""
        return ahead_and_left(x_m - self.xy[rows, 0], y_m - self.xy[rows, 1], self.yaw_rad[rows])
