"""The sun's shadow map: one depth picture of what stands near the camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actors import ActorSet, ActorShapes
from embedded_carla.render.frame import Camera
from embedded_carla.render.placements import PlacementGroup
from embedded_carla.render.programs import SHADOW_UNIT, Programs

F64 = NDArray[np.float64]
SIZE_PX = 768
RANGE_M = 48.0  # half width of the square that the map covers
REACH_M = 160.0  # half depth along the light
AHEAD = 0.7  # the square's centre lies this share of its half width ahead of the camera


class ShadowMap:
    """A depth texture and the matrix that leads into it."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self.texture = ctx.depth_texture((SIZE_PX, SIZE_PX))
        self.texture.compare_func = "<="
        self.texture.repeat_x = self.texture.repeat_y = False
        self._target = ctx.framebuffer(depth_attachment=self.texture)
        self._target.clear(depth=1.0)

    def bind(self) -> None:
        self.texture.use(SHADOW_UNIT)

    def draw(
        self, programs: Programs, sun: F64, camera: Camera, groups: Sequence[PlacementGroup], shapes: ActorShapes,
        actors: ActorSet, clip: F64,
    ) -> None:  # fmt: skip
        """Draw casters with `clip` from `light_clip`."""
        self._target.use()
        self._target.clear(depth=1.0)
        program = programs.get("object", "shadow", ("SHADOW",))
        program["shadow_clip"].write(np.ascontiguousarray(clip.T, dtype=np.float32).tobytes())
        self._ctx.polygon_offset = (2.0, 4.0)
        self._ctx.enable(moderngl.CULL_FACE)
        self._ctx.front_face = "cw"  # the light's picture is mirrored
        for group in groups:
            group.cast(program, _covered(clip, group.centre - camera.eye, group.radius))
        if actors.views:
            shapes.cast(program, actors, _covered(clip, actors.centre - camera.eye, actors.radius))
        self._ctx.disable(moderngl.CULL_FACE)
        self._ctx.polygon_offset = (0.0, 0.0)

    def release(self) -> None:
        self._target.release()
        self.texture.release()


def light_clip(sun: F64, camera: Camera) -> F64:
    """(4, 4) camera-relative position -> the light's clip space, moved in whole texels so that edges stand still."""
    side = np.cross(sun, (0.0, 0.0, 1.0) if abs(sun[2]) < 0.99 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(side, sun), -sun])
    flat = np.array([camera.forward[0], camera.forward[1], 0.0])
    length = np.linalg.norm(flat)
    ahead = flat / length if length > 0.1 else np.zeros(3)
    centre = axes @ (camera.eye + ahead * RANGE_M * AHEAD)
    texel = 2.0 * RANGE_M / SIZE_PX
    centre[:2] = np.round(centre[:2] / texel) * texel
    scale = np.array([1.0 / RANGE_M, 1.0 / RANGE_M, 1.0 / REACH_M])
    m = np.eye(4)
    m[:3, :3] = axes * scale[:, None]
    m[:3, 3] = (axes @ camera.eye - centre) * scale
    return m


def to_texture(clip: F64) -> F64:
    """Clip coordinates -1..1 -> texture and depth 0..1."""
    half = np.diag([0.5, 0.5, 0.5, 1.0])
    half[:3, 3] = 0.5
    return half @ clip


def _covered(clip: F64, centre: F64, radius: F64) -> NDArray[np.bool_]:
    """(N,) whether spheres touch the square."""
    place = centre @ clip[:2, :3].T + clip[:2, 3]
    inside: NDArray[np.bool_] = np.all(np.abs(place) < 1.0 + (radius / RANGE_M)[:, None], axis=1)
    return inside
