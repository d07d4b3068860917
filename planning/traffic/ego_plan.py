"""The ego's motion along its route if no other road user hindered it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.types import Float
from planning.reference_path import Route
from planning.signals import EgoOnRoute
from planning.speed import SpeedReference

_FEASIBLE_MPS2 = 6.0
"""Deceleration up to which stopping for a conflict is still considered possible."""

_START_S, _SURE_START_S, _STARTED_MPS, _STARTED_MPS2 = 0.4, 0.25, 4.0, 4.0
"""Delay of a start against immediate acceleration, at most and at least; the speed from which on there is no delay; and
the planned acceleration from which on it is half as long, for an impatient ego."""


@dataclass(frozen=True, slots=True)
class EgoPlan:
    """What the ego would do without other road users: it is at `reference.s_m` (N,) at `times_s` (N,), s from now.

    `times_s` is infinite for places that it does not reach. `yielding_to` holds the track ids that it gave way to in
    the last decision, `speeding_up` those of the road users that gain speed.
    """

    route: Route
    ego: EgoOnRoute
    reference: SpeedReference
    times_s: Float
    yielding_to: frozenset[int]
    speeding_up: frozenset[int] = frozenset()

    @property
    def halt_s_m(self) -> float:
        """Arc length at which the ego comes to a halt if it brakes as hard as is considered possible."""
        return self.ego.braked_s_m(_FEASIBLE_MPS2)

    @property
    def late_start_s(self) -> float:
        """How much later than in the plan the ego may be, since a start takes time."""
        return _START_S * self._still_starts

    @property
    def sure_start_s(self) -> float:
        """How much later than in the plan the ego is at least."""
        return _SURE_START_S * self._still_starts

    @property
    def _still_starts(self) -> float:
        """1 for an ego at rest, 0 for one that has started."""
        still = max(1.0 - self.ego.speed_mps / _STARTED_MPS, 0.0)
        return still * (1.0 - 0.5 * self._accelerates) if self.ego.looks_closely else still

    @property
    def _accelerates(self) -> float:
        """1 for an ego whose plan accelerates fully, 0 for one without acceleration."""
        return min(max(self.ego.accel_mps2 / _STARTED_MPS2, 0.0), 1.0)

    def reaches_s(self, s_m: float) -> float:
        """When the ego's origin is at an arc length."""
        return float(np.interp(s_m, self.reference.s_m, self.times_s))

    def places_m(self, times_s: Float) -> Float:
        """Arc lengths of the ego at the times (M,); it stays at the last place that it reaches."""
        finite = np.isfinite(self.times_s)
        return np.asarray(np.interp(times_s, self.times_s[finite], self.reference.s_m[finite]))

    def at(self, time_s: float) -> tuple[float, float]:
        """Arc length and speed of the ego at a time."""
        finite = np.isfinite(self.times_s)
        s_m, times_s = self.reference.s_m[finite], self.times_s[finite]
        row = int(np.searchsorted(times_s, time_s))
        place_m = float(np.interp(time_s, times_s, s_m))
        if row in (0, len(times_s)):
            return place_m, self.ego.speed_mps if row == 0 else 0.0
        return place_m, float(np.diff(s_m)[row - 1] / np.diff(times_s)[row - 1])
