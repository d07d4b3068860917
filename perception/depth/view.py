"""A camera's geometry as plain numbers, worked out once a picture: for the few rays of each box numpy would cost more
than it saves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from av_stack.frames import intrinsics, optical_to_vehicle_rotation
from av_stack.types import CameraModel

Box = tuple[float, float, float, float]

EDGE_PX = 1.5
"""A box this near to the picture's edge may go on beyond it."""


@dataclass(frozen=True, slots=True)
class View:
    """`right`, `down` and `forward` are the axes of the optical frame in the vehicle frame, of length one; lengths in
    pixels and metres as in `CameraModel`."""

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
        right, down, forward = (tuple(axis) for axis in optical_to_vehicle_rotation(camera).T.tolist())
        focal = float(intrinsics(camera)[0, 0])
        place = camera.x_m, camera.y_m, camera.z_m
        return View(camera.width_px, camera.height_px, focal, *place, right, down, forward)

    def ray(self, u: float, v: float) -> tuple[float, float, float]:
        """Through a pixel: (x, y, z) in the vehicle frame, of length one along the view."""
        a, b = (u - (self.width_px - 1) / 2.0) / self.focal_px, (v - (self.height_px - 1) / 2.0) / self.focal_px
        r, d, f = self.right, self.down, self.forward
        return a * r[0] + b * d[0] + f[0], a * r[1] + b * d[1] + f[1], a * r[2] + b * d[2] + f[2]

    def flat(self, u: float, v: float) -> tuple[float, float]:
        """The same ray's length along the ground and how far it sinks on its way."""
        x, y, z = self.ray(u, v)
        return math.hypot(x, y), -z

    def cuts_below(self, box: Box) -> bool:
        """Whether the box may go on below the picture."""
        return box[3] >= self.height_px - 1.0 - EDGE_PX

    def cuts_right(self, box: Box) -> bool:
        return box[2] >= self.width_px - 1.0 - EDGE_PX
