"""Searches the weather at which something first fails: a coarse scan from the mild end, then bisection.

Weathers are fractions of the searched range: 0 is its mild end. They are multiples of a power of two, so the searches
of several modules share their weathers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SCAN = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Bisection alone would miss a failure that is followed by a weather in which all is well again."""

RESOLUTION = 1.0 / 32.0
"""Width of the interval at which the search ends."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The limit is between `kept`, where the demand is still met, and `missed`, where it is not.

    `kept` is None where it is missed from the mild end on, `missed` is None where it is met to the harsh end.
    """

    kept: float | None
    missed: float | None

    @property
    def middle(self) -> float | None:
        """The best guess of the limit; None where it is met everywhere."""
        if self.missed is None:
            return None
        return self.missed if self.kept is None else (self.kept + self.missed) / 2.0


def next_fraction(outcomes: Mapping[float, bool], resolution: float = RESOLUTION) -> float | None:
    """The weather to look at next; None when the limit is known. `outcomes` says of weathers whether they miss."""
    for fraction in SCAN:
        if fraction not in outcomes:
            return fraction
        if outcomes[fraction]:
            break
    found = bracket(outcomes)
    if found.missed is None or found.kept is None or found.missed - found.kept <= resolution:
        return None
    return (found.kept + found.missed) / 2.0


def bracket(outcomes: Mapping[float, bool]) -> Bracket:
    """Where the first miss is, as far as it is known."""
    missed = min((fraction for fraction, is_missed in outcomes.items() if is_missed), default=None)
    before = [fraction for fraction in outcomes if missed is None or fraction < missed]
    return Bracket(max(before, default=None), missed)
