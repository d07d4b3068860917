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
    Constraint,
    ConstraintKind,
    Float,
    ObjectKind,
    PredictedObject,
    Prediction,
    SignalKind,
    TrackedObject,
)
from planning.config import BehaviorConfig
from planning.conflicts import Conflict, conflicts_of, crossing_cause, project_items
from planning.corridor import Corridor, corridor_of
from planning.gap_acceptance import is_gap_enough
from planning.junctions.entry import Junction
from planning.junctions.keeping_clear import OTHER_ROAD_RAD, OnPath, stops_before_junctions
from planning.reference_path import Route
from planning.signals import EgoOnRoute, SpeedCap, stop_position_m
from planning.speed import Leader, SpeedReference, StopTarget

_WALKER_BEFORE_S = 1.5
"""Time gap between the ego's leaving a conflict area and a pedestrian's arrival there."""

_WALKER_AFTER_S = 1.0
"""Time gap between a pedestrian's leaving a conflict area and the ego's arrival there."""

_LINE_BEFORE_CONFLICT_M = 25.0
"""The ego waits at a stop line or junction entry if that is at most this far before the conflict."""

_OWN_LIGHT_M, _OWN_SIGN_M = 60.0, 40.0
"""A light, or a sign, that is at most this far before a conflict is the ego's there."""

_RED_FOR_THEM_RAD = (0.7, 2.44)
"""At a traffic light, traffic whose heading differs from the ego's approach by an angle in this range has red."""

_COMING_MPS, _CLEAR_AHEAD_M = 2.0, 1.0
"""Speed against the ego's heading of an oncoming vehicle; and how far from the ego's front it must leave the path."""

_FEASIBLE_MPS2 = 6.0
"""Deceleration up to which stopping for a conflict is still considered possible."""

_PASSED_M = 0.7
"""How far the speed profile may pass a stop that comes late (`emergency_room_m`). A stop where the ego can just halt
would move on with it."""

_BEFORE_SHARE, _AFTER_SHARE = 0.6, 0.85
"""Shares of the times before and after a crossing vehicle that an impatient ego does without, beside the hysteresis."""

_GOING_MPS, _GOING_S = 0.3, 0.25
"""An ego that is so fast has started into a gap. It does without so much more of the time before: a start that is given
up ends on the ways of others."""

_NEGOTIATING_MPS, _THEIR_BRAKING_MPS2, _THEIR_GAP_M = 5.0, 5.0, 0.5
"""A vehicle that is no faster is looking for its own way through. It waits for an impatient ego if braking like this it
stands at least that gap before the ego's way."""

_START_S, _SURE_START_S, _STARTED_MPS = 0.4, 0.25, 4.0
"""Times that a start takes longer than with the acceleration at once, at most and at least, and the speed from which it
does not."""

_INSIDE_M = 0.3
"""An ego that cannot halt before it is so far inside the place of a conflict drives on. The place has a margin, so that
vehicles still pass there."""

_STREAM_SHARE = 0.7
"""The ego becomes no slower than this share of the speed of a vehicle beside it that it lets pass: a stream would
overtake it for ever."""

_AGAINST_RAD = _RED_FOR_THEM_RAD[1]
"""A road user whose heading differs from the ego's approach by more is oncoming."""

