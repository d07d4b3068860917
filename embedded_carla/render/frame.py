"""The camera's numbers and the uniform block `Frame` of shaders/frame.glsl, packed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.atmosphere import Atmosphere
from embedded_carla.scene import CameraView

F64 = NDArray[np.float64]
NEAR_M = 0.12
FAR_M = 4000.0
MAX_LAMPS = 8
MAX_BEAMS = 5
_VECTORS = (
    "eye", "forward", "right", "up", "sun_direction", "sun_colour", "sky_ambient", "ground_ambient", "sky_zenith",
    "sky_horizon", "fog_colour", "fog_shape", "glow", "ground_water", "counts",
    "mirror_scale",
)  # fmt: skip
FRAME_BLOCK = np.dtype(
    [("view_projection", "f4", (4, 4)), ("shadow_matrix", "f4", (4, 4)), ("shadow_far", "f4", (4, 4))]
    + [(name, "f4", (4,)) for name in _VECTORS]
    + [("lamp_position", "f4", (MAX_LAMPS, 4)), ("beam_position", "f4", (MAX_BEAMS, 4))]
    + [("beam_direction", "f4", (MAX_BEAMS, 4))]
)


@dataclass(frozen=True, slots=True)
class Camera:
    """A CameraView in numbers: `eye` (3,), unit axes, tangents of half the angles of view, pixels per tangent."""

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

    def view_projection(self) -> F64:
        """(4, 4) camera-relative position -> clip. +y of clip is down in the picture: rows come out top-down."""
        a = (FAR_M + NEAR_M) / (FAR_M - NEAR_M)
        b = -2.0 * FAR_M * NEAR_M / (FAR_M - NEAR_M)
        m = np.zeros((4, 4))
        m[0, :3] = self.right / self.tan_x
        m[1, :3] = -self.up / self.tan_y
        m[2, :3], m[2, 3] = a * self.forward, b
        m[3, :3] = self.forward
        return m

    def sees(self, centre: F64, radius: F64 | float, far_m: float = FAR_M) -> NDArray[np.bool_]:
        """(N,) whether the spheres `centre` (N, 3), `radius` (N,) may be in view."""
        rel = centre - self.eye
        depth = rel @ self.forward
        side, rise = np.abs(rel @ self.right), np.abs(rel @ self.up)
        wide, tall = np.hypot(1.0, self.tan_x), np.hypot(1.0, self.tan_y)
        seen = (side - depth * self.tan_x <= radius * wide) & (rise - depth * self.tan_y <= radius * tall)
        visible: NDArray[np.bool_] = seen & (depth > -radius) & (depth < min(far_m, self.far_m) + radius)
        return visible


def pack(
    camera: Camera, air: Atmosphere, time_s: float, fog_base_m: float, shadow: tuple[F64, F64] | None,
    lamps: F64, beams: tuple[F64, F64], mirror_m: float | None = None,
) -> bytes:  # fmt: skip
    """The block's bytes. `shadow` are the matrices into both halves of the shadow map.

    `lamps` (n, 4) and `beams` ((n, 4), (n, 4)) are camera-relative with intensity in column 3.
    `mirror_m` turns the view over at a level floor of that height.
    """
    f = np.zeros((), dtype=FRAME_BLOCK)
    turned = np.eye(4)
    if mirror_m is not None:
        turned[2, 2], turned[2, 3] = -1.0, 2.0 * (mirror_m - camera.eye[2])
    f["view_projection"] = (camera.view_projection() @ turned).T
    if shadow is not None:
        f["shadow_matrix"], f["shadow_far"] = shadow[0].T, shadow[1].T
    sky_on = 1.0 if air.cloud > 0.0 else 0.0
    wet = 1.0 if max(air.wetness, air.puddles) > 0.0 else 0.0
    values: dict[str, tuple[F64, float]] = {
        "eye": (camera.eye, time_s),
        "forward": (camera.forward, 0.0),
        "right": (camera.right, camera.tan_x),
        "up": (camera.up, camera.tan_y),
        "sun_direction": (air.sun_direction, air.exposure),
        "sun_colour": (air.sun_colour, air.cloud),
        "sky_ambient": (air.sky_ambient, air.night),
        "ground_ambient": (air.ground_ambient, air.rain),
        "sky_zenith": (air.zenith, air.halo),
        "sky_horizon": (air.horizon, air.halo_exponent),
        "fog_colour": (air.fog_colour, air.fog_density),
        "fog_shape": (np.array([air.fog_start_m, air.fog_falloff, fog_base_m]), air.haze_density),
        "glow": (air.glow, air.dust),
        "ground_water": (np.array([air.wetness, air.puddles, air.sway_m]), air.wind_mps),
        "counts": (np.array([len(lamps), len(beams[0]), sky_on]), wet),
        "mirror_scale": (np.array([1.0 / camera.size_px[0], 1.0 / camera.size_px[1], 0.0]), 0.0),
    }
    for name, (vector, last) in values.items():
        f[name][:3], f[name][3] = vector, last
    f["lamp_position"][: len(lamps)] = lamps
    f["beam_position"][: len(beams[0])], f["beam_direction"][: len(beams[0])] = beams
    return f.tobytes()
