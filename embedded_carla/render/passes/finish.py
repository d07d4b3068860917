"""Passes after the scene: sprites, debug shapes and rain, then edge smoothing, lens drops, glare and the look."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.atmosphere import Atmosphere
from embedded_carla.render.frame import Camera
from embedded_carla.render.look import CameraLook
from embedded_carla.render.passes.bloom import Bloom
from embedded_carla.render.passes.rain import Rain
from embedded_carla.render.passes.sprites import SpriteDrawer
from embedded_carla.render.programs import PICTURE_UNIT, SURFACE_UNIT, Programs
from embedded_carla.render.targets import Target
from embedded_carla.render.textures import SurfaceTextures

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
GLARE_SUN = 0.3  # radiance of sunlight above which glare is drawn
GLARE_COSINE = 0.2  # glare needs a larger cosine between view and sun than this
GLARE_MARGIN_PX = 3.0  # margin around the picture; finish_vert.glsl samples 1.5 pixels around the sun


class Finisher:
    """Draws onto `Target.rgb_only`, then filters the colour into `Target.smoothed`."""

    def __init__(self, ctx: Any, look: CameraLook) -> None:
        self._ctx = ctx
        self._bloom = Bloom(ctx) if look.bloom > 0.0 else None
        self._look_defines = (("BLOOM",) if self._bloom else ()) + (("FRINGE",) if look.fringe_px > 0.0 else ())
        self._sprites = SpriteDrawer(ctx)
        self._rain = Rain(ctx)
        self._arrays: dict[int, Any] = {}

    def draw(
        self,
        programs: Programs,
        textures: SurfaceTextures,
        target: Target,
        view: Camera,
        air: Atmosphere,
        rows: F32 | F64,
    ) -> None:
        """Run all passes; `rows` are those of `sprites` and `debug_rows`."""
        target.rgb_only.use()
        self._sprites.draw(programs, rows)
        if air.rain > 0.0:
            self._rain.draw(programs, air.rain)
        if self._bloom is not None:
            self._bloom.draw(programs, target)
        target.smoothed.use()
        target.colour.use(PICTURE_UNIT)
        textures.use("CLOUD", SURFACE_UNIT)
        program = programs.get("finish", "finish", ("OUT_RGB", "LOC_RGB 0", *_needs(view, air), *self._look_defines))
        array = self._arrays.get(program.glo)
        if array is None:
            array = self._arrays[program.glo] = self._ctx.vertex_array(program, [])
        array.render(vertices=3)

    def forget_programs(self) -> None:
        """Release the vertex arrays of all programs."""
        for array in self._arrays.values():
            array.release()
        self._arrays.clear()
        self._sprites.release()
        self._rain.forget_program()
        if self._bloom is not None:
            self._bloom.forget_programs()


def _needs(view: Camera, air: Atmosphere) -> tuple[str, ...]:
    dazzles = air.sun_colour.max() > GLARE_SUN and _has_in_view(view, air.sun_direction)
    return (("GLARE",) if dazzles else ()) + (("LENS",) if air.rain > 0.0 else ())


def _has_in_view(view: Camera, direction: F64) -> bool:
    """Whether the sun's disc may be in the picture.

    If not, finish_vert.glsl need not test the sun's visibility, which has to wait for the whole scene.
    """
    depth = float(direction @ view.forward)
    if depth <= GLARE_COSINE:
        return False
    side, rise = float(direction @ view.right) / depth, float(direction @ view.up) / depth
    margin = GLARE_MARGIN_PX / view.focal_px
    return abs(side) < view.tan_x + margin and abs(rise) < view.tan_y + margin
