"""Which road users concern the ego's path: those that block it, slow ones, those beside it, those in a hurry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from av_core.types import ObjectKind, Prediction, TrafficLightView
from planning.local.blockers import Blockers, FrontView, PassedObstacles, Standing
from planning.local.hurry import HurryMemory, followers, update_hurry
from planning.local.keeping_aside import BesideWay, OncomingTooNear
from planning.local.lattice import CELLS
from planning.local.occupancy import Body, EgoOnRoad, OnRoad, is_in_line, on_road
from planning.local.road import Beside, RoadLayout
from planning.local.slow_vehicles import SlowVehicles
from planning.reference_path import Route

_BEHIND_M = 40.0
"""Distance behind the ego beyond which road users are ignored."""

_BESIDE_M = 30.0
"""A road user within this distance along the road may be in the way of a lane change."""

_ROOM_IN_LANE_M = 0.8
"""Offset from the lane's centre beyond which a standing object may leave room to pass within the lane."""

_SEEMS_MPS = 1.0
"""Speed up to which a vehicle that stands may seem to move."""

_SLOW_SHARE, _OPEN_ROAD_M = 0.4, 100.0
"""A vehicle slower than this share of the limit is passed on a lane in the ego's direction, unless a junction comes so
soon behind it: it may wait there."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The road users of one step, and why they concern the ego's path.

    * `prediction`: as of the scene, with the obstacles beside the ego where they were last completely in view; `ways`
      are its motions on the route.
    * `standing`: those that stand for no visible reason.
    * `blocking`: those for which the ego leaves its lane. `joining` are those of them that do not stand in its way, but
      are beside a lane change of the route.
    * `slow`: those for which it uses a lane in its direction, but no oncoming one.
    * `hurried_by`: track ids of the vehicles behind the ego for which it makes room.
    * `pulls_out`: whether the ego stands beside the road, or is on its way from there into its lane.
    * `beside`: those that stand close beside the ego's way; `oncoming_m`: how near oncoming ones come, None where they
      keep enough distance. Only for an ego that stays in its lane.
    """

    prediction: Prediction
    ways: list[OnRoad]
    standing: Standing
    blocking: list[OnRoad]
    joining: frozenset[int]
    slow: list[OnRoad]
    hurried_by: frozenset[int]
    pulls_out: bool
    beside: list[OnRoad]
    oncoming_m: float | None

    @property
    def is_free(self) -> bool:
        """Whether nobody is a reason to leave the lane, and the ego is on the road."""
        return not (self.blocking or self.slow or self.hurried_by or self.pulls_out)

    @property
    def keeps_aside(self) -> bool:
        """Whether it suffices to keep away from those beside the way: nobody else blocks it."""
        ids = {way.one.item.track_id for way in self.beside}
        only_beside = all(way.one.item.track_id in ids for way in self.blocking)
        return (bool(self.beside) or self.oncoming_m is not None) and only_beside

    @property
    def in_lane(self) -> list[OnRoad]:
        """Those in the lane, the first one along the road first."""
        there = [way for way in self.blocking + self.slow if way.one.item.track_id not in self.joining]
        return sorted(there, key=lambda way: float(way.s_m[0]))

    def stands(self, way: OnRoad) -> bool:
        """Whether one that may be passed stands; the others drive slowly."""
        item = way.one.item
        rides = item.kind is ObjectKind.BICYCLE
        return item.speed_mps < _SEEMS_MPS or (not rides and item.track_id in self.standing.obstacles)

    @property
    def slow_standing(self) -> frozenset[int]:
        """The track ids of the slow ones that may stand."""
        return frozenset(way.one.item.track_id for way in self.slow if way.one.item.speed_mps < _SEEMS_MPS)

    @property
    def to_pass(self) -> list[OnRoad]:
        """Those that the ego wants to pass, also by a tight way: `blocking`, and slow ones that have stood for long."""
        known = frozenset(way.one.item.track_id for way in self.blocking)
        stood = (self.slow_standing & self.standing.stood) - known
        return self.blocking + [way for way in self.slow if way.one.item.track_id in stood]


