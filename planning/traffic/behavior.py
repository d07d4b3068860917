"""Selects the road users that constrain the ego: leaders to follow, and conflicts to stop or slow down for.

`TrafficBehavior` projects every road user of the `Prediction`, now and later, on the corridor that the ego will sweep.
A road user in the corridor becomes a leader (or, for a pedestrian, a stop); one that will cross or merge is compared
with the ego's own arrival time, and the ego gives way unless it has the right of way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import (
    Float,
    ObjectKind,
    PredictedObject,
    Prediction,
    TrackedObject,
)
from planning.config import BehaviorConfig
from planning.junctions.entry import Junction
from planning.junctions.keeping_clear import OnPath, stops_before_junctions
from planning.reference_path import Route
from planning.signals import EgoOnRoute, SpeedCap
from planning.speed import Leader, SpeedReference, StopTarget
from planning.traffic.conflicts import ALONG_SHARE, Conflict, conflicts_of, crossing_cause, leader_cause, project_items
from planning.traffic.corridor import Corridor, corridor_of
from planning.traffic.crossing import is_in_the_way, may_hide_another, must_wait
from planning.traffic.ego_plan import EgoPlan
from planning.traffic.merging import Order, comes_the_same_way, let_in, order_of_joining
from planning.traffic.right_of_way import has_priority
from planning.traffic.run_up import room_m
from planning.traffic.speeding_up import comes_sooner
from planning.traffic.waiting_place import before_crossing_m, waiting_place_m

_CROSSING_MPS, _CLEAR_AHEAD_M, _CLEAR_CLOSELY_M = 2.0, 1.0, 0.5
"""Speed from which on a vehicle can be oncoming or crossing; and the distance to the ego's front at which it has to
leave the path, without and with a close look."""

_WAITING_MPS, _WAITING_ASIDE_M, _PASSING_MPS, _PASSING_M = 1.5, 2.2, 5.0, 10.0
"""A bicycle that is slower, and nearer to the ego's corridor than this, may be about to cross. The ego passes it with
at most this speed, from this distance before it on: then it can still brake for it."""

_BESIDE_STANDING_MPS, _NEXT_LANE_M, _SAME_WAY_RAD = 16.0, 3.0, 1.0
"""Speed beside a vehicle that stands on the next lane or on the shoulder: it may pull out. It reaches the ego's lane
within 1 s; an ego of this speed that sees it set off 35 m ahead can still brake, with 6 m/s2."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """What road users require of the ego: leaders to follow, stops and speed caps.

    `yielding_to` holds the track ids that the ego gives way to; the next decision takes it in, for hysteresis.
    `run_up_m` is the room before a fast stream for which it waits (`run_up.room_m`).
    """

    leaders: list[Leader] = field(default_factory=list)
    stops: list[StopTarget] = field(default_factory=list)
    caps: list[SpeedCap] = field(default_factory=list)
    yielding_to: frozenset[int] = frozenset()
    run_up_m: float = np.inf

    def add(self, one: Leader | SpeedCap | None) -> bool:
        """Add a leader or a speed cap; False if there is none."""
        if isinstance(one, Leader):
            self.leaders.append(one)
        elif one is not None:
            self.caps.append(one)
        return one is not None


class TrafficBehavior:
    """Derives the constraints on the ego from the other road users. `junctions` are those of its route."""

    def __init__(self, width_m: float, config: BehaviorConfig, junctions: Sequence[Junction] = ()) -> None:
        self._width_m = width_m
        self._config = config
        self._junctions = junctions

    def constraints(
        self,
        route: Route,
        ego: EgoOnRoute,
        prediction: Prediction,
        reference: SpeedReference,
        ego_times_s: Float,
        yielding_to: frozenset[int],
        unprotected: frozenset[str] = frozenset(),
        obstacles: frozenset[int] = frozenset(),
        speeding_up: frozenset[int] = frozenset(),
    ) -> Constraints:
        """Leaders, stops and speed caps from the road users of `prediction`.

        `ego_times_s` (N,) is when the ego would reach each point of `reference`. `yielding_to` holds the track ids from
        the last decision. `unprotected` are the ids of lights at which the ego goes without having seen green, so that
        crossing traffic cannot be assumed to have red. `obstacles` are the track ids of those that stand for good, and
        `speeding_up` of those that gain speed.
        """
        reach = float(reference.s_m[-1])
        near = _within_reach(route, ego, prediction.objects, reach - ego.s_m)
        result = Constraints()
        if not near:
            return result
        plan = EgoPlan(route, ego, reference, ego_times_s, yielding_to, speeding_up)
        corridor = corridor_of(route, ego.s_m - 2.0, reach, self._width_m, ego.front_m, 2)
        going = self._drives_out(corridor, ego, near, prediction.times_s)
        staying = [one for one in near if one.item.track_id not in going]
        beside, present = self._constrain_by_present(corridor, ego, staying, result)
        ahead = [one for one in self._junctions if one.clear_s_m > ego.front_s_m]
        arrives_s = [plan.reaches_s(one.from_s_m - ego.front_m) for one in ahead]
        times_s = prediction.times_s
        result.stops.extend(
            stops_before_junctions(corridor, ego, ahead, arrives_s, present, times_s, obstacles, self._config)
        )
        entering = [staying[row] for row in beside if self._may_enter(staying[row], beside[row], prediction.horizon_s)]
        entering += [one for one in near if one.item.track_id in going]
        conflicts = conflicts_of(corridor, entering, times_s, self._config, ego.looks_closely)
        crossed = {one.item.track_id for one in conflicts if is_in_the_way(one, plan)}
        waits_for: list[Conflict] = []
        for conflict in conflicts:
            if conflict.item.track_id in crossed and conflict.low_s_m > ego.front_s_m:
                continue
            if conflict.item.track_id in speeding_up:
                conflict = comes_sooner(conflict)
            hides = may_hide_another(conflict, conflicts, plan)
            if not has_priority(conflict, plan, unprotected) and self._resolve_conflict(conflict, plan, result, hides):
                waits_for.append(conflict)
        yielding = frozenset(one.item.track_id for one in waits_for)
        run_up_m = room_m(waits_for, ego, self._junctions)
        return Constraints(result.leaders, result.stops, result.caps, yielding, run_up_m)

    def _drives_out(
        self, corridor: Corridor, ego: EgoOnRoute, near: Sequence[PredictedObject], times_s: Float
    ) -> frozenset[int]:
        """The vehicles that cross the corridor, or come on it, and will leave it before the ego, by all their ways.

        They are no leaders, but conflicts with an end: the ego comes after them.
        """
        heading = float(corridor.curve.yaw_rad[0])
        coming = [one for one in near if one.modes and _crosses_or_comes(one.item, heading)]
        going = {one.item.track_id for one in coming}
        clear_m = _CLEAR_CLOSELY_M if ego.looks_closely else _CLEAR_AHEAD_M
        for conflict in conflicts_of(corridor, coming, times_s, self._config, ego.looks_closely):
            if conflict.low_s_m < ego.front_s_m + clear_m or conflict.leave_s > times_s[-1]:
                going.discard(conflict.item.track_id)
        return frozenset(going)

    def _constrain_by_present(
        self, corridor: Corridor, ego: EgoOnRoute, staying: Sequence[PredictedObject], result: Constraints
    ) -> tuple[dict[int, float], list[OnPath]]:
        """Constrain the ego by the road users that are in its corridor now.

        Returns the distance of the others from its path, by their rows in `staying`, in order; and the vehicles that
        are in its corridor.
        """
        if not staying:
            return {}, []
        items = [one.item for one in staying]
        present: list[OnPath] = []
        x = np.array([[o.x_m] for o in items])
        y = np.array([[o.y_m] for o in items])
        yaw = np.array([[o.yaw_rad] for o in items])
        boxes = project_items(corridor, items, x, y, yaw, self._config)
        bound: set[int] = set()
        for row in np.flatnonzero(boxes.blocks.any(axis=(1, 2))).tolist():
            item, blocks = items[row], boxes.blocks[row, 0]
            low = float((boxes.s_m[row, 0] - boxes.half_s_m[row, 0])[blocks].min())
            bound.add(item.track_id)
            if float(boxes.s_m[row, 0, 1]) < ego.s_m + 0.5 * ego.front_m:
                continue
            path_yaw = float(boxes.path_yaw_rad[row, 0, int(np.argmax(blocks))])
            along = item.velocity_mps[0] * np.cos(path_yaw) + item.velocity_mps[1] * np.sin(path_yaw)
            if item.kind is ObjectKind.PEDESTRIAN:
                stop_s = low - ego.front_m - self._config.conflict_gap_m
                result.stops.append(StopTarget(stop_s, crossing_cause(item)))
            else:
                speed_mps = max(0.0, float(along))
                result.leaders.append(Leader(low - ego.front_m, speed_mps, leader_cause(item, speed_mps, self._config)))
                turn_rad = abs(float(wrap_angle(item.yaw_rad - path_yaw)))
                present.append(OnPath(staying[row], low, turn_rad, float(along)))
        others = [row for row, item in enumerate(items) if item.track_id not in bound]
        for row in others:
            turn_rad = abs(float(wrap_angle(items[row].yaw_rad - boxes.path_yaw_rad[row, 0, 1])))
            beside = _Beside(items[row], boxes.s_m[row, 0], boxes.aside_m[row, 0], turn_rad)
            result.caps.extend(_caps_beside(ego, beside, self._config))
        return {row: abs(float(boxes.d_m[row, 0, 1])) for row in others}, present

    def _may_enter(self, one: PredictedObject, offset_m: float, horizon_s: float) -> bool:
        """Whether a road user moves, and is so near to the ego's path that it may come there within the horizon."""
        item = one.item
        return bool(one.modes) and offset_m < item.speed_mps * horizon_s + item.length_m + self._width_m

    def _resolve_conflict(self, conflict: Conflict, plan: EgoPlan, result: Constraints, hides: bool) -> bool:
        """Add the constraint from `conflict` to `result`; True when the ego gives way.

        The vehicle `hides` whether another follows it.
        """
        config = self._config
        is_walker = conflict.item.kind is ObjectKind.PEDESTRIAN
        if not is_walker and (not conflict.crosses or comes_the_same_way(conflict, plan)):
            order = order_of_joining(conflict, plan, config)
            if order is Order.FREELY:
                return False
            if order is not Order.WAITS:
                return result.add(let_in(conflict, plan, config))
        elif not (hides or must_wait(conflict, plan, config)):
            return False
        if is_walker:
            stop_s_m = before_crossing_m(conflict, plan, config)
        else:
            stop_s_m = waiting_place_m(conflict, plan, self._junctions, config)
        result.stops.append(StopTarget(stop_s_m, crossing_cause(conflict.item)))
        return True


