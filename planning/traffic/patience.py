"""How impatient the ego is: it accepts smaller gaps the longer it has given way, since dense traffic has no others."""

from __future__ import annotations

from collections.abc import Mapping

from planning.config import SpeedConfig

PATIENT_S, IMPATIENT_S = 5.0, 20.0
"""Waiting time after which the ego begins to accept smaller gaps, and after which it accepts the smallest."""

_COUNTS_ON = {"accel_max_mps2": 4.2, "jerk_max_mps3": 7.0, "lateral_accel_max_mps2": 4.0}
_DRIVES_WITH = {"accel_max_mps2": 5.0, "jerk_max_mps3": 12.0, "lateral_accel_max_mps2": 4.5}
"""The limits of the speed profile that an impatient ego counts on when it judges a gap, and those with which it then
drives. The second are higher: the car follows its plan with a delay, and another path may have a tighter bend."""

_STANDING_MPS = 0.3
"""Largest speed of an ego that stands."""

_STARTS_S = 7.0
"""A wait is over when the ego has neither stood nor given way for this time, which suffices to get through a gap."""


def counted_on(config: SpeedConfig) -> SpeedConfig:
    """The limits of the speed profile with which an impatient ego judges gaps. The path search assumes them, too."""
    return _at_least(config, _COUNTS_ON)


def driven_with(config: SpeedConfig) -> SpeedConfig:
    """The limits of the speed profile with which an impatient ego drives."""
    return _at_least(config, _DRIVES_WITH)


def _at_least(config: SpeedConfig, limits: Mapping[str, float]) -> SpeedConfig:
    return config.model_copy(update={name: max(limit, getattr(config, name)) for name, limit in limits.items()})


class Patience:
    """Remembers for how long the ego has stood to give way or to pass an obstacle. Call `update` once a step."""

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._until_s = 0.0

    def update(self, time_s: float, speed_mps: float, waits: bool) -> float:
        """The impatience, from 0 to 1. `waits` says whether the ego gave way, or waited to pass, in the step before."""
        if waits and speed_mps <= _STANDING_MPS:
            self._since_s = time_s if self._since_s is None else self._since_s
            self._until_s = time_s
        elif time_s - self._until_s > _STARTS_S:
            self._since_s = None
        if self._since_s is None:
            return 0.0
        waited_s = self._until_s - self._since_s
        return min(max((waited_s - PATIENT_S) / (IMPATIENT_S - PATIENT_S), 0.0), 1.0)
