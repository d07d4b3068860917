"""How far the ego came on its route, and what ends a drive: deviation, standing still, time-out."""

from __future__ import annotations

import numpy as np

from scenarios.judging.infraction_log import InfractionKind
from scenarios.judging.route_points import RoutePoints, RouteProgress
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.judging.tick import Tick

COMPLETE_SHARE = 0.99
"""The route is complete when the ego has driven more than this share of it and is within `COMPLETE_M` of its end."""

COMPLETE_M = 10.0

COMPLETION_WINDOW = 2
"""Number of route points ahead that are searched for the last one that the ego has passed."""

DEVIATION_MAX_M = 30.0
"""Distance from the route at which the drive ends."""

DEVIATION_SAFE_M = 15.0
"""Distance from the route beyond which the ego may drive only a small part of it: `DEVIATION_MAX_SHARE`."""

DEVIATION_MAX_SHARE = 0.3

DEVIATION_WINDOW = 5
"""Number of route points ahead among which the nearest is searched."""

STUCK_MPS = 0.1
"""Below this speed the ego stands still."""

TIME_MIN_S = 300.0
"""Allowed time that every route gets, in addition to the time for its length."""

TIME_SPEED_RATIO = 0.1
"""The allowed time for a route's length is that of a drive at this fraction of the speed limit."""

TIME_WINDOW = 3
"""Number of route points ahead that are searched for the last one that the ego has passed."""


class RouteCompletion:
    """The part of the route that the ego has driven."""

    def __init__(self, points: RoutePoints) -> None:
        self._points = points
        self._progress = RouteProgress(points, COMPLETION_WINDOW)
        self.is_complete = False

    @property
    def share(self) -> float:
        """In [0, 1]; 1 once the route is complete."""
        return 1.0 if self.is_complete else self._progress.s_m / self._points.length_m

    def update(self, tick: Tick) -> None:
        self._progress.advance(tick.centre)
        last = slice(-1, None)
        is_near_end = bool(self._points.distance_m(tick.centre, last)[0] < COMPLETE_M)
        self.is_complete |= is_near_end and self.share > COMPLETE_SHARE


class Deviation:
    """Ends a drive that left its route: `DEVIATION_MAX_M` away, or beyond `DEVIATION_SAFE_M` for too much of it."""

    kind = InfractionKind.DEVIATION

    def __init__(self, points: RoutePoints) -> None:
        self._points = points
        self._row = 0
        self._beside_m = 0.0
        self.end: str | None = None

    def update(self, tick: Tick) -> None:
        gap = self._points.distance_m(tick.centre, slice(self._row, self._row + DEVIATION_WINDOW + 1))
        step = len(gap) - 1 - int(np.argmin(gap[::-1]))  # the last of several equally near points
        away_m = float(gap[step])
        before_m = float(self._points.s_m[self._row])
        self._row += step
        if away_m >= DEVIATION_SAFE_M:
            self._beside_m += float(self._points.s_m[self._row]) - before_m
        if away_m >= DEVIATION_MAX_M:
            self.end = f"left the route by {away_m:.0f} m"
        elif self._beside_m > DEVIATION_MAX_SHARE * self._points.length_m:
            self.end = f"drove beside the route for {self._beside_m:.0f} m"


class Stuck:
    """Ends a drive that stands still for too long, except in scenarios that may make the ego wait."""

    kind = InfractionKind.BLOCKED

    def __init__(self, stuck_max_s: float, scenarios: ScenarioEvents) -> None:
        self._max_s, self._scenarios = stuck_max_s, scenarios
        self._standing_s = 0.0
        self._might_stand = False

    @property
    def end(self) -> str | None:
        return f"stood still for {self._standing_s:.0f} s" if self._standing_s > self._max_s else None

    def update(self, tick: Tick) -> None:
        may_stand = self._scenarios.may_stand
        is_moving = abs(tick.speed_mps) >= STUCK_MPS
        is_reset = is_moving or may_stand or self._might_stand
        self._standing_s = 0.0 if is_reset else self._standing_s + tick.step_s
        self._might_stand = may_stand


class TimeOut:
    """Ends a drive after the scenario's own time-out, or after the time that the Leaderboard allows.

    The allowed time grows with the part of the route that the ego has driven, see `TIME_MIN_S`.
    """

    kind = InfractionKind.ROUTE_TIMEOUT

    def __init__(self, points: RoutePoints, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._allowed_s = TIME_MIN_S
        self._time_s = 0.0
        self._progress = RouteProgress(points, TIME_WINDOW)

    @property
    def end(self) -> str | None:
        is_over = self._time_s > min(self._timeout_s, self._allowed_s)
        return f"time-out after {self._time_s:.0f} s" if is_over else None

    def update(self, tick: Tick) -> None:
        self._time_s = tick.time_s
        self._allowed_s += self._progress.advance(tick.centre) / (TIME_SPEED_RATIO * tick.limit_mps)
