"""How impatient the ego is: it accepts smaller gaps the longer it has given way, since dense traffic has no others."""

from __future__ import annotations

from planning.config import SpeedConfig

PATIENT_S, IMPATIENT_S = 5.0, 20.0
"""Waiting time after which the ego begins to accept smaller gaps, and after which it accepts the smallest."""

_ASSERTIVE_MPS2, _ASSERTIVE_MPS3, _ASSERTIVE_LATERAL_MPS2 = 4.2, 7.0, 4.0
"""Acceleration and jerk with which an impatient ego starts into a gap, and its lateral acceleration there."""

_STANDING_MPS = 0.3
"""Largest speed of an ego that stands."""

_STARTS_S = 7.0
"""A wait is over when the ego has neither stood nor given way for this time, which suffices to get through a gap."""


def assertive(config: SpeedConfig) -> SpeedConfig:
    """The limits of the speed profile of an impatient ego. The path search assumes them, too."""
    return config.model_copy(
        update={
            "accel_max_mps2": max(_ASSERTIVE_MPS2, config.accel_max_mps2),
            "jerk_max_mps3": max(_ASSERTIVE_MPS3, config.jerk_max_mps3),
            "lateral_accel_max_mps2": max(_ASSERTIVE_LATERAL_MPS2, config.lateral_accel_max_mps2),
        }
    )


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
