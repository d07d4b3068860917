"""Searches the weather at which something first fails: a coarse scan from the mild end, then bisection.

Weathers are fractions of the searched range: 0 is its mild end. They are multiples of a power of two, so the searches
of several modules share their weathers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SCAN = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fractions of the range that are tried before the bisection.

Bisection alone could miss a failure in the middle of the range."""

RESOLUTION = 1.0 / 32.0
"""Width of the interval at which the search ends."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The interval in which a limit lies: the demand is met at the fraction `kept`, and missed at `missed`.

    `kept` is None if the demand is missed already at the mild end; `missed` is None if it is met up to the harsh end.
    """

    kept: float | None
    missed: float | None

    @property
    def middle(self) -> float | None:
        """The estimate of the limit; None if the demand is met everywhere."""
        if self.missed is None:
            return None
        return self.missed if self.kept is None else (self.kept + self.missed) / 2.0


def next_fraction(outcomes: Mapping[float, bool], resolution: float = RESOLUTION) -> float | None:
    """The weather to try next; None when the limit is known. `outcomes` says for each tried weather if it is missed."""
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
    """The interval of the first miss, as far as `outcomes` show it."""
    missed = min((fraction for fraction, is_missed in outcomes.items() if is_missed), default=None)
    before = [fraction for fraction in outcomes if missed is None or fraction < missed]
    return Bracket(max(before, default=None), missed)
