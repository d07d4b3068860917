"""Remembers which vehicles are slow for good. One that sets off, as at a green light, is slow for a moment only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planning.local.occupancy import OnRoad

_GAINS_MPS, _LASTS_S = 1.0, 1.0
"""A vehicle that gains so much speed sets off. It has to stop gaining for this time to count as slow."""

_SEEN_S = 0.4
"""Time for which a vehicle that was not seen before has to be seen."""

_AWAY_MPS = 2.0
"""One that is faster than the ego by more than this does not hold it up."""

_MEAN_S, _STEP_MAX_S = 0.5, 0.5
"""Time over which the measured speed is averaged; and the longest time between two steps."""


@dataclass(frozen=True, slots=True)
class _Speed:
    """The mean speed of a vehicle, its least value, and since when it has not gained on that; and its mean again, which
    is later."""

    mean_mps: float
    later_mps: float
    least_mps: float
    since_s: float


class SlowVehicles:
    """Tells which vehicles do not gain speed; call `update` at every step."""

    def __init__(self) -> None:
        self._speeds: dict[int, _Speed] = {}
        self._time_s = 0.0

    def update(self, ways: Sequence[OnRoad], ego_mps: float, time_s: float) -> frozenset[int]:
        """The track ids of those that have not gained speed for some time, and do not drive away from the ego."""
        share = min(max(time_s - self._time_s, 0.0), _STEP_MAX_S) / _MEAN_S
        self._time_s = time_s
        speeds: dict[int, _Speed] = {}
        for way in ways:
            item = way.one.item
            one = self._speeds.get(
                item.track_id, _Speed(item.speed_mps, item.speed_mps, item.speed_mps, time_s - _LASTS_S + _SEEN_S)
            )
            mean_mps = one.mean_mps + share * (item.speed_mps - one.mean_mps)
            if mean_mps > one.least_mps + _GAINS_MPS:
                one = _Speed(mean_mps, one.later_mps, mean_mps, time_s)
            later_mps = one.later_mps + share * (mean_mps - one.later_mps)
            speeds[item.track_id] = _Speed(mean_mps, later_mps, min(one.least_mps, mean_mps), one.since_s)
        self._speeds = speeds
        return frozenset(
            number
            for number, one in speeds.items()
            if time_s - one.since_s >= _LASTS_S and one.mean_mps < ego_mps + _AWAY_MPS
        )

    def gains_mps2(self) -> dict[int, float]:
        """How fast each vehicle gains speed, by its track id: the one mean is behind the other by `_MEAN_S`."""
        return {number: (one.mean_mps - one.later_mps) / _MEAN_S for number, one in self._speeds.items()}
