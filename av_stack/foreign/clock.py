"""The clock of a foreign recording: converts its times to increasing stamps from 0 on, and checks their regularity."""

from __future__ import annotations

from av_core.types import Stamp

IRREGULAR_SHARE = 0.25
"""Largest difference of a time between two pictures from the usual time, as a fraction of it, at a constant rate."""


class ClockError(ValueError):
    """A time is not later than the time before it."""


class Clock:
    """Makes the stamps of pictures from the times in a file; call `stamp` with each in order."""

    def __init__(self) -> None:
        self._first_s: float | None = None
        self._last_s = 0.0
        self._steps_s: list[float] = []

    def stamp(self, time_s: float) -> Stamp:
        """The stamp of the next picture, from 0 s on. Raises ClockError where the clock stands still or jumps back."""
        if self._first_s is None:
            self._first_s = self._last_s = time_s
            return Stamp(0, 0.0)
        if not time_s > self._last_s:
            what = "stands still" if time_s == self._last_s else f"jumps back by {self._last_s - time_s:.3f} s"
            raise ClockError(f"the clock {what} at {self._last_s - self._first_s:.3f} s")
        self._steps_s.append(time_s - self._last_s)
        self._last_s = time_s
        return Stamp(len(self._steps_s), time_s - self._first_s)

    @property
    def notes(self) -> list[str]:
        """A line where the time between two pictures varied."""
        if not self._steps_s:
            return []
        usual_s = sorted(self._steps_s)[len(self._steps_s) // 2]
        least_s, most_s = min(self._steps_s), max(self._steps_s)
        if least_s >= (1.0 - IRREGULAR_SHARE) * usual_s and most_s <= (1.0 + IRREGULAR_SHARE) * usual_s:
            return []
        return [
            f"variable frame rate: {least_s:.3f} s to {most_s:.3f} s between two pictures, mostly {usual_s:.3f} s; "
            "estimates use the file's times, the video has one rate"
        ]
