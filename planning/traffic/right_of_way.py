"""Who has the right of way at a conflict: the ego, if the road user has a sign or a red light."""

from __future__ import annotations

from av_core.types import SignalKind
from planning.traffic.conflicts import AGAINST_RAD, Conflict
from planning.traffic.ego_plan import EgoPlan

_OWN_LIGHT_M, _OWN_SIGN_M = 60.0, 40.0
"""A light, or a sign, that is at most this far before a conflict is the ego's there."""

_RED_FOR_THEM_RAD = (0.7, AGAINST_RAD)
"""At a traffic light, traffic whose heading differs from the ego's approach by an angle in this range has red."""


def has_priority(conflict: Conflict, plan: EgoPlan, unprotected: frozenset[str]) -> bool:
    """Whether the ego has the right of way: the road user is before the junction and has a sign or a red light.

    A sign gives the ego no right of way if it has one, too. `unprotected` are the ids of lights at which the ego goes
    without having seen green, so that crossing traffic cannot be assumed to have red.
    """
    if not conflict.on_approach:
        return False
    route = plan.route
    signals = [one for one in route.signals if 0.0 <= conflict.low_s_m - one.stop_s_m < _OWN_LIGHT_M]
    has_sign = any(
        one.kind is not SignalKind.TRAFFIC_LIGHT and conflict.low_s_m - one.stop_s_m < _OWN_SIGN_M for one in signals
    )
    if conflict.must_yield and not has_sign and bool(route.is_junction[route.row_at(conflict.low_s_m)]):
        return True
    lines = [
        one.stop_s_m for one in signals if one.kind is SignalKind.TRAFFIC_LIGHT and one.signal_id not in unprotected
    ]
    if not lines:
        return False
    turn = conflict.turned_rad(route, max(lines))
    return _RED_FOR_THEM_RAD[0] < turn < _RED_FOR_THEM_RAD[1]
