"""Piecewise cubic profiles: elevation, superelevation, lane offset, lane width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cubics:
    """A piecewise cubic profile: value(s) = a + b ds + c ds^2 + d ds^3.

    ds is s minus the start of the last piece that starts at or before s. `start` (n,) is ascending; `coefficients`
    (n, 4) are a, b, c, d. A profile without pieces is zero everywhere. The first piece also applies before its start,
    as in CARLA.
    """

    start: Float
    coefficients: Float

    def __call__(self, s: Float) -> Float:
        """Values at `s` (any shape)."""
        if len(self.start) == 0:
            return np.zeros_like(s)
        piece, ds = self._piece(s)
        a, b, c, d = self.coefficients[piece].T
        return np.asarray(a.T + ds * (b.T + ds * (c.T + ds * d.T)))

    def slope(self, s: Float) -> Float:
        """First derivatives at `s` (any shape)."""
        if len(self.start) == 0:
            return np.zeros_like(s)
        piece, ds = self._piece(s)
        _, b, c, d = self.coefficients[piece].T
        return np.asarray(b.T + ds * (2.0 * c.T + ds * 3.0 * d.T))

    def is_zero(self) -> bool:
        """Whether the profile is zero everywhere."""
        return not np.any(self.coefficients)

    def _piece(self, s: Float) -> tuple[NDArray[np.intp], Float]:
        piece = np.maximum(np.searchsorted(self.start, s, side="right") - 1, 0)
        return piece, s - self.start[piece]


ZERO = Cubics(np.zeros(0), np.zeros((0, 4)))


def cubics(rows: list[tuple[float, float, float, float, float]]) -> Cubics:
    """Build a profile from rows (start, a, b, c, d); if several rows have the same start, the last one is used."""
    if not rows:
        return ZERO
    latest = {row[0]: row for row in rows}
    table = np.array([latest[s] for s in sorted(latest)], dtype=np.float64)
    return Cubics(table[:, 0], table[:, 1:])