@dataclass(frozen=True, slots=True)
class _Beside:
    """A road user next to the corridor.

    * `s_m`, `aside_m` (3,): arc lengths of its parts, and their distances from the corridor's side.
    * `turn_rad`: the angle between its heading and the path, from 0 to pi.
    """

    item: TrackedObject
    s_m: Float
    aside_m: Float
    turn_rad: float


def _caps_beside(ego: EgoOnRoute, beside: _Beside, config: BehaviorConfig) -> list[SpeedCap]:
    """The speed cap before a bicycle, or beside a vehicle, that stands next to the corridor."""
    item, middle_m = beside.item, float(beside.s_m[1])
    if item.kind is ObjectKind.PEDESTRIAN or item.speed_mps >= _WAITING_MPS or middle_m <= ego.front_s_m:
        return []
    if item.kind is ObjectKind.BICYCLE:
        is_near = beside.aside_m.min() < _WAITING_ASIDE_M
        return [SpeedCap(middle_m - _PASSING_M, middle_m, _PASSING_MPS, crossing_cause(item))] if is_near else []
    if beside.aside_m.min() >= _NEXT_LANE_M or beside.turn_rad >= _SAME_WAY_RAD:
        return []
    from_m, to_m = float(beside.s_m.min()) - ego.front_m, float(beside.s_m.max())
    return [SpeedCap(from_m, to_m, _BESIDE_STANDING_MPS, leader_cause(item, 0.0, config))]


def _crosses_or_comes(item: TrackedObject, heading_rad: float) -> bool:
    """Whether a vehicle drives across the ego's heading or against it."""
    along_mps = item.velocity_mps[0] * np.cos(heading_rad) + item.velocity_mps[1] * np.sin(heading_rad)
    is_walker = item.kind is ObjectKind.PEDESTRIAN
    return not is_walker and item.speed_mps > _CROSSING_MPS and bool(along_mps < ALONG_SHARE * item.speed_mps)


def _within_reach(
    route: Route, ego: EgoOnRoute, objects: Sequence[PredictedObject], reach_m: float
) -> list[PredictedObject]:
    x, y, _ = route.curve.pose_at(ego.s_m)
    return [one for one in objects if (one.item.x_m - x) ** 2 + (one.item.y_m - y) ** 2 < (reach_m + 5.0) ** 2]
