"""Spatial index of the map: the lanes around a pose, the marked boundaries it should see, and the road's height."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from av_core.frames import wrap_angle
from av_core.lane_points import LanePoints
from av_core.types import Lane, LaneGraph, LaneKey, MarkingColour, MarkingKind, Pose2D

Float = NDArray[np.float64]

SEGMENT_REACH_M = 1.5
"""Extra search radius, m: lane points are about 1 m apart, and more on the outside of a tight curve."""

WHEELBASE_M = 2.9
"""Distance between the two road points that define the plane of a vehicle, m."""

ROAD_REACH_M = 6.0
"""Maximum distance of a point of the road from a lane's centre, m."""

FLAT_M = 0.05
"""Height range below which the whole map counts as flat, m."""

BRIDGE_MIN_M = 1.0
"""Height step between two points above which they belong to different roads, m."""


@dataclass(frozen=True, slots=True)
class LaneMatch:
    """A pose in the coordinates of one lane (Frenet frame).

    `offset_m` is positive to the left of the lane's centre; `heading_error_rad` is the pose's yaw minus the lane's;
    `grade_rad` is the lane's slope along its direction of travel, positive uphill.
    """

    key: LaneKey
    s_m: float
    offset_m: float
    heading_error_rad: float
    width_m: float
    z_m: float
    grade_rad: float
    is_junction: bool


@dataclass(frozen=True, slots=True)
class BoundaryCrossing:
    """Where a marked lane boundary crosses the line x = const of the vehicle frame.

    `slope` is dy/dx of the boundary there.
    """

    y_m: float
    slope: float
    kind: MarkingKind
    colour: MarkingColour


@dataclass(frozen=True, slots=True)
class _Segments:
    """Marked boundary pieces: `start`, `end` (N, 2), m in the map frame, with marking kind and colour of each."""

    start: Float
    end: Float
    kinds: tuple[MarkingKind, ...]
    colours: tuple[MarkingColour, ...]


