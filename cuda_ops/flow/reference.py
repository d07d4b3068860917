"""CPU reference of the tracker, in numpy with OpenCV's pyramid.

The kernel's positions agree with it to 0.01 px, its statuses exactly.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from cuda_ops.flow.host import Settings

Float = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def pyramid(image: Bytes, levels: int) -> list[Bytes]:
    """`image` and its smaller levels, each half as large, by cv2.pyrDown."""
    found = [image]
    for _ in range(levels - 1):
        found.append(np.asarray(cv2.pyrDown(found[-1]), dtype=np.uint8))
    return found


def track(before: Bytes, after: Bytes, points: Float, settings: Settings) -> tuple[Float, Float, Bytes]:
    """Track points (N, 2) float32 px; returns (positions, mean absolute residuals, 1 for each found point)."""
    levels = list(zip(pyramid(before, settings.levels), pyramid(after, settings.levels), strict=True))
    rows = [_track_one(levels, point, settings) for point in points]
    positions = np.array([row[0] for row in rows], np.float32).reshape(-1, 2)
    return positions, np.array([row[1] for row in rows], np.float32), np.array([row[2] for row in rows], np.uint8)


def _track_one(levels: list[tuple[Bytes, Bytes]], point: Float, settings: Settings) -> tuple[Float, float, bool]:
    limit = np.array(levels[0][0].shape[::-1]) - 1
    error = 0.0
    if (point < 0).any() or (point > limit).any():
        return point, error, False
    offsets = np.arange(-settings.reach_px - 1, settings.reach_px + 2, dtype=np.float32)
    flow: NDArray[np.float64] = np.zeros(2)
    good = True
    for level in range(settings.levels - 1, -1, -1):
        source, target = levels[level]
        place = point / np.float32(2**level)
        patch = _sample(source, place[0] + offsets[None, :], place[1] + offsets[:, None])
        gx, gy = _scharr(patch)
        inner = patch[1:-1, 1:-1]
        xx, xy, yy = (gx * gx).sum(), (gx * gy).sum(), (gy * gy).sum()
        determinant = xx * yy - xy * xy
        smaller = (xx + yy - np.sqrt((xx - yy) ** 2 + 4 * xy * xy)) / (2 * inner.size)
        flow = flow * 2.0
        if smaller < settings.eigenvalue_min or not determinant > 0:
            good = good and level > 0
            continue
        before = np.full(2, np.inf)
        for _ in range(settings.iterations):
            at = place + flow
            difference = inner - _sample(target, at[0] + offsets[None, 1:-1], at[1] + offsets[1:-1, None])
            error = float(np.abs(difference).mean())
            bx, by = (difference * gx).sum(), (difference * gy).sum()
            step = np.array([yy * bx - xy * by, xx * by - xy * bx]) / determinant
            flow = flow + step
            if step @ step < settings.step_min_px**2:
                break
            if (
                np.abs(step + before) < settings.step_min_px
            ).all():  # an oscillating search ends halfway between its positions
                flow = flow - 0.5 * step
                break
            before = step
    position = point + flow
    inside = bool((position >= 0).all() and (position <= limit).all())
    return position.astype(np.float32), error, good and inside


def _sample(image: Bytes, x: NDArray[np.floating], y: NDArray[np.floating]) -> NDArray[np.float64]:
    height, width = image.shape
    fx, fy = np.floor(x), np.floor(y)
    x0, y0 = fx.astype(int), fy.astype(int)
    values = image.astype(np.float64)

    def at(dx: int, dy: int) -> NDArray[np.float64]:
        return np.asarray(values[np.clip(y0 + dy, 0, height - 1), np.clip(x0 + dx, 0, width - 1)])

    tx, ty = x - fx, y - fy
    top, low = at(0, 0) + (at(1, 0) - at(0, 0)) * tx, at(0, 1) + (at(1, 1) - at(0, 1)) * tx
    return np.asarray(top + (low - top) * ty)


def _scharr(patch: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    across = patch[:, 2:] - patch[:, :-2]
    down = patch[2:, :] - patch[:-2, :]
    gx = (3.0 * (across[:-2] + across[2:]) + 10.0 * across[1:-1]) / 32.0
    gy = (3.0 * (down[:, :-2] + down[:, 2:]) + 10.0 * down[:, 1:-1]) / 32.0
    return gx, gy
