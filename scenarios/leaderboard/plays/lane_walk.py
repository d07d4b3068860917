"""Walks along the lanes of a map: ahead, back, and to the lanes beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from av_core.frames import wrap_angle
from av_core.types import Lane, LaneGraph, LaneKey, Pose2D, SideLane


@dataclass(frozen=True, slots=True)
class LaneSpot:
    """A place on a lane: `s_m` along it, in its direction."""

    lane: Lane
    s_m: float

    @property
    def pose(self) -> Pose2D:
        return self.beside(0.0)

    @property
    def width_m(self) -> float:
        return float(self.lane.curve.interpolate(self.s_m, self.lane.width_m))

    def beside(self, offset_m: float, turn_rad: float = 0.0) -> Pose2D:
        """The pose `offset_m` to the left of the lane's centre, turned to the left."""
        x, y, yaw = self.lane.curve.pose_at(self.s_m, offset_m)
        return Pose2D(float(x), float(y), float(yaw) + turn_rad)


def walk_back(graph: LaneGraph, spot: LaneSpot, distance_m: float, through_junctions: bool = False) -> LaneSpot:
    """The place `distance_m` before `spot`, or where the road begins if that is nearer.

    Unless `through_junctions`, the walk also ends at a junction.
    """
    lane, s_m, seen = spot.lane, spot.s_m, {spot.lane.key}
    while s_m < distance_m:
        before = [one for one in _known(graph, lane.predecessors) if one.key not in seen]
        before = [one for one in before if through_junctions or not one.is_junction]
        if not before:
            return LaneSpot(lane, 0.0)
        distance_m -= s_m
        lane = min(before, key=turn_rad)
        s_m = lane.length_m
        seen.add(lane.key)
    return LaneSpot(lane, s_m - distance_m)


def walk_ahead(graph: LaneGraph, spot: LaneSpot, distance_m: float) -> LaneSpot:
    """The place `distance_m` ahead of `spot`, straight on at junctions, or where the road ends if that is nearer."""
    lane, s_m, seen = spot.lane, spot.s_m, {spot.lane.key}
    while lane.length_m - s_m < distance_m:
        after = [one for one in _known(graph, lane.successors) if one.key not in seen]
        if not after:
            return LaneSpot(lane, lane.length_m)
        distance_m -= lane.length_m - s_m
        lane, s_m = min(after, key=turn_rad), 0.0
        seen.add(lane.key)
    return LaneSpot(lane, s_m + distance_m)


def through(graph: LaneGraph, entry: Lane, choose: Callable[[Iterable[Lane]], Lane]) -> Lane | None:
    """The first lane behind the junction at the end of `entry`; `choose` picks one of several successors."""
    lane, seen = entry, {entry.key}
    while following := [one for one in _known(graph, lane.successors) if one.key not in seen]:
        lane = choose(following)
        seen.add(lane.key)
        if not lane.is_junction:
            return lane
    return None


def turn_rad(lane: Lane) -> float:
    """Change of heading along a lane, without its sign."""
    return abs(turn_left_rad(lane))


def turn_left_rad(lane: Lane) -> float:
    """Change of heading along a lane, positive to the left."""
    return float(lane.curve.yaw_rad[-1] - lane.curve.yaw_rad[0])


def straightest(lanes: Iterable[Lane]) -> Lane:
    return min(lanes, key=turn_rad)


def rightmost(lanes: Iterable[Lane]) -> Lane:
    return min(lanes, key=turn_left_rad)


def neighbour(graph: LaneGraph, spot: LaneSpot, side: float) -> LaneSpot | None:
    """The driving lane of any direction beside a place: on its left for a `side` of 1.0, its right for -1.0."""
    lane = graph.lanes.get(next_key(spot.lane.key, side))
    if lane is None:
        return None
    at = spot.pose
    s_m = float(lane.curve.project(at.x_m, at.y_m).s_m)
    return LaneSpot(lane, min(max(s_m, 0.0), lane.length_m))


def is_same_way(one: LaneSpot, other: LaneSpot) -> bool:
    return abs(float(wrap_angle(one.pose.yaw_rad - other.pose.yaw_rad))) < 1.0


def same_way_lanes(graph: LaneGraph, spot: LaneSpot) -> list[LaneSpot]:
    """The places beside `spot` on all lanes of its direction, from left to right; `spot` is among them."""
    row = [spot]
    while (left := neighbour(graph, row[0], 1.0)) is not None and is_same_way(spot, left):
        row.insert(0, left)
    while (right := neighbour(graph, row[-1], -1.0)) is not None and is_same_way(spot, right):
        row.append(right)
    return row


def strips_beyond(graph: LaneGraph, key: LaneKey, side: float) -> Iterator[SideLane]:
    """The side lanes outside the outermost driving lane on a side, from inside outwards."""
    while (other := next_key(key, side)) in graph.lanes:
        side = _side_after(key, other, side)
        key = other
    while (strip := graph.side_lanes.get(next_key(key, side))) is not None:
        side = _side_after(key, strip.key, side)
        key = strip.key
        yield strip


def next_key(key: LaneKey, side: float) -> LaneKey:
    """The key of the next lane of the same section; a lane's right is away from the middle of the road."""
    outwards = 1 if key.lane_id > 0 else -1
    lane_id = key.lane_id + (outwards if side < 0.0 else -outwards)
    return LaneKey(key.road_id, key.section, lane_id if lane_id else -outwards)


def _side_after(key: LaneKey, other: LaneKey, side: float) -> float:
    """The side to go on to, seen from the next lane, which may have the opposite direction."""
    return side if (key.lane_id > 0) == (other.lane_id > 0) else -side


def _known(graph: LaneGraph, keys: Iterable[LaneKey]) -> list[Lane]:
    return [graph.lanes[key] for key in keys if key in graph.lanes]