class MapIndex:
    """Spatial index over a `LaneGraph`; a query takes some ten microseconds.

    Raises ValueError for a map without lanes.
    """

    def __init__(self, graph: LaneGraph) -> None:
        self._points = points = LanePoints(graph)
        self._limit_mps = np.array([lane.speed_limit_mps for lane in points.lanes])[points.lane_of]
        self._z_m = np.concatenate([lane.points[:, 2] for lane in points.lanes])
        self._grade = np.concatenate([_grade(lane) for lane in points.lanes])
        self._is_flat = bool(np.ptp(self._z_m) < FLAT_M)
        self._segments = _marked_segments(points.lanes)
        middles = (self._segments.start + self._segments.end) / 2.0
        self._segment_tree = cKDTree(middles) if len(middles) else None

    def lanes_at(self, pose: Pose2D, radius_m: float = 4.0, heading_gate_rad: float = np.pi / 2) -> list[LaneMatch]:
        """Lanes within `radius_m` whose direction differs by less than `heading_gate_rad`, nearest centre first."""
        near = self._points.within(pose.x_m, pose.y_m, radius_m)
        near = near[np.abs(wrap_angle(pose.yaw_rad - self._points.yaw_rad[near])) < heading_gate_rad]
        nearest = self._points.nearest_of_each_lane(pose.x_m, pose.y_m, near)
        matches = [self._match(pose, row) for row in nearest.tolist()]
        return sorted(matches, key=lambda m: abs(m.offset_m))

    def lane_at(self, pose: Pose2D) -> LaneMatch | None:
        """The lane in which `pose` most likely drives: within its width and best aligned; None off the road."""
        inside = [m for m in self.lanes_at(pose) if abs(m.offset_m) <= m.width_m / 2.0 + 0.5]
        return min(inside, key=lambda m: abs(m.offset_m) + 2.0 * abs(m.heading_error_rad), default=None)

    def points_at(self, places: Float, count: int = 24) -> tuple[Float, Float, Float, Float]:
        """The `count` lane centre points nearest to each of `places` (N, 2), whatever their direction.

        Returns, (N, K) each: their yaw, how far the place lies ahead of and to the left of each point, m, and their
        speed limit, m/s.
        """
        _, near = self._points.nearest(places, count)
        ahead, left = self._points.ahead_and_left(places[:, 0, None], places[:, 1, None], near)
        return self._points.yaw_rad[near], ahead, left, self._limit_mps[near]

    def heights_ahead(self, pose: Pose2D, step_m: float, count: int) -> Float:
        """Height of the road above the plane of a vehicle at `pose`, every `step_m` along its heading.

        (count,) m, starting at the pose itself; empty on a flat map. Beyond the end of the road its last height holds.
        """
        if self._is_flat:
            return np.zeros(0)
        gone_m = np.concatenate([[0.0, WHEELBASE_M], step_m * np.arange(count)])
        places = np.array([pose.x_m, pose.y_m]) + gone_m[:, None] * [np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)]
        beside_m, near = self._points.nearest(places, 4)
        ahead_m, _ = self._points.ahead_and_left(places[:, 0, None], places[:, 1, None], near)
        z = _one_road(self._z_m[near] + ahead_m * self._grade[near], beside_m <= ROAD_REACH_M)
        slope = (z[1] - z[0]) / WHEELBASE_M
        return np.asarray(z[2:] - z[0] - slope * gone_m[2:])

    def boundaries_at(
        self, pose: Pose2D, x_m: float, reach_m: float = 8.0, heading_gate_rad: float = 0.5
    ) -> list[BoundaryCrossing]:
        """Marked boundaries that cross x = `x_m` of the vehicle frame within `reach_m` to either side.

        Boundaries at more than `heading_gate_rad` to the vehicle's axis are left out; a line shared by two lanes is
        reported once. Sorted from right to left.
        """
        if self._segment_tree is None:
            return []
        c, s = np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)
        centre = np.array([pose.x_m + c * x_m, pose.y_m + s * x_m])
        near = np.asarray(self._segment_tree.query_ball_point(centre, reach_m + SEGMENT_REACH_M), dtype=np.int64)
        if near.size == 0:
            return []
        axes = np.array([[c, -s], [s, c]])
        start = (self._segments.start[near] - centre) @ axes
        end = (self._segments.end[near] - centre) @ axes
        dx = end[:, 0] - start[:, 0]
        crosses = (start[:, 0] <= 0.0) != (end[:, 0] <= 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (end[:, 1] - start[:, 1]) / dx
        y = start[:, 1] - np.where(crosses, slope, 0.0) * start[:, 0]
        hits = np.flatnonzero(crosses & (np.abs(np.arctan(slope)) < heading_gate_rad) & (np.abs(y) <= reach_m))
        return self._drop_duplicates(near[hits], y[hits], slope[hits])

    def _drop_duplicates(self, segment: NDArray[np.int64], y: Float, slope: Float) -> list[BoundaryCrossing]:
        crossings: list[BoundaryCrossing] = []
        for i in np.argsort(y, kind="stable"):
            if crossings and y[i] - crossings[-1].y_m < 0.15:
                continue
            index = int(segment[i])
            crossings.append(
                BoundaryCrossing(
                    float(y[i]), float(slope[i]), self._segments.kinds[index], self._segments.colours[index]
                )
            )
        return crossings

    def _match(self, pose: Pose2D, nearest: int) -> LaneMatch:
        """Project on the lane piece next to point `nearest`, so that positions between points are exact."""
        lane, row = self._points.lane_and_row(nearest)
        at = lane.curve.project_on_piece(pose.x_m, pose.y_m, row)
        i = int(at.row)
        piece = lane.points[i + 1] - lane.points[i]
        return LaneMatch(
            key=lane.key,
            s_m=float(at.s_m),
            offset_m=float(at.d_m),
            heading_error_rad=float(wrap_angle(pose.yaw_rad - at.yaw_rad)),
            width_m=float(lane.width_m[i]),
            z_m=float(lane.curve.interpolate(at.s_m, lane.points[:, 2])),
            grade_rad=float(np.arctan2(piece[2], np.hypot(piece[0], piece[1]))),
            is_junction=lane.is_junction,
        )


def _grade(lane: Lane) -> Float:
    """Slope (N,) of the lane at its points, along its direction of travel: metres of height per metre of ground."""
    steps_m = np.hypot(*np.diff(lane.points[:, :2], axis=0).T)
    gone_m = np.concatenate([[0.0], np.cumsum(np.maximum(steps_m, 1e-3))])
    return np.asarray(np.gradient(lane.points[:, 2], gone_m))


def _one_road(heights_m: Float, is_road: NDArray[np.bool_]) -> Float:
    """Choose one of the heights (N, K) at each step of a path, nearest lanes first -> (N,).

    Where one road leads over another, the path continues on the one at its own height.
    """
    z = heights_m[:, 0].copy()
    if is_road[:, 0].all() and np.abs(np.diff(z)).max() < BRIDGE_MIN_M:
        return z
    for k in range(1, len(z)):
        best = int(np.argmin(np.abs(heights_m[k] - z[k - 1])))
        z[k] = heights_m[k, best] if is_road[k, best] else z[k - 1]
    return z


def _marked_segments(lanes: tuple[Lane, ...]) -> _Segments:
    """All pieces of lane boundary that carry a marking or are a kerb."""
    starts: list[Float] = []
    ends: list[Float] = []
    kinds: list[MarkingKind] = []
    colours: list[MarkingColour] = []
    for lane in lanes:
        for sign, marking, colour in (
            (1.0, lane.left_marking, lane.left_colour),
            (-1.0, lane.right_marking, lane.right_colour),
        ):
            border = np.column_stack(lane.curve.pose_at(lane.s_m, sign * lane.width_m / 2.0)[:2])
            marked = np.flatnonzero([kind is not MarkingKind.NONE for kind in marking[:-1]])
            starts.append(border[marked])
            ends.append(border[marked + 1])
            kinds.extend(marking[i] for i in marked)
            colours.extend(colour[i] for i in marked)
    return _Segments(np.concatenate(starts), np.concatenate(ends), tuple(kinds), tuple(colours))
