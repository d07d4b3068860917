"""CPU reference of the Hough kernel: cv2.HoughLines for lines, a plain walk along each line for segments."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from cuda_ops.hough.host import SEGMENTS, Grid, directions

Float = NDArray[np.float32]
Int = NDArray[np.int32]


def hough_lines(edges: NDArray[np.uint8], grid: Grid, votes_min: int, limit: int) -> tuple[Float, Int]:
    """(lines, count) as in `op.HoughLines`, with `limit` rows."""
    found = cv2.HoughLinesWithAccumulator(edges, grid.rho_step, grid.theta_step, votes_min)
    every = np.zeros((0, 3), np.float32) if found is None else np.asarray(found, np.float32).reshape(-1, 3)
    lines = np.zeros((limit, 3), np.float32)
    count = min(len(every), limit)
    lines[:count] = every[:count]
    return lines, np.array([count, len(every) > limit], np.int32)


def segments_along(
    edges: NDArray[np.uint8], grid: Grid, lines: Float, count: int, length_min_px: float, gap_max_px: int
) -> Int:
    """Segments (len(lines), 4, 4) int32, x0, y0, x1, y1, of the first `count` lines; -1 for missing ones.

    A pixel belongs to a line that passes through it or through a pixel beside it; gaps of up to `gap_max_px` are
    bridged; the first four segments of at least `length_min_px` are kept.
    """
    out = np.full((len(lines), SEGMENTS, 4), -1, np.int32)
    table = directions(grid) * np.float32(grid.rho_step)
    for row in range(count):
        rho, theta = lines[row, :2]
        cosine, sine = table[round(float(theta) / grid.theta_step)]
        for index, segment in enumerate(_walk(edges, rho, cosine, sine, length_min_px, gap_max_px)[:SEGMENTS]):
            out[row, index] = segment
    return out


def _walk(
    edges: NDArray[np.uint8], rho: np.float32, cosine: np.float32, sine: np.float32, length_min: float, gap_max: int
) -> list[tuple[int, int, int, int]]:
    by_x = bool(abs(cosine) < abs(sine))
    picture = edges.T if by_x else edges
    along = np.arange(picture.shape[0])
    near, far = (cosine, sine) if by_x else (sine, cosine)
    across = np.rint((rho - along.astype(np.float32) * near) / far).astype(np.int64)
    hit = np.zeros(len(along), dtype=bool)
    for beside in (-1, 0, 1):
        place = across + beside
        inside = (place >= 0) & (place < picture.shape[1])
        hit[inside] |= picture[along[inside], place[inside]] != 0
    found = []
    places = np.flatnonzero(hit)
    for part in np.split(places, np.flatnonzero(np.diff(places) - 1 > gap_max) + 1):
        if len(part) == 0:
            continue
        start, end = int(part[0]), int(part[-1])
        a, b = int(across[start]), int(across[end])
        if (end - start) ** 2 + (b - a) ** 2 >= np.float32(length_min) * np.float32(length_min):
            found.append((start, a, end, b) if by_x else (a, start, b, end))
    return found