class Observer:
    """Finds out which road users concern the path along one route. Call `update` once a step."""

    def __init__(self, route: Route, layout: RoadLayout, body: Body, view: FrontView | None = None) -> None:
        self._route, self._layout, self._body = route, layout, body
        self._blockers, self._passed = Blockers(), PassedObstacles(view, body.front_m)
        self._hurry, self._steady = HurryMemory(), SlowVehicles()
        self._beside_way, self._oncoming = BesideWay(), OncomingTooNear()

    def update(
        self,
        prediction: Prediction,
        lights: Mapping[str, TrafficLightView],
        ego: EgoOnRoad,
        *,
        pulls_out: bool,
        is_in_lane: bool,
    ) -> Surroundings:
        """The surroundings of an ego that pulls out, or whose path is in its lane."""
        route, time_s = self._route, prediction.stamp.time_s
        first, last = route.row_at(ego.s_m - _BEHIND_M), route.row_at(ego.s_m + CELLS + 20.0)
        seen = on_road(route.curve.part(slice(first, max(last, first + 2), 2)), prediction)
        ways = self._passed.settle(seen, ego.s_m, ego.offset_m, time_s)
        standing = self._blockers.update(ways, route, lights, ego.s_m, time_s)
        self._passed.hold(ways, standing.obstacles)
        blocking = [way for way in ways if self._is_blocking(way, ego, standing.obstacles)]
        end_s_m = self._ends_before_m(ways, ego, standing.not_passed) if blocking else float("inf")
        blocking = [way for way in blocking if float(way.s_m[0]) < end_s_m]
        steady = self._steady.update(ways, ego.speed_mps, time_s)
        slow = [way for way in ways if way.one.item.track_id in steady and self._is_slow(way, ego)]
        prediction = _with_objects_of(prediction, ways)
        hurried_by = self._in_hurry(prediction, ego)
        stays = is_in_lane and not slow and not hurried_by and not pulls_out
        return Surroundings(
            prediction=prediction,
            ways=ways,
            standing=standing,
            blocking=blocking,
            joining=frozenset(way.one.item.track_id for way in blocking) - standing.obstacles,
            slow=slow,
            hurried_by=hurried_by,
            pulls_out=pulls_out,
            beside=self._beside_way.update(ways, ego, self._body) if stays else [],
            oncoming_m=self._oncoming.update(ways, ego, self._body, time_s) if stays else None,
        )

    def gains_mps2(self) -> dict[int, float]:
        """How fast each vehicle gains speed, by its track id."""
        return self._steady.gains_mps2()

    def near_lanes(self, ways: list[OnRoad], ids: frozenset[int]) -> frozenset[int]:
        """Those of `ids` that stand where another lane lies beside the ego's."""
        named = (way for way in ways if way.one.item.track_id in ids)
        return frozenset(way.one.item.track_id for way in named if self._has_lane_beside(float(way.s_m[0])))

    def gap_ahead_m(self, to_pass: list[OnRoad], ego: EgoOnRoad) -> float:
        """The gap between the ego's front and the first of those to pass that stands ahead."""
        front_m = ego.s_m + self._body.front_m
        gaps_m = (float(way.s_m[0] - way.half_s_m[0]) - front_m for way in to_pass if not way.is_moving)
        return min((gap_m for gap_m in gaps_m if gap_m > -1.0), default=float("inf"))

    def _in_hurry(self, prediction: Prediction, ego: EgoOnRoad) -> frozenset[int]:
        """The track ids of the vehicles in a hurry behind the ego, which want to get past it."""
        seen = followers(self._route, ego.s_m, ego.offset_m, prediction)
        limit_mps = float(self._route.speed_limit_mps[self._route.row_at(ego.s_m)])
        self._hurry = update_hurry(self._hurry, seen, ego.speed_mps, limit_mps, prediction.stamp.time_s)
        return frozenset(one.track_id for one in self._hurry.in_hurry)

    def _is_slow(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether a vehicle ahead is so slow that the ego passes it on the next lane in its direction."""
        s_m, item = float(way.s_m[0]), way.one.item
        row = self._route.row_at(s_m)
        beside = self._layout.left.kind[row], self._layout.right.kind[row]
        if Beside.SAME not in beside or item.kind is ObjectKind.PEDESTRIAN or s_m < ego.s_m:
            return False
        open_road = slice(row, self._route.row_at(s_m + _OPEN_ROAD_M) + 1)
        if self._route.is_junction[open_road].any():
            return False
        is_in_lane = abs(float(way.d_m[0])) < float(way.half_d_m[0]) + 0.5 * self._body.width_m
        return is_in_lane and item.speed_mps < _SLOW_SHARE * float(self._route.speed_limit_mps[row])

    def _has_lane_beside(self, s_m: float) -> bool:
        row = self._route.row_at(s_m)
        return bool(self._layout.left.kind[row] or self._layout.right.kind[row])

    def _ends_before_m(self, ways: list[OnRoad], ego: EgoOnRoad, not_passed: frozenset[int]) -> float:
        """Arc length of the first vehicle in the ego's way that is not passed: what is beyond is no reason yet.

        One across the way stands where the ego does not see exactly. A path beside it may end at it, in the junction.
        """
        first = (way for way in ways if way.one.item.track_id in not_passed and self._in_way(way, ego).any())
        return min((float(way.s_m[0]) for way in first if way.s_m[0] > ego.s_m), default=float("inf"))

    def _in_way(self, way: OnRoad, ego: EgoOnRoad) -> NDArray[np.bool_]:
        """When a road user is near the route's line and near the ego, (LAYERS + 1,)."""
        near = (way.s_m > ego.s_m - 10.0) & (way.s_m < ego.s_m + CELLS)
        reach = way.half_d_m + 0.5 * self._body.width_m + 0.8
        return np.asarray(near & (np.abs(way.d_m) < reach))

    def _is_blocking(self, way: OnRoad, ego: EgoOnRoad, passable: frozenset[int]) -> bool:
        """Whether a road user is a reason to leave the route: it is in the way, and may be passed."""
        in_way = self._in_way(way, ego)
        if not in_way.any():
            return False
        rows = self._route.curve.rows_at(way.s_m)
        if way.one.item.track_id in passable:
            return abs(float(way.d_m[0])) > _ROOM_IN_LANE_M or self._has_lane_beside(float(way.s_m[0]))
        is_beside = abs(float(way.s_m[0]) - ego.s_m) < _BESIDE_M and not is_in_line(way, ego, self._body)
        return is_beside and bool((in_way & self._route.is_change[rows]).any())


def _with_objects_of(prediction: Prediction, ways: list[OnRoad]) -> Prediction:
    """`prediction` with the road users of `ways` instead of its own."""
    objects = {way.one.item.track_id: way.one for way in ways}
    return replace(prediction, objects=tuple(objects.values()))
