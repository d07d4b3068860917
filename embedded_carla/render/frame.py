"""Camera parameters and the packed uniform block `Frame` of shaders/frame.glsl."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.atmosphere import Atmosphere
from embedded_carla.scene import CameraView

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
NEAR_M = 0.12
FAR_M = 4000.0
MAX_LAMPS = 8
MAX_BEAMS = 5
# Row indices (four numbers per row) in the block, in the order of shaders/frame.glsl: three matrices come first.
_EYE, _FORWARD, _RIGHT, _UP, _AIR, _COUNTS, _SIZE, _LAMPS = 12, 13, 14, 15, 16, 26, 27, 28
_BEAMS = _LAMPS + MAX_LAMPS
FRAME_BYTES = 16 * (_BEAMS + 2 * MAX_BEAMS)

VIEW = np.dtype(
    [
        ("eye", np.float64, 3),
        ("forward", np.float64, 3),
        ("right", np.float64, 3),
        ("up", np.float64, 3),
        ("tan_x", np.float64),  # of the half angles of view
        ("tan_y", np.float64),
        ("wide", np.float64),  # length of (1, tan_x)
        ("tall", np.float64),  # length of (1, tan_y)
        ("focal_px", np.float64),
        ("far_m", np.float64),
    ]
)
"""A camera for compiled loops, which read the fields of a row as attributes."""

View = Any
"""A row of VIEW in a compiled loop."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A CameraView as numbers.

    `eye` (3,), unit axes (3,), tangents of the half angles of view, focal length in pixels, size, far limit.
    """

    eye: F64
    forward: F64
    right: F64
    up: F64
    tan_x: float
    tan_y: float
    focal_px: float
    size_px: tuple[int, int]
    far_m: float = FAR_M

    @staticmethod
    def of(view: CameraView, far_m: float = FAR_M) -> Camera:
        m = view.transform.matrix()
        tan_x = float(np.tan(np.radians(view.fov_deg) / 2.0))
        tan_y = tan_x * view.height_px / view.width_px
        return Camera(m[:3, 3], m[:3, 0], m[:3, 1], m[:3, 2], tan_x, tan_y, view.width_px / (2.0 * tan_x),
                      (view.width_px, view.height_px), far_m)  # fmt: skip

    def row(self) -> NDArray[np.void]:
        """This camera as an array (1,) of VIEW."""
        wide, tall = float(np.hypot(1.0, self.tan_x)), float(np.hypot(1.0, self.tan_y))
        rest = (self.tan_x, self.tan_y, wide, tall, self.focal_px, self.far_m)
        return np.concatenate([self.eye, self.forward, self.right, self.up, rest]).view(VIEW)

    def view_projection(self) -> F64:
        """(4, 4) camera-relative position -> clip space.

        +y of clip space points down in the picture, so rows come out top-down.
        """
        a = (FAR_M + NEAR_M) / (FAR_M - NEAR_M)
        b = -2.0 * FAR_M * NEAR_M / (FAR_M - NEAR_M)
        m = np.zeros((4, 4))
        m[0, :3] = self.right / self.tan_x
        m[1, :3] = -self.up / self.tan_y
        m[2, :3], m[2, 3] = a * self.forward, b
        m[3, :3] = self.forward
        return m


@lru_cache(maxsize=8)
def _air_rows(air: Atmosphere, fog_base_m: float) -> F32:
    """The block's rows from `sun_direction` to `ground_water`."""
    a = air
    rows = (
        (*a.sun_direction, a.exposure), (*a.sun_colour, a.cloud), (*a.sky_ambient, a.night),
        (*a.ground_ambient, a.rain), (*a.zenith, a.halo), (*a.horizon, a.halo_exponent),
        (*a.fog_colour, a.fog_density), (a.fog_start_m, a.fog_falloff, fog_base_m, a.haze_density),
        (*a.glow, a.dust), (a.wetness, a.puddles, a.sway_m, a.wind_mps),
    )  # fmt: skip
    return np.array(rows, dtype=np.float32)


def pack(
    camera: Camera, air: Atmosphere, time_s: float, fog_base_m: float, shadow: tuple[F64, F64, float] | None,
    lamps: F64, beams: tuple[F64, F64], mirror_m: float | None = None,
) -> F32:  # fmt: skip
    """The uniform block, FRAME_BYTES long.

    `shadow` is (matrix into the shadow map's fine square, matrix into its wide square, slot of the fine square).
    `lamps` (n, 4) and `beams` ((n, 4), (n, 4)) are camera-relative with intensity in column 3. `mirror_m` mirrors the
    view at a horizontal plane of that height.
    """
    f = np.zeros((FRAME_BYTES // 16, 4), dtype=np.float32)
    view = camera.view_projection()
    if mirror_m is not None:
        view[:, 3] += view[:, 2] * 2.0 * (mirror_m - camera.eye[2])
        view[:, 2] *= -1.0
    f[0:4] = view.T
    if shadow is not None:
        f[4:8], f[8:12] = shadow[0].T, shadow[1].T
    f[_EYE, :3], f[_EYE, 3] = camera.eye, time_s
    f[_FORWARD, :3] = camera.forward
    f[_RIGHT, :3], f[_RIGHT, 3] = camera.right, camera.tan_x
    f[_UP, :3], f[_UP, 3] = camera.up, camera.tan_y
    f[_AIR:_COUNTS] = _air_rows(air, fog_base_m)
    wet = max(air.wetness, air.puddles) > 0.0
    f[_COUNTS] = (len(lamps), len(beams[0]), air.cloud > 0.0, wet)
    f[_SIZE, :3] = 1.0 / camera.size_px[0], 1.0 / camera.size_px[1], shadow[2] if shadow is not None else 0.0
    f[_LAMPS : _LAMPS + len(lamps)] = lamps
    f[_BEAMS : _BEAMS + len(beams[0])] = beams[0]
    f[_BEAMS + MAX_BEAMS : _BEAMS + MAX_BEAMS + len(beams[1])] = beams[1]
    return f
