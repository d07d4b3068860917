"""Remembers which road users gain speed: one that sets off does not wait for the ego, and comes before its time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from av_core.types import TrackedObject
from planning.traffic.conflicts import Conflict

_WITHIN_S, _GAIN_MPS = 0.6, 1.0
"""A road user that has got so much faster within this time gains speed. Estimated speeds scatter by 0.3 m/s."""

_GAINS_MPS = 2.0
"""A road user that gains speed is faster than now by this, on average, on its way to the ego's path."""


def comes_sooner(conflict: Conflict) -> Conflict:
    """The conflict of a road user that gains speed: its prediction has its present speed, and enters too late."""
    speed_mps = conflict.item.speed_mps
    return replace(conflict, enter_s=conflict.enter_s * speed_mps / (speed_mps + _GAINS_MPS))


class SpeedingUp:
    """The speeds of all tracks in the last 0.6 s. Call `update` once a step."""

    def __init__(self) -> None:
        self._last: deque[tuple[float, dict[int, float]]] = deque()

    def update(self, time_s: float, items: Sequence[TrackedObject]) -> frozenset[int]:
        """The track ids of `items` that gain speed."""
        while self._last and self._last[0][0] < time_s - _WITHIN_S - 1e-6:
            self._last.popleft()
        now = {item.track_id: item.speed_mps for item in items}
        gaining = {
            track_id
            for track_id, speed_mps in now.items()
            if any(speed_mps - before.get(track_id, speed_mps) > _GAIN_MPS for _, before in self._last)
        }
        self._last.append((time_s, now))
        return frozenset(gaining)
