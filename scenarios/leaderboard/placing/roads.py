"""What lies beside and ahead of the lanes of a map: neighbours, side lanes, and ways through junctions."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import LaneGraph, LaneKey, Pose2D, SideKind, SideLane, Signal, SignalKind

WIDTH_MIN_M = 2.5
"""A lane that is narrower here is no lane to drive on."""

SAME_PLACE_M = 1.5
"""Largest distance between a lane's edge and the edge of its neighbour."""


class RoadView:
    """Answers questions about the roads of one map; a `side` is 1.0 for the left and -1.0 for the right of a lane."""

    def __init__(self, graph: LaneGraph) -> None:
        self.graph = graph
        self.lanes = graph.lanes

    def pose(self, key: LaneKey, s_m: float) -> Pose2D:
        """The pose on the centre of a lane."""
        x, y, yaw = self.lanes[key].curve.pose_at(s_m)
        return Pose2D(float(x), float(y), float(yaw))

    def z_m(self, key: LaneKey, s_m: float) -> float:
        lane = self.lanes[key]
        return float(np.interp(s_m, lane.s_m, lane.points[:, 2]))

    def width_m(self, key: LaneKey, s_m: float) -> float:
        lane = self.lanes[key]
        return float(np.interp(s_m, lane.s_m, lane.width_m))

    def turn_rad(self, key: LaneKey) -> float:
        """Change of heading along a lane, positive to the left."""
        yaw_rad = self.lanes[key].curve.yaw_rad
        return float(yaw_rad[-1] - yaw_rad[0])

    # ---------------------------------------------------------------- beside

    def beside(self, key: LaneKey, s_m: float, side: float) -> tuple[LaneKey, float, bool] | None:
        """The driving lane next to a lane: (lane, arc length on it, whether it leads the same way); None without."""
        other = _next_key(key, side)
        lane = self.lanes.get(other)
        if lane is None:
            return None
        at = self.pose(key, s_m)
        there = lane.curve.project(at.x_m, at.y_m)
        other_s_m = float(np.clip(float(there.s_m), 0.0, lane.length_m))
        width_m = self.width_m(other, other_s_m)
        gap_m = abs(float(there.d_m)) - (width_m + self.width_m(key, s_m)) / 2.0
        if width_m < WIDTH_MIN_M or abs(gap_m) > SAME_PLACE_M:
            return None
        same_way = abs(float(wrap_angle(self.pose(other, other_s_m).yaw_rad - at.yaw_rad))) < np.pi / 2.0
        return other, other_s_m, same_way

    def same_way_beside(self, key: LaneKey, s_m: float, side: float) -> tuple[LaneKey, float] | None:
        """The lane of the same direction on a side, and the arc length on it."""
        found = self.beside(key, s_m, side)
        return None if found is None or not found[2] else found[:2]

    def oncoming_beside(self, key: LaneKey, s_m: float) -> tuple[LaneKey, float] | None:
        """The lane of the opposite direction directly to the left, and the arc length on it."""
        found = self.beside(key, s_m, 1.0)
        return None if found is None or found[2] else found[:2]

    def side_lanes(self, key: LaneKey, s_m: float, side: float) -> list[tuple[SideLane, float]]:
        """The lanes beyond the edge of the road, from the lane outwards, with their widths, m."""
        at, found = self.pose(key, s_m), []
        other = _next_key(key, side)
        while (lane := self.graph.side_lanes.get(other)) is not None:
            row = lane.curve.nearest(at.x_m, at.y_m)
            found.append((lane, float(lane.width_m[row])))
            other = _next_key(other, side if (other.lane_id > 0) == (key.lane_id > 0) else -side)
        return found

    def has_parking(self, key: LaneKey, s_m: float, side: float, width_min_m: float) -> bool:
        """Whether a parking lane or a wide shoulder lies directly beside the lane."""
        found = self.side_lanes(key, s_m, side)[:1]
        return any(lane.kind in (SideKind.PARKING, SideKind.SHOULDER) and width >= width_min_m for lane, width in found)

    def is_edge(self, key: LaneKey, s_m: float, side: float) -> bool:
        """Whether the road ends on this side: no oncoming lane follows the lanes of the same direction."""
        while (found := self.same_way_beside(key, s_m, side)) is not None:
            key, s_m = found
        return self.beside(key, s_m, side) is None

    def has_pavement(self, key: LaneKey, s_m: float, side: float) -> bool:
        return any(lane.kind is SideKind.PAVEMENT for lane, _ in self.side_lanes(key, s_m, side))

    # ---------------------------------------------------------------- ahead

    def straightest(self, keys: tuple[LaneKey, ...]) -> LaneKey | None:
        """The lane that turns least; None where there is none."""
        known = [key for key in keys if key in self.lanes]
        return min(known, key=lambda key: (abs(self.turn_rad(key)), key.road_id, key.lane_id), default=None)

    def exit_of(self, key: LaneKey) -> LaneKey | None:
        """The first lane behind the junction that a lane inside it leads to."""
        at: LaneKey | None = key
        for _ in range(10):
            if at is None or not self.lanes[at].is_junction:
                return at
            at = self.straightest(self.lanes[at].successors)
        return None

    @cached_property
    def entries(self) -> dict[LaneKey, tuple[LaneKey, ...]]:
        """For each lane outside junctions that ends at one, the lanes inside that follow it."""
        found = {}
        for key, lane in self.lanes.items():
            inside = tuple(k for k in lane.successors if k in self.lanes and self.lanes[k].is_junction)
            if not lane.is_junction and inside:
                found[key] = inside
        return found

    @cached_property
    def runs(self) -> list[tuple[LaneKey, ...]]:
        """The lanes outside junctions as chains: each lane of a chain is the only successor of the one before."""
        followers = {key: self._only_successor(key) for key, lane in self.lanes.items() if not lane.is_junction}
        followed = {key for key in followers.values() if key is not None}
        rows, seen = [], set()
        for first in [key for key in followers if key not in followed] + list(followers):
            row: list[LaneKey] = []
            key: LaneKey | None = first
            while key is not None and key not in seen:
                row.append(key)
                seen.add(key)
                key = followers[key]
            if row:
                rows.append(tuple(row))
        return rows

    def _only_successor(self, key: LaneKey) -> LaneKey | None:
        following = [k for k in self.lanes[key].successors if k in self.lanes]
        if len(following) != 1 or self.lanes[following[0]].is_junction:
            return None
        before = [k for k in self.lanes[following[0]].predecessors if k in self.lanes]
        return following[0] if before == [key] else None

    # ---------------------------------------------------------------- signals

    @cached_property
    def _signals(self) -> dict[LaneKey, tuple[Signal, ...]]:
        found: dict[LaneKey, tuple[Signal, ...]] = {}
        for signal in self.graph.signals:
            found[signal.lane] = (*found.get(signal.lane, ()), signal)
        return found

    def signals(self, entry: LaneKey, inside: LaneKey) -> set[SignalKind]:
        """The kinds of signals that govern a movement: on its lane inside the junction, or at the end of the entry."""
        lane = self.lanes[entry]
        kinds = {signal.kind for signal in self._signals.get(inside, ())}
        return kinds | {s.kind for s in self._signals.get(entry, ()) if s.stop_s_m > lane.length_m - 30.0}


def _next_key(key: LaneKey, side: float) -> LaneKey:
    """The id of the next lane of the same section; right of a lane is away from the centre line."""
    away = 1 if key.lane_id > 0 else -1
    lane_id = key.lane_id + (away if side < 0.0 else -away)
    return LaneKey(key.road_id, key.section, lane_id if lane_id else -away)
