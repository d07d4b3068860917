"""The ego's speed compared with the traffic's, for each quarter of the route."""

from __future__ import annotations

import numpy as np

from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.route_points import RoutePoints, RouteProgress
from scenarios.judging.score import Infractions
from scenarios.judging.tick import Tick, logged

PARTS = 4
"""Number of parts of the route; each is judged separately."""

WINDOW = 2
"""Number of route points ahead that are searched for the last one that the ego has passed."""

LAST_PART_SHARE = 0.95
"""The last part counts only if more than this share of the route was driven."""


class MinimumSpeed:
    """Quarters of the route in which the ego was slower than the background traffic.

    The mean speed of the ego is compared with the mean speed of all background vehicles on the map. Only ticks with
    such vehicles count. If a quarter has none, or all of them stood, the ego counts as equally fast. `has_traffic` says
    whether there was any background traffic in the drive.
    """

    def __init__(self, points: RoutePoints) -> None:
        self._points = points
        self._progress = RouteProgress(points, WINDOW)
        self._part_s_m = 0.0
        self._percent: list[float] = []
        self._ends: list[Tick] = []  # the ticks at which the quarters ended
        self._last: Tick | None = None
        self._ego_mps: list[float] = []
        self._traffic_mps: list[float] = []
        self.has_traffic = False

    def update(self, tick: Tick) -> None:
        self._progress.advance(tick.centre)
        self._last = tick
        if self._progress.s_m - self._part_s_m > self._points.length_m / PARTS:
            self._percent.append(self._percent_now())
            self._ends.append(tick)
            self._part_s_m = self._progress.s_m
            self._ego_mps, self._traffic_mps = [], []
        background = tick.truth.background_ids
        speeds = [vehicle.speed_mps for vehicle in tick.truth.objects if vehicle.track_id in background]
        if speeds:
            self.has_traffic = True
            self._ego_mps.append(abs(tick.speed_mps))
            self._traffic_mps.append(float(np.mean(speeds)))

    @property
    def percent(self) -> tuple[float, ...]:
        """The ego's mean speed in percent of the traffic's, for each quarter that counts."""
        is_at_end = self._progress.s_m / self._points.length_m > LAST_PART_SHARE
        return (*self._percent, *([self._percent_now()] if is_at_end else []))

    @property
    def infractions(self) -> Infractions:
        return Infractions(minimum_speed_percent=tuple(percent for percent in self.percent if percent < 100.0))

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        ends = [*self._ends, self._last]
        return tuple(
            logged(
                InfractionKind.MINIMUM_SPEED,
                ends[quarter],
                f"quarter {quarter + 1} of the route at {percent:.0f} % of the traffic's mean speed",
            )
            for quarter, percent in enumerate(self.percent)
            if percent < 100.0
        )

    def _percent_now(self) -> float:
        traffic_mps = sum(self._traffic_mps)
        return round(100.0 * sum(self._ego_mps) / traffic_mps, 2) if traffic_mps > 0.0 else 100.0
