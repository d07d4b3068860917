"""Falling rain, drawn into the colour picture only."""

from __future__ import annotations

from typing import Any

import numpy as np

from embedded_carla.render.programs import Programs

DROPS = 5000


class Rain:
    """Rain drops as quads that wrap around in a box that moves with the camera."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        place = np.random.default_rng(5).random((DROPS, 1, 3), dtype=np.float32)
        corners = np.arange(4, dtype=np.float32).reshape(1, 4, 1)
        block = np.concatenate([np.broadcast_to(place, (DROPS, 4, 3)), np.broadcast_to(corners, (DROPS, 4, 1))], axis=2)
        quad = np.array([0, 1, 2, 2, 1, 3], dtype=np.uint32)
        self._vertices = ctx.buffer(np.ascontiguousarray(block).tobytes())
        self._indices = ctx.buffer((np.arange(DROPS, dtype=np.uint32)[:, None] * 4 + quad).tobytes())
        self._array: Any = None

    def draw(self, programs: Programs, share: float) -> None:
        """Draw the fraction `share` (0 to 1) of all drops."""
        if self._array is None:
            program = programs.get("rain", "rain", ("OUT_RGB", "LOC_RGB 0"))
            self._array = self._ctx.vertex_array(program, [(self._vertices, "4f", "drop")], self._indices)
        ctx = self._ctx
        ctx.enable(ctx.BLEND)
        ctx.blend_func = (ctx.SRC_ALPHA, ctx.ONE_MINUS_SRC_ALPHA, ctx.ZERO, ctx.ONE)
        self._array.render(vertices=int(DROPS * share) * 6)
        ctx.disable(ctx.BLEND)

    def forget_program(self) -> None:
        if self._array is not None:
            self._array.release()
            self._array = None

    def release(self) -> None:
        self.forget_program()
        self._vertices.release()
        self._indices.release()
