"""Soft quads blended over the finished colour: shade under bodies, halos and pools of lights, streaks, spray.

A row is 16 numbers: centre relative to the camera 3, depth-test bias towards the camera (fraction of the distance),
half axis 3, strength, other half axis 3, cover (1 covers, 0 adds light), display colour 3, form (shaders/sprite_*).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actors import ActorSet
from embedded_carla.render.atmosphere import Atmosphere, displayed
from embedded_carla.render.frame import Camera
from embedded_carla.render.passes import sprite_rows
from embedded_carla.render.passes.sprite_rows import ROWS_OF_ACTOR, ROWS_OF_LAMP, WET_FROM, WIDTH, Air, Bodies
from embedded_carla.render.programs import Programs

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]


def sprites(camera: Camera, air: Atmosphere, scene: ActorSet, lamps: F64, time_s: float) -> F32:
    """(n, 16) rows in drawing order. `lamps` (k, 4): positions and intensities of the lamps that are on."""
    s, views = scene, camera.row()
    bodies = Bodies(s.poses, s.half, s.centre, s.radius, s.lights, s.speed_mps, s.seeds, s.is_vehicle)
    weather = (air.night, air.fogginess, air.rain, air.wetness, air.haze_density, air.fog_density)
    light = Air(*map(float, weather))  # other types of numbers would be compiled anew
    out = np.empty((ROWS_OF_ACTOR * s.count + ROWS_OF_LAMP * len(lamps), WIDTH), dtype=np.float32)
    n = sprite_rows.shades(out, 0, views, bodies)
    if air.night > 0.0:
        n = sprite_rows.street_lamps(out, n, views, light, lamps)
    n = sprite_rows.vehicle_lights(out, n, views, light, bodies)
    if air.wetness > WET_FROM:
        colour = displayed(0.85 * air.fog_colour + 0.15 * air.sky_ambient, air.exposure)
        n = sprite_rows.spray(out, n, views, light, bodies, time_s, colour)
    return out[:n]


class SpriteDrawer:
    """Blends rows of `sprites` over the colour picture."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._capacity = 0
        self._buffer: Any = None
        self._array: Any = None

    def draw(self, programs: Programs, rows: F32 | F64) -> None:
        """Draw into the bound framebuffer, tested against its depth but without writing depth."""
        if not len(rows):
            return
        if len(rows) > self._capacity:
            self._grow(programs, 2 * len(rows))
        ctx = self._ctx
        self._buffer.write(np.ascontiguousarray(rows, dtype=np.float32))
        ctx.enable(ctx.BLEND)
        ctx.blend_func = (ctx.ONE, ctx.ONE_MINUS_SRC_ALPHA, ctx.ZERO, ctx.ONE)
        self._array.render(ctx.TRIANGLE_STRIP, vertices=4, instances=len(rows))
        ctx.disable(ctx.BLEND)

    def _grow(self, programs: Programs, rows: int) -> None:
        self.release()
        self._capacity = rows
        self._buffer = self._ctx.buffer(reserve=rows * WIDTH * 4, dynamic=True)
        program = programs.get("sprite", "sprite", ("OUT_RGB", "LOC_RGB 0"))
        content = [(self._buffer, "4f 4f 4f 4f/i", "centre", "along", "across", "paint")]
        self._array = self._ctx.vertex_array(program, content)

    def release(self) -> None:
        for thing in (self._array, self._buffer):
            if thing is not None:
                thing.release()
        self._capacity, self._buffer, self._array = 0, None, None
