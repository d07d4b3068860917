"""The sun's shadow map: one depth texture with a fine half near the camera and a wide half of what stands still.

The wide half is drawn again only when the camera has left the cell that it was made for, or the sun has moved: it
depends on nothing else, so that pictures do not depend on where the camera has been.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import NO_ROWS, Rows
from embedded_carla.render.programs import SHADOW_UNIT, Programs
from embedded_carla.render.solids import Solids

F64 = NDArray[np.float64]
SIZE_PX = 768  # of one half
RANGE_M = 44.0  # half width of the square that the fine half covers
REACH_M = 160.0  # half depth along the light
AHEAD = 0.7  # the fine square's centre lies this share of its half width ahead of the camera
FAR_RANGE_M = 240.0
FAR_REACH_M = 500.0
CELL_M = 40.0  # the wide half is made for the middle of a cell this wide


@dataclass(frozen=True, slots=True)
class Light:
    """One half's matrix, camera-relative position -> clip, and its half width in metres."""

    clip: F64
    range_m: float


class ShadowMap:
    """A depth texture and what its wide half was made for."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self.texture = ctx.depth_texture((2 * SIZE_PX, SIZE_PX))
        self.texture.compare_func = "<="
        self.texture.repeat_x = self.texture.repeat_y = False
        self._target = ctx.framebuffer(depth_attachment=self.texture)
        self._target.clear(depth=1.0)
        self._far_key: tuple[float, ...] | None = None

    def bind(self) -> None:
        self.texture.use(SHADOW_UNIT)

    def forget_far(self) -> None:
        """What stands still has changed: make the wide half anew."""
        self._far_key = None

    def needs_far(self, sun: F64, camera: Camera) -> bool:
        """Whether the wide half has to be made for this camera; notes that it will be."""
        key = (*far_anchor(camera).tolist(), *sun.tolist())
        if key == self._far_key:
            return False
        self._far_key = key
        return True

    def draw_far(self, programs: Programs, sun: F64, camera: Camera, solids: Solids, still: Rows) -> None:
        """Draw what stands still; the frame block's eye must be `far_anchor` and its wind still."""
        anchor = far_anchor(camera)
        light = Light(_clip(sun, anchor, anchor, FAR_RANGE_M, FAR_REACH_M), FAR_RANGE_M)
        program = self._begin(programs, light, SIZE_PX)
        solids.cast(solids.casters(light.clip[:2], light.range_m, anchor, still, NO_ROWS), program)
        self._end()

    def draw_near(
        self, programs: Programs, light: Light, camera: Camera, solids: Solids, still: Rows, moving: Rows
    ) -> None:
        """Draw all casters near the camera with `near_light`."""
        program = self._begin(programs, light, 0)
        solids.cast(solids.casters(light.clip[:2], light.range_m, camera.eye, still, moving), program)
        self._end()

    def _begin(self, programs: Programs, light: Light, left_px: int) -> Any:
        self._target.use()
        self._target.viewport = (left_px, 0, SIZE_PX, SIZE_PX)
        self._target.clear(depth=1.0, viewport=self._target.viewport)
        program = programs.get("object", "shadow", ("SHADOW",))
        program["shadow_clip"].write(np.ascontiguousarray(light.clip.T, dtype=np.float32).tobytes())
        self._ctx.polygon_offset = (2.0, 4.0)
        self._ctx.enable(moderngl.CULL_FACE)
        self._ctx.front_face = "cw"  # the light's picture is mirrored
        return program

    def _end(self) -> None:
        self._ctx.disable(moderngl.CULL_FACE)
        self._ctx.polygon_offset = (0.0, 0.0)

    def release(self) -> None:
        self._target.release()
        self.texture.release()


def far_anchor(camera: Camera) -> F64:
    """(3,) the middle of the cell that the camera is in."""
    return np.asarray((np.floor(camera.eye / CELL_M) + 0.5) * CELL_M)


def near_light(sun: F64, camera: Camera) -> Light:
    """The fine half's light, moved in whole texels so that edges stand still."""
    flat = np.array([camera.forward[0], camera.forward[1], 0.0])
    length = np.linalg.norm(flat)
    ahead = flat / length if length > 0.1 else np.zeros(3)
    return Light(_clip(sun, camera.eye + ahead * RANGE_M * AHEAD, camera.eye, RANGE_M, REACH_M), RANGE_M)


def texture_matrices(sun: F64, camera: Camera, near: Light) -> tuple[F64, F64]:
    """Camera-relative position -> u, v, depth in the left and in the right half of the texture."""
    far = _clip(sun, far_anchor(camera), camera.eye, FAR_RANGE_M, FAR_REACH_M)
    return _to_texture(near.clip, 0.0), _to_texture(far, 0.5)


def _clip(sun: F64, centre: F64, eye: F64, range_m: float, reach_m: float) -> F64:
    """(4, 4) position relative to `eye` -> the clip space of a light that looks at `centre`."""
    side = np.cross(sun, (0.0, 0.0, 1.0) if abs(sun[2]) < 0.99 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(side, sun), -sun])
    middle = axes @ centre
    texel = 2.0 * range_m / SIZE_PX
    middle[:2] = np.round(middle[:2] / texel) * texel
    scale = np.array([1.0 / range_m, 1.0 / range_m, 1.0 / reach_m])
    m = np.eye(4)
    m[:3, :3] = axes * scale[:, None]
    m[:3, 3] = (axes @ eye - middle) * scale
    return m


def _to_texture(clip: F64, left: float) -> F64:
    """Clip coordinates -1..1 -> u in one half, v and depth 0..1."""
    half = np.diag([0.25, 0.5, 0.5, 1.0])
    half[:3, 3] = (left + 0.25, 0.5, 0.5)
    return half @ clip
