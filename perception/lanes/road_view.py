"""The road area of a camera's picture and its scale on the ground; computed once per camera."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.frames import image_to_ground
from av_core.types import CameraModel, Image

Float = NDArray[np.float64]

WIDTH_MAX_PX = 640
"""Maximum width of the working picture."""

NEAR_M = 2.0
FAR_M = 38.0
"""Distances ahead of the camera (`NEAR_M` to `FAR_M`) between which the road is analysed, m."""

ROWS_MIN = 12
"""Minimum number of rows that show this road."""


@dataclass(frozen=True, slots=True)
class RoadView:
    """Rows `top_px` to `bottom_px` (exclusive) of the camera's picture, which show the road.

    `metres_per_px` (rows,) is the ground width of one pixel in each row. `camera` has the working resolution, at most
    `WIDTH_MAX_PX` wide.
    """

    camera: CameraModel
    top_px: int
    bottom_px: int
    metres_per_px: Float

    def crop(self, bgr: Image) -> Image:
        """The road rows of a full picture, at the working resolution."""
        height, width = bgr.shape[:2]
        if (width, height) != (self.camera.width_px, self.camera.height_px):
            size = (self.camera.width_px, self.camera.height_px)
            bgr = np.asarray(cv2.resize(bgr, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        return bgr[self.top_px : self.bottom_px]

    def to_ground(self, u: Float, row: Float) -> Float:
        """Ground points (N, 2), m in the vehicle frame, of pixels of the crop."""
        return image_to_ground(np.column_stack([u, row + self.top_px]), self.camera)


def road_view(camera: CameraModel) -> RoadView | None:
    """The rows that show ground `NEAR_M` to `FAR_M` ahead of the camera; None where these are too few."""
    if camera.width_px > WIDTH_MAX_PX:
        scale = WIDTH_MAX_PX / camera.width_px
        height_px = max(round(camera.height_px * scale), 1)
        camera = replace(camera, width_px=WIDTH_MAX_PX, height_px=height_px)
    if camera.width_px < 32 or camera.z_m <= 0.0:
        return None
    rows = np.arange(camera.height_px, dtype=np.float64)
    middle = (camera.width_px - 1) / 2.0
    here = image_to_ground(np.column_stack([np.full_like(rows, middle), rows]), camera)
    beside = image_to_ground(np.column_stack([np.full_like(rows, middle + 1.0), rows]), camera)
    ahead = here[:, 0] - camera.x_m
    shown = np.flatnonzero((ahead >= NEAR_M) & (ahead <= FAR_M))
    if len(shown) < ROWS_MIN:
        return None
    top, bottom = int(shown[0]), int(shown[-1]) + 1
    scale_m = np.hypot(*(beside - here)[top:bottom].T)
    return RoadView(camera, top, bottom, scale_m)
