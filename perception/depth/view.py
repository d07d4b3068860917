"""A camera's geometry as plain Python numbers: for one camera, numpy's call overhead exceeds its gain."""

from __future__ import annotations

import math
from dataclasses import dataclass

from av_core.types import CameraModel

Box = tuple[float, float, float, float]

EDGE_PX = 1.5
"""Distance from the picture's edge, px, within which a box may be cut by it."""


@dataclass(frozen=True, slots=True)
class View:
    """A camera's pose and focal length; units as in `CameraModel`.

    `right`, `down` and `forward` are the unit axes of the optical frame in the vehicle frame. `av_core.frames` gives
    the same as matrices.
    """

    width_px: int
    height_px: int
    focal_px: float
    x_m: float
    y_m: float
    z_m: float
    right: tuple[float, float, float]
    down: tuple[float, float, float]
    forward: tuple[float, float, float]

    @staticmethod
    def of(camera: CameraModel) -> View:
        cy, sy = math.cos(camera.yaw_rad), math.sin(camera.yaw_rad)
        cp, sp = math.cos(camera.pitch_rad), math.sin(camera.pitch_rad)
        cr, sr = math.cos(camera.roll_rad), math.sin(camera.roll_rad)
        right = sy * cr - cy * sp * sr, -(sy * sp * sr + cy * cr), -cp * sr
        down = -(cy * sp * cr + sy * sr), cy * sr - sy * sp * cr, -cp * cr
        focal = camera.width_px / (2.0 * math.tan(camera.fov_x_rad / 2.0))
        place = camera.x_m, camera.y_m, camera.z_m
        return View(camera.width_px, camera.height_px, focal, *place, right, down, (cy * cp, sy * cp, -sp))
