"""Where the ego waits for a road user that crosses its way or comes onto its road."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planning.config import BehaviorConfig
from planning.junctions.entry import Junction
from planning.reference_path import Route
from planning.signals import EgoOnRoute, stop_position_m
from planning.traffic.conflicts import AGAINST_RAD, Conflict
from planning.traffic.ego_plan import EgoPlan
from planning.traffic.run_up import RUN_UP_M, wants_run_up

_LINE_BEFORE_CONFLICT_M = 25.0
"""The ego waits at a stop line or junction entry if that is at most this far before the conflict."""

PASSED_M = 0.7
"""How far the speed profile may pass a stop that comes late (`emergency_room_m`). A stop where the ego can just halt
would move on with it."""

_OFF_LINE_M, _GAP_MIN_M = 1.3, 1.0
"""An ego that waits in a junction is off the line of its light once its rear bumper is so far behind it: a light that
turns red counts as run up to 1 m (CARLA Leaderboard). To get there, the ego leaves a smaller gap to the conflict."""

_STEP_UP_M = 1.0
"""An ego that stands and waits does not move up by less than this: the place of a conflict is not known better."""


def before_crossing_m(conflict: Conflict, plan: EgoPlan, config: BehaviorConfig) -> float:
    """Arc length at which the ego waits right before the place of a conflict."""
    return conflict.low_s_m - plan.ego.front_m - config.conflict_gap_m


def waiting_place_m(conflict: Conflict, plan: EgoPlan, junctions: Sequence[Junction], config: BehaviorConfig) -> float:
    """Arc length at which the ego waits for a vehicle.

    * At the first stop line or junction entry that is near the conflict, or as soon before it as gentle braking allows.
    * Otherwise right before the conflict; there also for oncoming traffic, whose gaps are too short to come from the
      line.
    * In a junction without lights, not on the ways of others there. An ego without patience moves up to the first of
      them.
    * In a junction with a light, with its tail off the line, where there is room.

    An ego that stands does not move up by a little, and one without patience keeps its run-up.
    """
    place_m = _place_m(conflict, plan, junctions, config)
    waits = plan.ego.stands and conflict.item.track_id in plan.yielding_to
    least_m = RUN_UP_M if wants_run_up(conflict, plan.ego, junctions) else _STEP_UP_M
    return plan.ego.s_m if waits and 0.0 < place_m - plan.ego.s_m < least_m else place_m


def _place_m(conflict: Conflict, plan: EgoPlan, junctions: Sequence[Junction], config: BehaviorConfig) -> float:
    """The place where the ego would wait if it did not stand yet."""
    ego, route = plan.ego, plan.route
    place_m = before_crossing_m(conflict, plan, config)
    within = [one for one in junctions if one.from_s_m <= conflict.low_s_m <= one.to_s_m and not one.has_light]
    moves_up = bool(within) and ego.impatience == 1.0
    for line_s_m in _waiting_lines(route, ego.front_s_m, conflict.low_s_m):
        if conflict.turned_rad(route, line_s_m) > AGAINST_RAD or moves_up:
            break
        at_line_m = stop_position_m(route, line_s_m, config) - ego.front_m
        is_near = conflict.low_s_m - line_s_m < _LINE_BEFORE_CONFLICT_M
        if is_near and ego.deceleration_to_mps2(line_s_m - ego.front_m) < config.yellow_decel_mps2:
            return min(max(at_line_m, ego.braked_s_m(config.yellow_decel_mps2)), place_m)
    for junction in within:
        free_m = junction.free_s_m - ego.front_m
        if ego.front_s_m <= junction.free_s_m and ego.deceleration_to_mps2(free_m) < config.yellow_decel_mps2:
            place_m = min(place_m, free_m)
    place_m = _off_the_line_m(place_m, conflict, ego, junctions)
    return max(place_m, plan.halt_s_m - PASSED_M)


def _off_the_line_m(place_m: float, conflict: Conflict, ego: EgoOnRoute, junctions: Sequence[Junction]) -> float:
    """`place_m`, or one shortly behind it where the ego's tail is off the line of a light that may turn red."""
    for junction in junctions:
        if junction.has_light and junction.from_s_m <= conflict.low_s_m <= junction.to_s_m:
            off_m = junction.from_s_m + ego.rear_m + _OFF_LINE_M
            if place_m < off_m <= conflict.low_s_m - ego.front_m - _GAP_MIN_M:
                return off_m
    return place_m


def _waiting_lines(route: Route, from_s_m: float, to_s_m: float) -> list[float]:
    """Arc lengths of the stop lines and junction entries between two arc lengths."""
    low, high = np.searchsorted(route.s_m, [from_s_m, to_s_m])
    inside = route.is_junction[low : high + 1].astype(np.int8)
    entries = route.s_m[low + 1 + np.flatnonzero(np.diff(inside) == 1)].tolist()
    return sorted([s.stop_s_m for s in route.signals if from_s_m < s.stop_s_m < to_s_m] + entries)
