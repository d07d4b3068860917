"""Raster of occupied ground, for finding free room and holes."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import F64

Mask = NDArray[np.uint8]
SUBPIXEL = 4  # fractional bits of cv2's fixed-point polygon corners


@dataclass(frozen=True, slots=True)
class Raster:
    """Pixels of size `pixel_m` from `origin`; `mask` (rows along y, columns along x) is 255 in occupied pixels."""

    origin: F64
    pixel_m: float
    mask: Mask

    @staticmethod
    def around(low: F64, high: F64, pixel_m: float) -> Raster:
        """An empty raster from `low` to `high` (2,)."""
        columns, rows = np.ceil((high - low) / pixel_m).astype(int) + 1
        return Raster(low, pixel_m, np.zeros((rows, columns), dtype=np.uint8))

    def fill(self, quads: F64) -> None:
        """Mark quads (n, 4, 2 or 3); every pixel they touch is marked."""
        pixels = np.round((quads[..., :2] - self.origin) / self.pixel_m * (1 << SUBPIXEL)).astype(np.int32)
        for corners in pixels:
            cv2.fillConvexPoly(self.mask, corners, 255, lineType=cv2.LINE_8, shift=SUBPIXEL)

    def clearance(self) -> F64:
        """Distance (rows, columns) in m from each pixel to the nearest marked one."""
        free = (self.mask == 0).astype(np.uint8)
        return np.asarray(cv2.distanceTransform(free, cv2.DIST_L2, 5), dtype=np.float64) * self.pixel_m

    def pixel(self, xy: F64) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and column of points (n, 2), clipped to the raster."""
        at = np.round((xy - self.origin) / self.pixel_m).astype(np.int64)
        rows, columns = self.mask.shape
        return np.clip(at[..., 1], 0, rows - 1), np.clip(at[..., 0], 0, columns - 1)
