"""Decides whether the ego goes before or behind a road user that crosses its path, or waits for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import ObjectKind
from planning.config import BehaviorConfig
from planning.signals import EgoOnRoute
from planning.traffic.conflicts import INSIDE_M, OTHER_ROAD_RAD, Conflict
from planning.traffic.ego_plan import EgoPlan

_VULNERABLE = (ObjectKind.PEDESTRIAN, ObjectKind.BICYCLE)
"""Kinds of road users for which the ego brakes even if it can no longer stop in time, and which it never expects
to wait."""

_WALKER_BEFORE_S = 1.5
"""Time gap between the ego's leaving a conflict area and a pedestrian's arrival there."""

_WALKER_AFTER_S = 1.0
"""Time gap between a pedestrian's leaving a conflict area and the ego's arrival there."""

_BEFORE_SHARE, _AFTER_SHARE = 0.43, 0.85
"""Fractions by which full impatience reduces the time gaps before and after a crossing vehicle; the hysteresis
vanishes, too."""

_GOING_S = 0.25
"""Further reduction of the time gap before a crossing vehicle once the ego has started: an ego that gives up its
start stands on the paths of others."""

_NEGOTIATING_MPS, _THEIR_BRAKING_MPS2, _THEIR_GAP_M = 5.0, 5.0, 0.5
"""A vehicle up to this speed that does not accelerate is looking for a gap of its own. An impatient ego expects it
to wait if, with this deceleration, it can stop at least this gap before the ego's path."""

_CROSSES_MPS = 1.0
"""Speed from which on an ego that is on the way of others gets out of it, whatever else they may do."""


def must_wait(conflict: Conflict, plan: EgoPlan, config: BehaviorConfig) -> bool:
    """Whether the ego has to wait for a road user that crosses its path.

    The ego need not wait if it passes long enough before or after the road user, or if it drives and can no longer stop
    outside that road user's path. For a pedestrian or a bicycle it brakes even then, until its front is in their path.
    """
    ego = plan.ego
    is_vulnerable = conflict.item.kind in _VULNERABLE
    is_waiting = conflict.item.track_id in plan.yielding_to
    speeds_up = conflict.item.track_id in plan.speeding_up
    if not (is_vulnerable or speeds_up) and ego.impatience == 1.0 and _waits_for(ego, conflict, is_waiting):
        return False
    is_inside = ego.front_s_m > conflict.low_s_m - INSIDE_M
    cannot_halt = plan.halt_s_m + ego.front_m > conflict.low_s_m + INSIDE_M and ego.has_started
    if is_inside if is_vulnerable else cannot_halt:
        return False
    before_s, after_s = _time_margins(conflict, ego, config, is_waiting)
    arrives_s = plan.reaches_s(conflict.low_s_m - ego.front_m) + plan.sure_start_s
    leaves_s = plan.reaches_s(conflict.high_s_m + ego.rear_m) + plan.late_start_s
    if not np.isfinite(arrives_s):
        return False
    return leaves_s + before_s >= conflict.enter_s and arrives_s <= conflict.leave_s + after_s


def may_hide_another(conflict: Conflict, conflicts: Sequence[Conflict], plan: EgoPlan) -> bool:
    """Whether an impatient ego waits until a fast vehicle has crossed before it, because it sees none behind that one.

    In a stream, the next vehicle is often hidden behind this one. The ego that starts meanwhile may have to give up its
    start, and then stands where it needs a longer gap.
    """
    if not (plan.ego.looks_closely and plan.ego.stands and conflict.crosses):
        return False
    if plan.reaches_s(conflict.high_s_m + plan.ego.rear_m) + plan.late_start_s < conflict.enter_s:
        return False
    if conflict.item.kind in _VULNERABLE or conflict.item.speed_mps < _NEGOTIATING_MPS:
        return False
    return not any(
        other.item.track_id != conflict.item.track_id
        and other.enter_s > conflict.leave_s
        and abs(float(wrap_angle(other.item.yaw_rad - conflict.item.yaw_rad))) < OTHER_ROAD_RAD
        for other in conflicts
    )


def is_in_the_way(conflict: Conflict, plan: EgoPlan) -> bool:
    """Whether the ego drives on the way of a vehicle that crosses it, not yet there, and can only get out of it.

    If it stopped there for another way that the vehicle may take, it would stand where the vehicle comes most likely.
    """
    ego = plan.ego
    is_inside = plan.halt_s_m + ego.front_m > conflict.low_s_m + INSIDE_M and ego.s_m - ego.rear_m < conflict.high_s_m
    is_coming = conflict.enter_s > 0.0 and conflict.crosses and conflict.item.kind not in _VULNERABLE
    return is_inside and is_coming and ego.speed_mps > _CROSSES_MPS


def _time_margins(conflict: Conflict, ego: EgoOnRoute, config: BehaviorConfig, is_waiting: bool) -> tuple[float, float]:
    """Times between the ego and a crossing road user: if the ego goes before it, and if it goes after it.

    An ego that already waits for the road user needs longer times, until it loses its patience.
    """
    hysteresis_s = config.yield_hysteresis_s if is_waiting else 0.0
    if conflict.item.kind is ObjectKind.PEDESTRIAN:
        return _WALKER_BEFORE_S + hysteresis_s, _WALKER_AFTER_S + 0.5 * hysteresis_s
    hysteresis_s *= 1.0 - ego.impatience
    before_s = config.time_margin_before_s * (1.0 - _BEFORE_SHARE * ego.impatience)
    after_s = config.time_margin_after_s * (1.0 - _AFTER_SHARE * ego.impatience)
    if ego.impatience > 0.0 and _is_going(ego, is_waiting):
        before_s -= _GOING_S
    return before_s + hysteresis_s, after_s + 0.5 * hysteresis_s


def _waits_for(ego: EgoOnRoute, conflict: Conflict, is_waiting: bool) -> bool:
    """Whether a slow road user waits for the impatient ego: it can stop, or the ego is on its way already."""
    speed_mps = conflict.item.speed_mps
    if speed_mps > _NEGOTIATING_MPS:
        return False
    room_m = speed_mps * conflict.enter_s - _THEIR_GAP_M
    return _is_going(ego, is_waiting) or speed_mps**2 < 2.0 * _THEIR_BRAKING_MPS2 * room_m


def _is_going(ego: EgoOnRoute, is_waiting: bool) -> bool:
    """Whether the ego has started and does not give way to the road user."""
    return not is_waiting and ego.has_started
