"""Confidence in one sensor: falls with every faulty measurement, and recovers with good ones."""

from __future__ import annotations

FADE, RECOVER_S = 0.6, 0.5
"""Factor on the confidence per faulty measurement, and time to recover full confidence from zero, s."""

UNWELL_BELOW = 0.5
"""Confidence below which the sensor is unhealthy."""


class ConfidenceFilter:
    """Filters the faults of one sensor; `confidence` is in [0, 1], `unwell_s` how long it has been unhealthy."""

    def __init__(self) -> None:
        self.confidence, self.unwell_s = 1.0, 0.0
        self._time_s: float | None = None

    def update(self, is_faulty: bool, time_s: float) -> None:
        """Take in the measurement of one tick."""
        dt = 0.0 if self._time_s is None else max(time_s - self._time_s, 0.0)
        self._time_s = time_s
        if is_faulty:
            self.confidence *= FADE
            self.unwell_s += dt
        else:
            self.confidence = min(1.0, self.confidence + dt / RECOVER_S)
            if self.confidence >= UNWELL_BELOW:
                self.unwell_s = 0.0
