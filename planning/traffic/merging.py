"""Merging: what the ego does when a road user comes onto its lane in its direction, or the ego comes onto the road
user's lane."""

from __future__ import annotations

from enum import Enum, auto

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import Constraint, ConstraintKind
from planning.config import BehaviorConfig
from planning.signals import SpeedCap
from planning.speed import Leader
from planning.traffic.conflicts import AGAINST_RAD, OTHER_ROAD_RAD, Conflict, leader_cause
from planning.traffic.ego_plan import EgoPlan
from planning.traffic.gap_acceptance import Follower, is_gap_enough

_TIMES_S = np.arange(0.0, 10.01, 0.1, dtype=np.float64)
"""Times for which the gap to traffic behind the ego is checked."""

_NOSE_M = 1.0
"""Distance by which the ego may be beyond the merging point so that others still pass it."""

_STREAM_SHARE = 0.7
"""Least speed of the ego as a fraction of the speed of a vehicle beside it that it lets pass. Otherwise a stream
would overtake it for ever."""

_STANDS_MPS = 1.0
"""An ego below this speed stays where it is for a road user that crosses before its front."""

_LETTING_MPS2 = 3.0
"""Largest deceleration of the ego to get behind a vehicle that it lets in."""

_BESIDE_RAD = 0.2
"""Largest difference in heading of a road user that drives beside the ego."""

_CAP_M = 100.0
"""Distance for which the ego stays slow to let a vehicle in."""


class Order(Enum):
    """Order in which the ego joins the road of another road user: unhindered, behind it as its follower, or after
    waiting."""

    FREELY = auto()
    FOLLOWS = auto()
    WAITS = auto()


def order_of_joining(conflict: Conflict, plan: EgoPlan, config: BehaviorConfig) -> Order | None:
    """The order in which the ego and a road user come onto the road on which the road user drives.

    None if the ego is on that road already, if the road user turns, or if the ego can no longer stop. But an ego that
    turns left gives way to an oncoming one that turns to the same road. The ego goes before a road user that leaves a
    large enough gap (`gap_acceptance`), and behind one that is far enough ahead; if that one is faster, it does not
    hinder the ego.
    """
    ego = plan.ego
    comes_from_other_road = conflict.turned_rad(plan.route, ego.s_m) > OTHER_ROAD_RAD
    turns = conflict.turn_rad > OTHER_ROAD_RAD and not comes_the_same_way(conflict, plan)
    if not comes_from_other_road or turns:
        return None
    if plan.halt_s_m + ego.front_m > conflict.low_s_m + _NOSE_M:
        return None
    joins_s = plan.reaches_s(conflict.low_s_m - ego.front_m)
    if not np.isfinite(joins_s):
        return Order.WAITS
    sure_s = joins_s + plan.sure_start_s
    rear_m = conflict.rear_at_enter_m + conflict.along_mps * (sure_s - conflict.enter_s)
    s_m, speed_mps = plan.at(sure_s)
    if s_m + ego.front_m < rear_m - config.conflict_gap_m:
        return Order.FREELY if conflict.along_mps > speed_mps else Order.FOLLOWS
    is_waiting = conflict.item.track_id in plan.yielding_to
    follower = Follower(conflict.item.speed_mps, conflict.enter_s, conflict.front_at_enter_m, sure_s)
    rear_m_at = plan.places_m(_TIMES_S - plan.late_start_s) - ego.rear_m
    is_going = not is_waiting and ego.has_started
    enough = is_gap_enough(_TIMES_S, rear_m_at, follower, is_waiting, is_going, ego.impatience)
    return Order.FREELY if enough else Order.WAITS


def comes_the_same_way(conflict: Conflict, plan: EgoPlan) -> bool:
    """Whether an oncoming road user turns into the road into which the ego turns left: the ego gives way to it."""
    route, s_m = plan.route, plan.ego.s_m
    turn_rad = route.curve.pose_at(conflict.high_s_m)[2] - route.curve.pose_at(s_m)[2]
    is_oncoming = conflict.turned_rad(route, s_m) > AGAINST_RAD
    return conflict.ends_along and is_oncoming and float(wrap_angle(turn_rad)) > OTHER_ROAD_RAD


def let_in(conflict: Conflict, plan: EgoPlan, config: BehaviorConfig) -> Leader | SpeedCap | None:
    """How the ego lets a road user come onto its lane in its direction; None if it need not.

    * The ego follows one that is ahead, and slows down for one that is beside.
    * It ignores one that is behind, or that enters only after `merge_horizon_s`.
    * It goes first where it is ahead by half its length and could no longer get behind the other one: an ego that slows
      down just before such a one is hit from behind.
    * In a junction it slows for none that crosses behind its front: it has to get out of the way.
    * An ego that hardly moves stands still for one that crosses before its front. Where lanes join, they do not cross.
    """
    ego, route = plan.ego, plan.route
    if conflict.enter_s > config.merge_horizon_s:
        return None
    ego_s_m, _ = plan.at(conflict.enter_s)
    faster_mps = max(0.0, conflict.along_mps - ego.speed_mps)
    if conflict.front_at_enter_m < ego_s_m - ego.rear_m - 1.0 - 1.5 * faster_mps:
        return None
    if conflict.enter_s == 0.0 and conflict.s_at_enter_m < ego.s_m + 0.5 * ego.front_m:
        return None
    rear_now_m = conflict.rear_at_enter_m - conflict.along_mps * conflict.enter_s
    crosses = conflict.turned_rad(route, ego.s_m) > _BESIDE_RAD
    is_behind = rear_now_m + 2.0 * conflict.half_s_at_enter_m < ego.front_s_m
    if crosses and is_behind and route.is_junction[route.row_at(ego.s_m)]:
        return None
    if rear_now_m - ego.front_m > ego.s_m:
        cause = leader_cause(conflict.item, conflict.along_mps, config)
        return Leader(rear_now_m - ego.front_m, conflict.along_mps, cause)
    front_now_m = rear_now_m + 2.0 * conflict.half_s_at_enter_m
    is_first = front_now_m < ego.s_m + 0.5 * (ego.front_m - ego.rear_m)
    to_get_behind_m = ego_s_m + ego.front_m - conflict.rear_at_enter_m
    if is_first and to_get_behind_m > 0.5 * _LETTING_MPS2 * conflict.enter_s**2:
        return None
    least_mps = 0.0 if crosses else _STREAM_SHARE * conflict.along_mps
    creeps_mps = 0.0 if crosses and ego.speed_mps < _STANDS_MPS else 1.0
    slow_mps = max(least_mps, creeps_mps, min(conflict.along_mps, ego.speed_mps) - 2.0)
    cause = Constraint(ConstraintKind.MERGING_TRAFFIC, str(conflict.item.track_id))
    return SpeedCap(ego.s_m, ego.s_m + _CAP_M, slow_mps, cause)
