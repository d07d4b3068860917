"""Rows of a picture that belong together only when one is moved far aside: where a torn picture was put together.

Neighbouring rows of a scene are alike. At a tear they are alike too, but shifted: their correlation peaks far from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from av_stack.types import Image

Float32 = NDArray[np.float32]

WIDTH_PX = 160
"""Of the copy that is looked at; it keeps all rows."""

NEAR_PX, FAR_SHARE = 3, 0.0625
ROW_SPREAD_MIN = 3.0
ALIKE_MIN, GAIN_MIN = 0.7, 0.6
"""A seam's rows correlate so well when shifted, and by so much better than unshifted: of 200 pictures of a drive none
does, of torn ones nine in ten."""

AROUND_ROWS = 6
FLOOR = -0.3


@dataclass(frozen=True, slots=True)
class Seams:
    """For each pair of rows three apart: `alike`, the best correlation when shifted far, and `gain` over unshifted."""

    alike: Float32
    gain: Float32


def look_for_seams(grey: Image) -> Seams:
    """Of a picture (H, W) of any size; rows that show no texture are no seams."""
    if grey.shape[0] < 8 or grey.shape[1] < WIDTH_PX:
        return Seams(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32))
    rows = np.asarray(cv2.resize(grey, (WIDTH_PX, grey.shape[0]), interpolation=cv2.INTER_AREA), dtype=np.float32)
    rows = np.asarray(cv2.boxFilter(rows, -1, (1, 3)))
    rows = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(rows**2, axis=1))
    upper, lower = slice(1, -4), slice(4, -1)  # each is the mean of three rows: they share none
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
    return Seams(alike, gain)


def has_new_seam(now: Seams, before: Seams) -> bool:
    """Whether there is a seam in a picture that was not thereabouts before: a town has edges that look like some."""
    return new_seam(now, before) is not None


def new_seam(now: Seams, before: Seams) -> int | None:
    """The row of the plainest new seam; None where there is none."""
    if len(now.gain) == 0 or now.gain.shape != before.gain.shape:
        return None
    column = np.ascontiguousarray(before.gain, dtype=np.float32)[:, None]
    known = np.asarray(cv2.dilate(column, np.ones((2 * AROUND_ROWS + 1, 1), np.uint8)))[:, 0]
    gained = np.where(now.alike > ALIKE_MIN, now.gain - np.maximum(known, FLOOR), -np.inf)
    row = int(np.argmax(gained))
    return row if gained[row] > GAIN_MIN else None


class SeamTrail:
    """Follows one seam from picture to picture: an edge of the scene wanders as the car drives on, a tear does not."""

    def __init__(self) -> None:
        self._rows: tuple[int, int] | None = None  # where it was first, and last

    def is_scene(self, row: int | None) -> bool:
        """Whether the seam in `row` of this picture, None for no seam, has wandered there bit by bit."""
        if row is None:
            self._rows = None
            return False
        if self._rows is None or abs(row - self._rows[1]) > AROUND_ROWS:
            self._rows = (row, row)
        self._rows = (self._rows[0], row)
        return abs(row - self._rows[0]) > AROUND_ROWS
