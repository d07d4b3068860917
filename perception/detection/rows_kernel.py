"""Compiled (numba) filter and sort of a network's output rows, with their boxes in picture coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from av_core.compiled import compiled, inner
from av_core.types import Float

SCORE, CLASS = 4, 5
"""Columns of a row after those of its box (u0, v0, u1, v1)."""

SIDE_MIN_PX = 1.0
"""Minimum side of a box in the picture, px."""


@inner
def bounded(value: float, most: float) -> float:
    """`value` clamped to 0 to `most`."""
    above = value if value > 0.0 else 0.0
    return above if above < most else most


@compiled("float64[:, :](float32[:, :], float64, float64, float64, float32)")
def strongest(
    rows: NDArray[np.float32], scale: float, width_px: float, height_px: float, confidence_min: float
) -> Float:
    """The valid rows of a network's output (N, 6), sorted by descending score; equal scores keep their order.

    A row is valid if it is finite, its score is at least `confidence_min`, and its box is at least a pixel wide and
    high in the picture. Boxes are divided by `scale` and clipped to the picture. `confidence_min` is float32 like the
    scores, so that an equal score is valid.
    """
    count, order = 0, np.empty(len(rows), dtype=np.int64)
    for n in range(len(rows)):
        if not np.isfinite(rows[n]).all() or not rows[n, SCORE] >= confidence_min:
            continue
        # Insertion sort: networks return rows nearly sorted by score, so a row rarely moves far.
        place = count
        while place > 0 and rows[order[place - 1], SCORE] < rows[n, SCORE]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = n
        count += 1
    out, kept = np.empty((count, 6)), 0
    for n in order[:count]:
        row = out[kept]
        for i in range(4):
            row[i] = bounded(rows[n, i] / scale, width_px if i % 2 == 0 else height_px)
        row[SCORE], row[CLASS] = rows[n, SCORE], rows[n, CLASS]
        if row[2] - row[0] >= SIDE_MIN_PX and row[3] - row[1] >= SIDE_MIN_PX:
            kept += 1
    return out[:kept]