_BESIDE_RAD = 0.2
"""A road user whose heading differs from the ego's by no more drives beside it."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """What road users require of the ego: leaders to follow, stops and speed caps.

    `yielding_to` holds the track ids that the ego gives way to; the next decision takes it in, for hysteresis.
    """

    leaders: list[Leader] = field(default_factory=list)
    stops: list[StopTarget] = field(default_factory=list)
    caps: list[SpeedCap] = field(default_factory=list)
    yielding_to: frozenset[int] = frozenset()


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
    ) -> Constraints:
        """Leaders, stops and speed caps from the road users of `prediction`.

        `ego_times_s` (N,) is when the ego would reach each point of `reference`. `yielding_to` holds the track ids from
        the last decision. `unprotected` are the ids of lights at which the ego goes without having seen green, so that
        crossing traffic cannot be assumed to have red.
        """
        reach = float(reference.s_m[-1])
        near = _within_reach(route, ego, prediction.objects, reach - ego.s_m)
        result = Constraints()
        if not near:
            return result
        corridor = corridor_of(route, ego.s_m - 2.0, reach, self._width_m, ego.front_m, 2)
        going = self._drives_out(corridor, ego, near, prediction.times_s)
        staying = [one for one in near if one.item.track_id not in going]
        beside, present = self._constrain_by_present(corridor, ego, staying, result)
        ahead = [one for one in self._junctions if one.free_s_m > ego.front_s_m]
        arrives_s = [float(np.interp(one.from_s_m - ego.front_m, reference.s_m, ego_times_s)) for one in ahead]
        result.stops.extend(
            stops_before_junctions(corridor, ego, ahead, arrives_s, present, prediction.times_s, self._config)
        )
        entering = [staying[row] for row in beside if self._may_enter(staying[row], beside[row], prediction.horizon_s)]
        entering += [one for one in near if one.item.track_id in going]
        yielding: set[int] = set()
        for conflict in conflicts_of(corridor, entering, prediction.times_s, self._config):
            if self._has_priority(conflict, route, ego, unprotected):
                continue
            if self._resolve_conflict(conflict, route, ego, reference, ego_times_s, yielding_to, result):
                yielding.add(conflict.item.track_id)
        return Constraints(result.leaders, result.stops, result.caps, frozenset(yielding))

    def _leader_cause(self, item: TrackedObject, speed_mps: float) -> Constraint:
        moves = speed_mps > self._config.moving_leader_mps
        return Constraint(ConstraintKind.LEADER if moves else ConstraintKind.OBSTACLE, str(item.track_id))

    def _drives_out(
        self, corridor: Corridor, ego: EgoOnRoute, near: Sequence[PredictedObject], times_s: Float
    ) -> frozenset[int]:
        """The oncoming vehicles in the corridor that will leave it before they come to the ego, by all their ways.

        They are on a lane that the ego will use after them: they are no leaders, but conflicts with an end.
        """
        heading = float(corridor.curve.yaw_rad[0])
        coming = [
            one
            for one in near
            if one.modes
            and one.item.velocity_mps[0] * np.cos(heading) + one.item.velocity_mps[1] * np.sin(heading) < -_COMING_MPS
        ]
        going = {one.item.track_id for one in coming}
        for conflict in conflicts_of(corridor, coming, times_s, self._config):
            if conflict.low_s_m < ego.front_s_m + _CLEAR_AHEAD_M or conflict.leave_s > times_s[-1]:
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
                result.leaders.append(Leader(low - ego.front_m, speed_mps, self._leader_cause(item, speed_mps)))
                turn_rad = abs(float(wrap_angle(item.yaw_rad - path_yaw)))
                present.append(OnPath(staying[row], low, turn_rad, float(along)))
        aside = np.abs(boxes.d_m[:, 0, 1]).tolist()
        return {row: offset for row, offset in enumerate(aside) if items[row].track_id not in bound}, present

    def _may_enter(self, one: PredictedObject, offset_m: float, horizon_s: float) -> bool:
        """Whether a road user moves, and is so near to the ego's path that it may come there within the horizon."""
        item = one.item
        return bool(one.modes) and offset_m < item.speed_mps * horizon_s + item.length_m + self._width_m

    def _resolve_conflict(
        self,
        conflict: Conflict,
        route: Route,
        ego: EgoOnRoute,
        reference: SpeedReference,
        ego_times_s: Float,
        yielding_to: frozenset[int],
        result: Constraints,
    ) -> bool:
        """Add the constraint from `conflict` to `result`; True when the ego gives way."""
        walker = conflict.item.kind is ObjectKind.PEDESTRIAN
        if not walker and conflict.along_mps > 0.5 * conflict.item.speed_mps:
            stop_s = self._stop_to_let_pass(conflict, route, ego, reference, ego_times_s, yielding_to)
            if stop_s is not None:
                result.stops.append(StopTarget(stop_s, crossing_cause(conflict.item)))
                return True
            return self._merge(conflict, route, ego, reference, ego_times_s, result)
        is_waiting = conflict.item.track_id in yielding_to
        if not walker and ego.impatience == 1.0 and _waits_for(ego, conflict, is_waiting):
            return False
        is_inside = ego.front_s_m > conflict.low_s_m - _INSIDE_M
        if is_inside if walker else _halt_s_m(ego) + ego.front_m > conflict.low_s_m + _INSIDE_M:
            return False
        before, after = self._time_margins(conflict, ego, is_waiting)
        arrive = float(np.interp(conflict.low_s_m - ego.front_m, reference.s_m, ego_times_s))
        clear = float(np.interp(conflict.high_s_m + ego.rear_m, reference.s_m, ego_times_s))
        starts = max(1.0 - ego.speed_mps / _STARTED_MPS, 0.0)
        arrive, clear = arrive + _SURE_START_S * starts, clear + _START_S * starts
        if not np.isfinite(arrive) or clear + before < conflict.enter_s or arrive > conflict.leave_s + after:
            return False
        stop_s = self._stop_position_m(conflict, route, ego, walker)
        result.stops.append(StopTarget(stop_s, crossing_cause(conflict.item)))
        return True

    def _time_margins(self, conflict: Conflict, ego: EgoOnRoute, is_waiting: bool) -> tuple[float, float]:
        """Times between the ego and a crossing road user: if the ego goes before it, and if it goes after it.

        Who waits for a vehicle needs longer ones, until it loses its patience.
        """
        config, hysteresis_s = self._config, self._config.yield_hysteresis_s if is_waiting else 0.0
        if conflict.item.kind is ObjectKind.PEDESTRIAN:
            return _WALKER_BEFORE_S + hysteresis_s, _WALKER_AFTER_S + 0.5 * hysteresis_s
        hysteresis_s *= 1.0 - ego.impatience
        before_s = config.time_margin_before_s * (1.0 - _BEFORE_SHARE * ego.impatience)
        after_s = config.time_margin_after_s * (1.0 - _AFTER_SHARE * ego.impatience)
        if ego.impatience > 0.0 and not is_waiting:
            before_s -= _GOING_S
        return before_s + hysteresis_s, after_s + 0.5 * hysteresis_s

    def _has_priority(self, conflict: Conflict, route: Route, ego: EgoOnRoute, unprotected: frozenset[str]) -> bool:
        """Whether the ego has the right of way: the road user is before the junction and has a sign or a red light.

        A sign gives the ego no right of way if it has one, too.
        """
        if not conflict.on_approach:
            return False
        row = route.row_at(conflict.low_s_m)
        signals = [one for one in route.signals if 0.0 <= conflict.low_s_m - one.stop_s_m < _OWN_LIGHT_M]
        has_sign = any(
            one.kind is not SignalKind.TRAFFIC_LIGHT and conflict.low_s_m - one.stop_s_m < _OWN_SIGN_M
            for one in signals
        )
        if conflict.must_yield and not has_sign and bool(route.is_junction[row]):
            return True
        lines = [
            one.stop_s_m for one in signals if one.kind is SignalKind.TRAFFIC_LIGHT and one.signal_id not in unprotected
        ]
        if not lines:
            return False
        turn = conflict.turned_rad(route, max(lines))
        return _RED_FOR_THEM_RAD[0] < turn < _RED_FOR_THEM_RAD[1]

    def _stop_to_let_pass(
        self,
        conflict: Conflict,
        route: Route,
        ego: EgoOnRoute,
        reference: SpeedReference,
        ego_times_s: Float,
        yielding_to: frozenset[int],
    ) -> float | None:
        """Where the ego waits before it turns onto the road of `conflict`; None where it need not, or cannot."""
        from_other_road = conflict.turned_rad(route, ego.s_m) > OTHER_ROAD_RAD
        if not from_other_road or conflict.turn_rad > OTHER_ROAD_RAD:
            return None
        if _halt_s_m(ego) + ego.front_m > conflict.low_s_m - _INSIDE_M:
            return None
        s_m, mps = _ego_at(conflict.enter_s, reference.s_m, ego_times_s, ego.speed_mps)
        other_front_m = conflict.s_at_enter_m + conflict.half_s_at_enter_m
        other_rear_m = conflict.s_at_enter_m - conflict.half_s_at_enter_m
        if s_m + ego.front_m < other_rear_m - self._config.conflict_gap_m:
            return None  # the ego comes behind it
        is_waiting = conflict.item.track_id in yielding_to
        if is_gap_enough(s_m - ego.rear_m - other_front_m, mps, conflict.item.speed_mps, is_waiting, ego.impatience):
            return None
        return self._stop_position_m(conflict, route, ego, walker=False)

    def _merge(
        self,
        conflict: Conflict,
        route: Route,
        ego: EgoOnRoute,
        reference: SpeedReference,
        ego_times_s: Float,
        result: Constraints,
    ) -> bool:
        """Handle a road user that will enter the ego's lane in the same direction. True when the ego gives way.

        The ego follows it if it is ahead, slows down to let it in if it is beside, and ignores it if it is behind or
        enters only after `merge_horizon_s`. In a junction it slows for none that crosses behind its front: it has
        to get out of the way. Where lanes join, they do not cross.
        """
        config = self._config
        if conflict.enter_s > config.merge_horizon_s:
            return False
        ego_s, _ = _ego_at(conflict.enter_s, reference.s_m, ego_times_s, ego.speed_mps)
        front = conflict.s_at_enter_m + conflict.half_s_at_enter_m
        faster = max(0.0, conflict.along_mps - ego.speed_mps)
        if front < ego_s - ego.rear_m - 1.0 - 1.5 * faster:
            return False
        if conflict.enter_s == 0.0 and conflict.s_at_enter_m < ego.s_m + 0.5 * ego.front_m:
            return False
        rear_now = conflict.s_at_enter_m - conflict.half_s_at_enter_m - conflict.along_mps * conflict.enter_s
        crosses = conflict.turned_rad(route, ego.s_m) > _BESIDE_RAD
        is_behind = rear_now + 2.0 * conflict.half_s_at_enter_m < ego.front_s_m
        if crosses and is_behind and route.is_junction[route.row_at(ego.s_m)]:
            return False
        if rear_now - ego.front_m > ego.s_m:
            cause = self._leader_cause(conflict.item, conflict.along_mps)
            result.leaders.append(Leader(rear_now - ego.front_m, conflict.along_mps, cause))
        else:
            least = 0.0 if crosses else _STREAM_SHARE * conflict.along_mps
            slow = max(least, 1.0, min(conflict.along_mps, ego.speed_mps) - 2.0)
            far = ego.s_m + 100.0
            cause = Constraint(ConstraintKind.MERGING_TRAFFIC, str(conflict.item.track_id))
            result.caps.append(SpeedCap(ego.s_m, far, slow, cause))
        return True

    def _stop_position_m(self, conflict: Conflict, route: Route, ego: EgoOnRoute, walker: bool) -> float:
        """Arc length at which the ego waits for `conflict`.

        The ego waits at the first stop line or junction entry that is near the conflict and that gentle braking can
        reach, otherwise right before the conflict. That is also where it waits for oncoming traffic, in whose gaps it
        could not come from the line. In a junction without lights, it does not wait on the ways of others there.
        """
        config = self._config
        at_conflict = conflict.low_s_m - ego.front_m - config.conflict_gap_m
        if walker:
            return at_conflict
        for line_s in _waiting_lines(route, ego.front_s_m, conflict.low_s_m):
            if conflict.turned_rad(route, line_s) > _AGAINST_RAD:
                break
            place = stop_position_m(route, line_s, config) - ego.front_m
            if (
                conflict.low_s_m - line_s < _LINE_BEFORE_CONFLICT_M
                and ego.deceleration_to_mps2(place) < config.yellow_decel_mps2
            ):
                return min(place, at_conflict)
        for junction in self._junctions:
            place = junction.free_s_m - ego.front_m
            if (
                junction.from_s_m <= conflict.low_s_m <= junction.to_s_m
                and not junction.has_light
                and ego.front_s_m <= junction.free_s_m
                and ego.deceleration_to_mps2(place) < config.yellow_decel_mps2
            ):
                at_conflict = min(at_conflict, place)
        return max(at_conflict, _halt_s_m(ego) - _PASSED_M)


