"""The road beside a route: how far its own lane reaches, and which lanes lie to its left and right."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, LaneGraph, LaneKey
from planning.lanes.lane_index import LaneIndex, LaneMatch
from planning.reference_path import Route

_EVERY_M = 2.0
"""Spacing of the places at which the lanes beside the route are looked up."""

_REACH_M = 6.0
"""Lanes whose centre is farther from the route than this are not beside it."""

_PARALLEL_RAD = 0.35
"""Largest difference in heading of a lane that runs beside the route."""

_GAP_M = 0.6
"""Largest gap between the edges of two lanes that lie beside each other: the width of a double line."""

_JUMP_M = 1.0
"""The middle of the lane moves by more than this from one point to the next only where the route's lane is another."""


class Beside(IntEnum):
    """What lies beside the route's lane."""

    NOTHING = 0
    SAME = 1
    """a lane in the ego's direction"""
    ONCOMING = 2


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the route's lane, (N,) for the route's points.

    `kind` holds values of `Beside`. `edge_m` is the offset of the far edge of the lane there; where there is none, it
    is the edge of the route's own lane.
    """

    kind: NDArray[np.int64]
    edge_m: Float


@dataclass(frozen=True, slots=True)
class RoadLayout:
    """The lanes of the road along a route, (N,) for its points; offsets are from the route, positive to the left.

    `left_m` and `right_m` are the edges of the route's own lane. On a lane change of the route this is the lane that
    it changes to, and the other one lies beside it.
    """

    left_m: Float
    right_m: Float
    left: Side
    right: Side

    @property
    def middle_m(self) -> Float:
        """The offset of the middle of the route's own lane."""
        return 0.5 * (self.left_m + self.right_m)

    def from_nearest_middle_m(self, row: int, offset_m: float) -> float:
        """How far an offset is to the left of the nearest lane's middle, if all lanes are as wide as the route's."""
        width_m = float(self.left_m[row] - self.right_m[row])
        beside_m = offset_m - 0.5 * float(self.left_m[row] + self.right_m[row])
        return (beside_m + 0.5 * width_m) % width_m - 0.5 * width_m


def lanes_aside_m(layout: RoadLayout) -> Float:
    """How far the lanes have come to the left of the route since its start, (N,) for its points.

    A vehicle that stays in its lane moves so far against the route, which leads across the lanes on a lane change.
    """
    steps_m = np.diff(layout.middle_m, prepend=layout.middle_m[0])
    return np.asarray(np.cumsum(np.where(np.abs(steps_m) < _JUMP_M, steps_m, 0.0)))


def road_layout(route: Route, graph: LaneGraph) -> RoadLayout:
    """The lanes beside every point of `route`. Inside junctions, where lanes cross, there is nothing beside it."""
    count = len(route.s_m)
    stride = max(1, round(_EVERY_M * (count - 1) / max(route.length_m, 1e-6)))
    rows = np.unique(np.append(np.arange(0, count, stride), count - 1))
    columns = np.array(
        [_at(route, int(row), found) for row, found in zip(rows, _near(route, graph, rows), strict=True)]
    )
    nearest = np.searchsorted(rows, np.arange(count), side="right") - 1
    left_m, right_m, left_kind, left_edge, right_kind, right_edge = columns[nearest].T
    return RoadLayout(
        left_m,
        right_m,
        Side(left_kind.astype(np.int64), left_edge),
        Side(right_kind.astype(np.int64), right_edge),
    )


@dataclass(frozen=True, slots=True)
class _Lane:
    """A lane near a place of the route: its edges as offsets from the route."""

    low_m: float
    high_m: float
    kind: Beside


def _near(route: Route, graph: LaneGraph, rows: NDArray[np.int64]) -> list[dict[LaneKey, _Lane]]:
    """The lanes near each place, the route's own among them."""
    index = LaneIndex(graph)
    curve = route.curve
    found: list[dict[LaneKey, _Lane]] = [{} for _ in rows]
    for kind, turn_rad in ((Beside.SAME, 0.0), (Beside.ONCOMING, np.pi)):
        for offset_m in (0.0, -3.5, 3.5):  # from each side, as only the nearest points of lanes are looked at
            x, y, yaw = curve.pose_at(curve.s_m[rows], offset_m)
            matches = index.matches(np.column_stack([x, y]), yaw + turn_rad, _REACH_M, _PARALLEL_RAD)
            for lanes, near in zip(found, matches, strict=True):
                for match in near:
                    lanes.setdefault(match.lane, _lane(graph, match, offset_m, kind))
    return found


def _lane(graph: LaneGraph, match: LaneMatch, from_m: float, kind: Beside) -> _Lane:
    lane = graph.lanes[match.lane]
    half_m = 0.5 * float(lane.curve.interpolate(match.s_m, lane.width_m))
    centre_m = from_m - match.offset_m if kind is Beside.SAME else from_m + match.offset_m
    return _Lane(centre_m - half_m, centre_m + half_m, kind)


def _at(route: Route, row: int, lanes: dict[LaneKey, _Lane]) -> tuple[float, ...]:
    """A row of the layout: own edges, then kind and far edge of the left side, and of the right side."""
    key, half_m = route.lane_at(float(route.s_m[row])), 0.5 * float(route.width_m[row])
    own = lanes.get(key, _Lane(-half_m, half_m, Beside.NOTHING))
    if route.is_junction[row]:
        return own.high_m, own.low_m, Beside.NOTHING, own.high_m, Beside.NOTHING, own.low_m
    others = [lane for name, lane in lanes.items() if name != key]
    left = [lane for lane in others if abs(lane.low_m - own.high_m) < _GAP_M]
    right = [lane for lane in others if abs(lane.high_m - own.low_m) < _GAP_M]
    on_left = max(left, key=lambda lane: lane.kind, default=_Lane(own.high_m, own.high_m, Beside.NOTHING))
    on_right = max(right, key=lambda lane: lane.kind, default=_Lane(own.low_m, own.low_m, Beside.NOTHING))
    return own.high_m, own.low_m, on_left.kind, on_left.high_m, on_right.kind, on_right.low_m
