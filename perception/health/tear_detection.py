"""Tear detection: finds the row where a torn camera picture joins two frames that are shifted against each other.

Neighbouring rows of a scene are alike. At a tear they are alike only after a shift: their correlation peaks far from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from av_core.types import Image

Float32 = NDArray[np.float32]

WIDTH_PX = 160
"""Width, px, of the copy of the picture that is analysed; it keeps all rows."""

NEAR_PX = 3
"""Shift up to which rows count as unshifted, px."""

FAR_SHARE = 0.0625
"""Default minimum shift at a seam, as a fraction of the picture's width."""

FAR_SHARE_MAX = 0.35
"""Upper limit of a minimum shift that the caller gives."""

ROW_SPREAD_MIN = 3.0
"""Minimum texture (standard deviation) of a seam's rows, grey levels."""

ALIKE_MIN, GAIN_MIN = 0.7, 0.6
"""Minimum correlation of a seam's rows when shifted, and its minimum gain over the unshifted correlation.

Of 200 pictures of a drive none reaches both; nine in ten torn pictures do."""

AROUND_ROWS = 6
"""Number of rows by which a seam of the last picture may have moved."""

FLOOR = -0.3
"""Minimum of the last picture's gain when gains are compared."""

STRIP_SHARE = 0.09
"""Height of the strips above and below a seam that are searched in the last picture, as a fraction of the height."""

DRIFT_SHARE = 0.083
"""Vertical motion of the scene near the car between two pictures, as a fraction of the picture's height."""

FOUND_MIN = 0.4
"""Minimum correlation of a strip with its place in the last picture."""

PLAIN_SPREAD = 1.0
"""Standard deviation below which a strip is plain, grey levels."""


@dataclass(frozen=True, slots=True)
class RowCorrelations:
    """Row correlations of one picture, for each pair of rows three apart.

    `alike` is the best correlation at a far shift, `gain` its excess over the unshifted one. `rows` (H, WIDTH_PX) is
    the analysed copy, empty where the picture is too small.
    """

    rows: Image
    alike: Float32
    gain: Float32


def row_correlations(grey: Image) -> RowCorrelations:
    """Row correlations of a picture (H, W) of any size; rows without texture are no seams."""
    if grey.shape[0] < 8 or grey.shape[1] < WIDTH_PX:
        return RowCorrelations(
            np.zeros((0, WIDTH_PX), dtype=np.uint8), np.zeros(0, dtype=np.float32), np.zeros(0, np.float32)
        )
    copy = np.asarray(cv2.resize(grey, (WIDTH_PX, grey.shape[0]), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    rows = np.asarray(cv2.boxFilter(copy.astype(np.float32), -1, (1, 3)))
    rows = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(rows**2, axis=1))
    upper, lower = slice(1, -4), slice(4, -1)  # each is the mean of three rows, and the two share none
    alike = np.zeros(len(rows) - 5, dtype=np.float32)
    gain = np.full(len(rows) - 5, -1.0, dtype=np.float32)
    rough = np.flatnonzero(np.minimum(spread[upper], spread[lower]) >= ROW_SPREAD_MIN)
    if len(rough):
        waves = fft.rfft(rows, axis=1)
        together = fft.irfft(waves[1 + rough] * np.conj(waves[4 + rough]), n=WIDTH_PX, axis=1)
        together /= (WIDTH_PX * np.maximum(spread[1 + rough] * spread[4 + rough], 1e-3))[:, None]
        far = round(FAR_SHARE * WIDTH_PX)
        alike[rough] = together[:, far:-far].max(axis=1)
        unshifted = np.maximum(together[:, : NEAR_PX + 1].max(axis=1), together[:, -NEAR_PX:].max(axis=1))
        gain[rough] = alike[rough] - unshifted
    return RowCorrelations(copy, alike, gain)


def has_tear(now: RowCorrelations, before: RowCorrelations, far_share: float = FAR_SHARE) -> bool:
    """Whether a picture has a new seam with one side shifted sideways by more than `far_share` of the width."""
    row = find_new_seam(now, before)
    return row is not None and not is_in_scene(row, now, before, far_share)


def find_new_seam(now: RowCorrelations, before: RowCorrelations) -> int | None:
    """The row of the clearest seam that the picture before had not; None where there is none."""
    if len(now.gain) == 0 or now.gain.shape != before.gain.shape:
        return None
    column = np.ascontiguousarray(before.gain, dtype=np.float32)[:, None]
    known = np.asarray(cv2.dilate(column, np.ones((2 * AROUND_ROWS + 1, 1), np.uint8)))[:, 0]
    gained = np.where(now.alike > ALIKE_MIN, now.gain - np.maximum(known, FLOOR), -np.inf)
    row = int(np.argmax(gained))
    return row if gained[row] > GAIN_MIN else None


def is_in_scene(row: int, now: RowCorrelations, before: RowCorrelations, far_share: float = FAR_SHARE) -> bool:
    """Whether the strips on both sides of the seam in `row` are where they were in the picture `before`.

    A kerb at a corner, the end of a crossing's bars or the edge of a patch looks like a seam when it comes into view,
    but the strips above and below it are found in place. In a torn picture one side is found far aside. A plain strip
    (a road at night) is undecided; where both are, the seam does not count as part of the scene.
    """
    high = max(round(STRIP_SHARE * len(now.rows)), 4)
    middle = min(max(row + 3, high), len(now.rows) - high)  # a pair's upper row is the mean of `row` to `row` + 2
    places = [is_in_place(now.rows, before.rows, top, top + high, far_share) for top in (middle - high, middle)]
    return True in places and False not in places


def is_in_place(
    now: Image | Float32, before: Image | Float32, top: int, bottom: int, far_share: float = FAR_SHARE
) -> bool | None:
    """Whether the rows `top` to `bottom` of `now` match `before` within `far_share` of the width better than beyond.

    None where the rows are plain. Both pictures are small copies (H, W).
    """
    width = now.shape[1]
    far = round(min(far_share, FAR_SHARE_MAX) * width)
    strip = now[top:bottom, far:-far].astype(np.float32)
    if float(strip.std()) < PLAIN_SPREAD:
        return None
    drift, wide = round(DRIFT_SHARE * len(now)), width // 2 - far
    level = before[max(top - drift, 0) : bottom + drift].astype(np.float32)
    around = np.hstack((level[:, -wide:], level, level[:, :wide]))  # shifted rows wrap around to the other side
    found = np.asarray(cv2.matchTemplate(around, strip, cv2.TM_CCOEFF_NORMED)).max(axis=0)
    near = found[wide : wide + 2 * far + 1].max()
    aside = max(found[:wide].max(), found[wide + 2 * far + 1 :].max())
    return bool(near > FOUND_MIN and near > aside)