def _waits_for(ego: EgoOnRoute, conflict: Conflict, is_waiting: bool) -> bool:
    """Whether a slow road user waits for the impatient ego: it can stop, or the ego is on its way already."""
    speed_mps = conflict.item.speed_mps
    if speed_mps > _NEGOTIATING_MPS:
        return False
    room_m = speed_mps * conflict.enter_s - _THEIR_GAP_M
    is_going = not is_waiting and ego.speed_mps > _GOING_MPS
    return is_going or speed_mps**2 < 2.0 * _THEIR_BRAKING_MPS2 * room_m


def _ego_at(time_s: float, s_m: Float, times_s: Float, speed_mps: float) -> tuple[float, float]:
    """Arc length and speed of an ego that is at `s_m` at `times_s`, `speed_mps` fast where it is now."""
    finite = np.isfinite(times_s)
    s_m, times_s = s_m[finite], times_s[finite]
    row = int(np.searchsorted(times_s, time_s))
    if row in (0, len(times_s)):
        return float(np.interp(time_s, times_s, s_m)), speed_mps if row == 0 else 0.0
    return float(np.interp(time_s, times_s, s_m)), float(np.diff(s_m)[row - 1] / np.diff(times_s)[row - 1])


def _halt_s_m(ego: EgoOnRoute) -> float:
    """Arc length at which the ego comes to a halt if it brakes as hard as is considered possible."""
    return ego.s_m + ego.speed_mps**2 / (2.0 * _FEASIBLE_MPS2)


def _waiting_lines(route: Route, from_s_m: float, to_s_m: float) -> list[float]:
    """Arc lengths of the stop lines and junction entries between two arc lengths."""
    low, high = np.searchsorted(route.s_m, [from_s_m, to_s_m])
    inside = route.is_junction[low : high + 1].astype(np.int8)
    entries = route.s_m[low + 1 + np.flatnonzero(np.diff(inside) == 1)].tolist()
    return sorted([s.stop_s_m for s in route.signals if from_s_m < s.stop_s_m < to_s_m] + entries)


def _within_reach(
    route: Route, ego: EgoOnRoute, objects: Sequence[PredictedObject], reach_m: float
) -> list[PredictedObject]:
    x, y, _ = route.curve.pose_at(ego.s_m)
    return [one for one in objects if (one.item.x_m - x) ** 2 + (one.item.y_m - y) ** 2 < (reach_m + 5.0) ** 2]
