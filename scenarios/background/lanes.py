"""The lanes around the ego's route: lanes of the same direction, lanes of the opposite direction, and junctions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Lane, LaneGraph, LaneKey, Pose2D
from planning import Route
from scenarios.script.places import Roads

WIDTH_MIN_M = 2.25
"""Least width of a lane with traffic; a lane is narrower where it begins or ends."""

SAME_JUNCTION_M = 2.0
"""Two stretches of the route in one junction count as one if the gap between them is shorter than this."""

HALF_LANE_M = 1.75
"""A car is in a junction when its middle is nearer than this to the middle of a lane there."""

STEP_M = 5.0
"""Step of the search backwards from a junction for a place where its traffic is spawned."""


@dataclass(frozen=True, slots=True)
class JunctionAhead:
    """A junction on the route, from `start_m` to `end_m`."""

    junction_id: int
    start_m: float
    end_m: float


@dataclass(frozen=True, slots=True)
class LanePlace:
    """A place on a lane."""

    lane: Lane
    s_m: float

    @property
    def pose(self) -> Pose2D:
        x, y, yaw = self.lane.curve.pose_at(self.s_m)
        return Pose2D(float(x), float(y), float(yaw))


class LanesAlong:
    """Looks up lanes along the ego's route. Lanes of a section lead the same way if their ids have the same sign."""

    def __init__(self, roads: Roads) -> None:
        self._graph: LaneGraph = roads.graph
        self.route: Route = roads.route
        self._sections: dict[tuple[int, int], list[LaneKey]] = {}
        for key in roads.graph.lanes:
            self._sections.setdefault((key.road_id, key.section), []).append(key)
        self.junctions: Sequence[JunctionAhead] = _junctions(roads.route, roads.graph)
        self._entries: dict[int, list[LaneKey]] = {}
        self._inside: dict[int, NDArray[np.float64]] = {}
        for key, lane in roads.graph.lanes.items():
            for inside in (roads.graph.lanes[other] for other in lane.successors if other in roads.graph.lanes):
                if not lane.is_junction and inside.junction_id is not None:
                    entries = self._entries.setdefault(inside.junction_id, [])
                    entries += [key] if key not in entries else []

    def same_way(self, route_m: float) -> list[LanePlace]:
        """One place on each lane of the route's direction, beside the route at `route_m`; none in junctions.

        The place on the route itself is among them.
        """
        return self._beside(route_m, same_way=True)

    def oncoming(self, route_m: float) -> list[LanePlace]:
        """One place on each lane of the opposite direction, beside the route at `route_m`; none in junctions."""
        return self._beside(route_m, same_way=False)

    def ahead(self, place: LanePlace, by_m: float) -> LanePlace | None:
        """The place `by_m` further along the lane, or back where negative; None if the road branches or ends first."""
        lane, s_m = place.lane, place.s_m + by_m
        while not 0.0 <= s_m <= lane.length_m:
            keys = [key for key in (lane.successors if s_m > 0.0 else lane.predecessors) if key in self._graph.lanes]
            if len(keys) != 1 or self._graph.lanes[keys[0]].is_junction:
                return None
            other = self._graph.lanes[keys[0]]
            s_m = s_m - lane.length_m if s_m > 0.0 else s_m + other.length_m
            lane = other
        return LanePlace(lane, s_m)

    def sources(self, junction: JunctionAhead, dist_m: float, least_m: float) -> list[LanePlace]:
        """One place, `dist_m` before a junction, on each lane that leads into it.

        On a shorter road the place is nearer to the junction, but at least `least_m` away. The lanes by which the ego
        comes, and those beside them, have none.
        """
        before = self._route_lane(junction.start_m - 1.0)
        found = []
        for key in self._entries.get(junction.junction_id, ()):
            is_ego_road = key.road_id == before.road_id and (key.lane_id > 0) == (before.lane_id > 0)
            lane = self._graph.lanes[key]
            if is_ego_road or lane.width_m.min() < WIDTH_MIN_M:
                continue
            end = LanePlace(lane, lane.length_m)
            for back_m in np.arange(dist_m, least_m - 0.1, -STEP_M):
                place = self.ahead(end, -float(back_m))
                if place is not None:
                    found.append(place)
                    break
        return found

    def is_inside(self, junction: JunctionAhead, pose: Pose2D) -> bool:
        """Whether a place is on a lane in a junction."""
        if junction.junction_id not in self._inside:
            lanes = (lane for lane in self._graph.lanes.values() if lane.junction_id == junction.junction_id)
            self._inside[junction.junction_id] = np.concatenate([lane.points[:, :2] for lane in lanes])
        x, y = self._inside[junction.junction_id].T
        return bool(np.hypot(x - pose.x_m, y - pose.y_m).min() < HALF_LANE_M)

    def junction_at(self, route_m: float) -> JunctionAhead | None:
        """The junction that contains `route_m` on the route, else the next one; None after the last one."""
        return next((junction for junction in self.junctions if junction.end_m > route_m), None)

    def _route_lane(self, route_m: float) -> LaneKey:
        return self.route.lane_at(min(max(route_m, 0.0), self.route.length_m))

    def _beside(self, route_m: float, same_way: bool) -> list[LanePlace]:
        key = self._route_lane(route_m)
        if self._graph.lanes[key].is_junction or not 0.0 <= route_m <= self.route.length_m:
            return []
        x, y, _ = self.route.curve.pose_at(route_m)
        found = []
        for other in self._sections[key.road_id, key.section]:
            lane = self._graph.lanes[other]
            if ((other.lane_id > 0) == (key.lane_id > 0)) == same_way:
                s_m = min(max(float(lane.curve.project(float(x), float(y)).s_m), 0.0), lane.length_m)
                if float(np.interp(s_m, lane.s_m, lane.width_m)) >= WIDTH_MIN_M:
                    found.append(LanePlace(lane, s_m))
        return found


def _junctions(route: Route, graph: LaneGraph) -> list[JunctionAhead]:
    """The junctions on the route, in order; a junction in which the route starts is left out."""
    found: list[JunctionAhead] = []
    rows = np.flatnonzero(np.diff(route.is_junction.astype(np.int8), prepend=0, append=0))
    for first, last in rows.reshape(-1, 2).tolist():
        number = graph.lanes[route.lanes[int(route.lane_index[first])]].junction_id
        start_m, end_m = float(route.s_m[first]), float(route.s_m[last - 1])
        if number is None or first == 0:
            continue
        if found and found[-1].junction_id == number and start_m - found[-1].end_m < SAME_JUNCTION_M:
            found[-1] = JunctionAhead(number, found[-1].start_m, end_m)
        else:
            found.append(JunctionAhead(number, start_m, end_m))
    return found
