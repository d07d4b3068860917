"""Depth of a labelled picture at fractional pixels, where rays of LiDAR and radar cross the picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled
from embedded_carla.types import SemanticTag

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]


def depth_at(depth_m: F32, tag: U8, instance: U16, row: F64, column: F64) -> F64:
    """Planar depth (N,) m at fractional pixels of a picture (H, W), H and W at least 2.

    If the four surrounding pixels show the same object, it is the depth of the plane through them; otherwise that of
    the nearest pixel. A road and the lines on it count as one object.
    """
    out = np.empty(len(row))
    _fill_depth(depth_m, tag, instance, row, column, int(SemanticTag.ROAD_LINES), int(SemanticTag.ROADS), out)
    return out


@compiled
def _fill_depth(
    depth_m: F32, tag: U8, instance: U16, row: F64, column: F64, road_lines: int, roads: int, out: F64
) -> None:
    """Write `depth_at` into `out`; tag `road_lines` counts as `roads`."""
    for i in range(len(row)):
        top = min(max(int(np.floor(row[i])), 0), depth_m.shape[0] - 2)
        left = min(max(int(np.floor(column[i])), 0), depth_m.shape[1] - 2)
        down, across = row[i] - top, column[i] - left
        own = roads if tag[top, left] == road_lines else tag[top, left]
        inverse, is_one = 0.0, True
        for k in range(4):
            r, c = top + k // 2, left + k % 2
            weight = (down if k // 2 else 1.0 - down) * (across if k % 2 else 1.0 - across)
            inverse += weight / depth_m[r, c]
            surface = roads if tag[r, c] == road_lines else tag[r, c]
            is_one = is_one and surface == own and instance[r, c] == instance[top, left]
        if is_one and inverse > 0.0:
            out[i] = 1.0 / max(inverse, 1e-6)
        else:
            out[i] = depth_m[int(np.rint(row[i])), int(np.rint(column[i]))]


def other_pixel(instance: U16, row: F64, column: F64) -> tuple[I64, I64]:
    """Row and column (N,) of the nearest of the four surrounding pixels that shows another object than the nearest one.

    If all four show the same instance, it is the nearest pixel.
    """
    found = (np.rint(row).astype(np.int64), np.rint(column).astype(np.int64))
    own = instance[found]
    least: F64 = np.full(len(row), np.inf)
    top = np.clip(np.floor(row).astype(np.int64), 0, instance.shape[0] - 2)
    left = np.clip(np.floor(column).astype(np.int64), 0, instance.shape[1] - 2)
    for at in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        away = np.hypot(row - at[0], column - at[1])
        better = (instance[at] != own) & (away < least)
        least = np.where(better, away, least)
        found = (np.where(better, at[0], found[0]), np.where(better, at[1], found[1]))
    return found


def warm_up() -> None:
    """Compile the lookup, or load it from disk, so that no measurement waits for the compiler."""
    depth_at(np.ones((2, 2), np.float32), np.zeros((2, 2), np.uint8), np.zeros((2, 2), np.uint16), *np.zeros((2, 1)))
