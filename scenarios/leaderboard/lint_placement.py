"""Triggers in places that are wrong whatever the town's roads are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from av_core.config import shortened
from scenarios.leaderboard.routes import LeaderboardRoute, Problem, Trigger, Waypoint

TRIGGER_DISTANCE_M = 2.0
"""Distance from the route up to which the official code accepts a trigger, and at which it fires."""

TRIGGER_HEADING_DEG = 10.0
"""Angle to the route up to which the official code accepts a trigger."""

TRIGGERS_JUDGED = 50
"""Largest number of triggers of a route that are compared to tell radians from degrees."""

_RADIANS_FIT_DEG = 25.0
"""Largest median error, read as radians, of headings that are taken for radians."""

_DEGREES_MISS_DEG = 45.0
"""Least median error of the same headings, read as degrees."""


def heading_error_deg(yaw_deg: float, other_deg: float) -> float:
    """Angle between two headings, 0 to 180."""
    return abs((yaw_deg - other_deg + 180.0) % 360.0 - 180.0)


def placement_problems(route: LeaderboardRoute) -> Iterator[Problem]:
    yield from _parking_exits(route)
    yield from _overlaps(route)
    yield from _yaw_in_radians(route)


def _parking_exits(route: LeaderboardRoute) -> Iterator[Problem]:
    for scenario in route.scenarios:
        if scenario.type == "ParkingExit" and route.waypoints:
            away_m = _distance_m(scenario.trigger, route.waypoints[0])
            if away_m > TRIGGER_DISTANCE_M:
                yield Problem(
                    scenario.trigger.line,
                    f"the trigger of ParkingExit is {away_m:.1f} m from the first waypoint; expected at most "
                    f"{TRIGGER_DISTANCE_M:g} m, because the ego starts there",
                )


def _overlaps(route: LeaderboardRoute) -> Iterator[Problem]:
    """Problems of triggers at the same place as an earlier one: both scenarios would start at once.

    Each trigger is compared only with earlier triggers that are no such problem themselves.
    """
    cells: dict[tuple[int, int], list[int]] = {}
    for number, scenario in enumerate(route.scenarios):
        trigger = scenario.trigger
        column, row = int(trigger.x_m // TRIGGER_DISTANCE_M), int(trigger.y_m // TRIGGER_DISTANCE_M)
        near = [cells.get((column + dx, row + dy), ()) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
        earlier = next((i for cell in near for i in cell if _is_same(route.scenarios[i].trigger, trigger)), None)
        if earlier is None:
            cells.setdefault((column, row), []).append(number)
            continue
        other = route.scenarios[earlier]
        yield Problem(
            trigger.line,
            f"{shortened(scenario.name)} starts together with {shortened(other.name)} (line {other.trigger.line}): "
            f"their triggers are {_distance_m(trigger, other.trigger):.1f} m apart",
        )


def _is_same(one: Trigger, other: Trigger) -> bool:
    is_near = _distance_m(one, other) < TRIGGER_DISTANCE_M
    return is_near and heading_error_deg(one.yaw_deg, other.yaw_deg) < TRIGGER_HEADING_DEG


def _yaw_in_radians(route: LeaderboardRoute) -> Iterator[Problem]:
    """Compares the headings, in both units, with the straight lines between the waypoints."""
    triggers = [scenario.trigger for scenario in route.scenarios]
    if len(route.waypoints) < 2 or not triggers or max(abs(trigger.yaw_deg) for trigger in triggers) > 2.0 * math.pi:
        return
    triggers = triggers[:TRIGGERS_JUDGED]
    bearings = _bearings_deg(route.waypoints, triggers)
    pairs = list(zip(triggers, bearings, strict=True))
    as_degrees = median(heading_error_deg(trigger.yaw_deg, bearing) for trigger, bearing in pairs)
    as_radians = median(heading_error_deg(math.degrees(trigger.yaw_deg), bearing) for trigger, bearing in pairs)
    if as_radians <= _RADIANS_FIT_DEG and as_degrees >= _DEGREES_MISS_DEG:
        yield Problem(
            triggers[0].line,
            f"yaw {triggers[0].yaw_deg:g} and all others of this route are in radians, as it seems; expected degrees",
        )


def _bearings_deg(waypoints: Sequence[Waypoint], triggers: Sequence[Trigger]) -> list[float]:
    """For each trigger the direction of the straight line between waypoints that is nearest to it."""
    xy_m = np.array([(waypoint.x_m, waypoint.y_m) for waypoint in waypoints])
    start_m, step_m = xy_m[:-1], np.diff(xy_m, axis=0)
    length2 = np.maximum((step_m**2).sum(axis=1), 1e-12)
    found = []
    for trigger in triggers:
        to_trigger_m = np.array((trigger.x_m, trigger.y_m)) - start_m
        part = np.clip((to_trigger_m * step_m).sum(axis=1) / length2, 0.0, 1.0)
        away_m = np.hypot(*(to_trigger_m - part[:, None] * step_m).T)
        dx, dy = step_m[int(np.argmin(away_m))]
        found.append(math.degrees(math.atan2(dy, dx)))
    return found


def _distance_m(one: Trigger, other: Trigger | Waypoint) -> float:
    return math.hypot(one.x_m - other.x_m, one.y_m - other.y_m)
