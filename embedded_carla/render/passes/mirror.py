"""Reflections in puddles: buildings, trees and actors drawn upside down at a third of the picture's size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import moderngl

from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import Rows
from embedded_carla.render.passes.solids import Solids
from embedded_carla.render.programs import MIRROR_UNIT, Programs

SHARE = 3  # width of the picture / width of the mirror
FROM_PUDDLES = 0.05


class Mirror:
    """A linear colour picture with alpha 0 where there is no object; kept for the last requested size."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._size = (0, 0)
        self._target: Any = None
        self._colour: Any = None

    def draw(
        self, programs: Programs, view: Camera, solids: Solids, still: Rows, moving: Rows, defines: tuple[str, ...]
    ) -> None:
        """Draw with the frame block's mirrored view (`pack` with `mirror_m`); `defines` are the air's features."""
        self._resize((max(1, view.size_px[0] // SHARE), max(1, view.size_px[1] // SHARE)))
        self._target.use()
        self._target.clear(0.0, 0.0, 0.0, 0.0, depth=1.0)
        defines = ("OUT_RGB", "LOC_RGB 0", "MIRROR_PASS", *defines)
        coarse = replace(view, focal_px=view.focal_px / SHARE)
        self._ctx.enable(moderngl.CULL_FACE)
        self._ctx.front_face = "cw"
        solids.draw(solids.seen(coarse, still, moving), programs, defines)
        self._ctx.disable(moderngl.CULL_FACE)
        self._colour.use(MIRROR_UNIT)

    def _resize(self, size: tuple[int, int]) -> None:
        if size == self._size:
            return
        self.release()
        self._size = size
        self._colour = self._ctx.texture(size, 4, dtype="f2")
        self._colour.repeat_x = self._colour.repeat_y = False
        self._target = self._ctx.framebuffer([self._colour], self._ctx.depth_renderbuffer(size))

    def release(self) -> None:
        if self._target is not None:
            self._target.depth_attachment.release()
            self._target.release()
            self._colour.release()
            self._target = None
