"""Groups moving radar returns that come from one road user."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from perception.radar.returns import RadarReturns

LINK_M, LINK_MPS = 3.0, 2.0
"""Largest distance, m, and difference of radial speeds, m/s, between neighbours in a group."""


def cluster(returns: RadarReturns) -> list[NDArray[np.int64]]:
    """The indices of the returns in each group, by single linkage."""
    if not len(returns):
        return []
    gap_m = np.hypot(*(returns.place_m[:, None] - returns.place_m).transpose(2, 0, 1))
    is_linked = (gap_m < LINK_M) & (np.abs(returns.radial_mps[:, None] - returns.radial_mps) < LINK_MPS)
    count, label = connected_components(is_linked, directed=False)
    return [np.flatnonzero(label == number) for number in range(count)]
