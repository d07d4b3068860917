"""Finds events that can never happen on a route, whatever the ego does.

In a Leaderboard route such events are allowed: its scenarios may end with the route.
"""

from __future__ import annotations

from scenarios.script.conditions import Condition
from scenarios.script.model import Script


def why_never(script: Script, route_length_m: float, timeout_s: float | None = None) -> str:
    """Which event of a script can never happen, and why; empty if each one can."""
    for event in script.events:
        reason = _reason(event.when, route_length_m, timeout_s)
        if reason:
            return f"event {event.name} can never happen: {reason}"
    return ""


def _reason(condition: Condition, length_m: float, timeout_s: float | None) -> str:
    if condition.any is not None:
        reasons = [_reason(part, length_m, timeout_s) for part in condition.any]
        return reasons[0] if all(reasons) else ""
    if condition.all is not None:
        return next((reason for part in condition.all if (reason := _reason(part, length_m, timeout_s))), "")
    if condition.route_m is not None and condition.route_m > length_m:
        return f"route_m {condition.route_m:g} is beyond the route, which has {length_m:.0f} m"
    if condition.time_s is not None and timeout_s is not None and condition.time_s >= timeout_s:
        return f"time_s {condition.time_s:g} is after the end of the drive, timeout_s {timeout_s:g}"
    if condition.distance is not None and condition.distance.below_m == 0.0:
        return "no distance is below 0 m"
    if condition.arrival is not None and condition.arrival.below_s == 0.0:
        return "no arrival is in less than 0 s"
    if condition.speed is not None:
        above_mps, below_mps = condition.speed.above_mps, condition.speed.below_mps
        if above_mps is not None and below_mps is not None and above_mps >= below_mps:
            return f"no speed is above {above_mps:g} and below {below_mps:g} m/s"
    return ""
