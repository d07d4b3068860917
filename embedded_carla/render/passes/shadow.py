"""Shadow maps of the sun.

One texture holds static objects: a wide square around the camera and fine squares ahead of it. Another holds moving
objects in the picture's fine square.

Static objects are redrawn only for a grid cell without a square, or when the sun has moved. The result depends on the
cell only, so pictures do not depend on the camera's earlier positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import NO_ROWS, Rows
from embedded_carla.render.passes.solids import Solids
from embedded_carla.render.programs import MOVING_UNIT, SHADOW_SLOTS, SHADOW_UNIT, Programs

F64 = NDArray[np.float64]
SIZE_PX = 768  # width of one square
REACH_M = 160.0  # half depth along the light
RANGE_M = 44.0  # half width of a fine square
AHEAD = 0.7  # distance of its centre ahead of the camera, as a fraction of its half width
CELL_M = 8.0  # spacing of the centres of fine squares
FAR_REACH_M = 500.0
FAR_RANGE_M = 240.0
FAR_CELL_M = 40.0
Place = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Square:
    """A square across the sun's light: its centre in the world, half width and half depth, m."""

    sun: Place
    centre: Place
    range_m: float
    reach_m: float

    def clip(self, eye: F64) -> F64:
        """(4, 4) eye-relative position -> -1..1; the square moves in whole texels, so shadow edges do not flicker."""
        axes, middle, scale, turn = _frame(self)
        m = turn.copy()
        m[:3, 3] = (axes @ eye - middle) * scale
        return m


@dataclass(frozen=True, slots=True)
class Shadows:
    """For the frame block: matrices of eye-relative position -> -1..1 in the fine and wide square; the fine slot."""

    fine: F64
    wide: F64
    slot: int


class ShadowMap:
    """The two shadow textures. Slot 0 of the static one holds the wide square, the other slots hold fine squares."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._still, self._still_target = _depth_picture(ctx, SHADOW_SLOTS)
        self._moving, self._moving_target = _depth_picture(ctx, 1)
        self._wide: Square | None = None
        self._fine: dict[Square, int] = {}  # least recently used first

    def bind(self) -> None:
        self._still.use(SHADOW_UNIT)
        self._moving.use(MOVING_UNIT)

    def forget(self) -> None:
        """Redraw all squares, because static objects have changed."""
        self._wide = None
        self._fine.clear()

    def place(self, sun: F64, camera: Camera) -> tuple[Shadows, list[tuple[int, Square]]]:
        """The squares for this camera, and the list of those that must still be drawn with `draw_still`, by slot."""
        missing: list[tuple[int, Square]] = []
        wide, fine = _wide_square(sun, camera), _fine_square(sun, camera)
        if wide != self._wide:
            self._wide = wide
            missing.append((0, wide))
        slot = self._fine.pop(fine, 0)
        if not slot:
            taken = set(self._fine.values())
            free = [n for n in range(1, SHADOW_SLOTS) if n not in taken]
            slot = free[0] if free else self._fine.pop(next(iter(self._fine)))
            missing.append((slot, fine))
        self._fine[fine] = slot
        return Shadows(fine.clip(camera.eye), wide.clip(camera.eye), slot), missing

    def draw_still(self, programs: Programs, slot: int, square: Square, solids: Solids, still: Rows) -> None:
        """Draw static objects into a slot; the frame block must hold the square's centre as its eye, and no wind."""
        centre = np.array(square.centre)
        program = self._begin(programs, self._still_target, slot, square.clip(centre))
        solids.cast(solids.casters(square.clip(centre)[:2], square.range_m, centre, still, NO_ROWS), program)
        self._end()

    def draw_moving(self, programs: Programs, fine: F64, camera: Camera, solids: Solids, moving: Rows) -> None:
        """Draw moving objects, with the picture's frame block."""
        program = self._begin(programs, self._moving_target, 0, fine)
        solids.cast(solids.casters(fine[:2], RANGE_M, camera.eye, NO_ROWS, moving), program)
        self._end()

    def _begin(self, programs: Programs, target: Any, slot: int, clip: F64) -> Any:
        target.use()
        target.viewport = (slot * SIZE_PX, 0, SIZE_PX, SIZE_PX)
        target.clear(depth=1.0, viewport=target.viewport)
        program = programs.get("object", "shadow", ("SHADOW",))
        program["shadow_clip"].write(np.ascontiguousarray(clip.T, dtype=np.float32).tobytes())
        self._ctx.polygon_offset = (2.0, 4.0)
        self._ctx.enable(moderngl.CULL_FACE)
        self._ctx.front_face = "cw"  # the light's view is mirrored
        return program

    def _end(self) -> None:
        self._ctx.disable(moderngl.CULL_FACE)
        self._ctx.polygon_offset = (0.0, 0.0)


def _depth_picture(ctx: Any, slots: int) -> tuple[Any, Any]:
    texture = ctx.depth_texture((slots * SIZE_PX, SIZE_PX))
    texture.compare_func = "<="
    texture.repeat_x = texture.repeat_y = False
    target = ctx.framebuffer(depth_attachment=texture)
    target.clear(depth=1.0)
    return texture, target


@lru_cache(maxsize=4)
def _axes(sun: Place) -> F64:
    """(3, 3) rows: two axes perpendicular to the light, and its direction of travel."""
    towards = np.array(sun)
    side = np.cross(towards, (0.0, 0.0, 1.0) if abs(sun[2]) < 0.99 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    return np.stack([side, np.cross(side, towards), -towards])


@lru_cache(maxsize=4 * SHADOW_SLOTS)
def _frame(square: Square) -> tuple[F64, F64, F64, F64]:
    """Axes (3, 3), centre along them (snapped to whole texels), scale per axis, and `clip` without its translation."""
    axes = _axes(square.sun)
    middle = axes @ np.array(square.centre)
    texel = 2.0 * square.range_m / SIZE_PX
    middle[:2] = np.round(middle[:2] / texel) * texel
    scale = np.array([1.0 / square.range_m, 1.0 / square.range_m, 1.0 / square.reach_m])
    turn = np.eye(4)
    turn[:3, :3] = axes * scale[:, None]
    return axes, middle, scale, turn


def _wide_square(sun: F64, camera: Camera) -> Square:
    """The wide square, centred on the middle of the camera's grid cell."""
    return Square(_place(sun), _place((np.floor(camera.eye / FAR_CELL_M) + 0.5) * FAR_CELL_M), FAR_RANGE_M, FAR_REACH_M)


def _fine_square(sun: F64, camera: Camera) -> Square:
    """The fine square ahead of the camera, centred on the middle of a grid cell."""
    flat = np.array([camera.forward[0], camera.forward[1], 0.0])
    length = np.linalg.norm(flat)
    ahead = flat / length if length > 0.1 else np.zeros(3)
    middle = (np.floor((camera.eye + ahead * RANGE_M * AHEAD) / CELL_M) + 0.5) * CELL_M
    return Square(_place(sun), _place(middle), RANGE_M, REACH_M)


def _place(vector: F64) -> Place:
    x, y, z = vector.tolist()
    return (x, y, z)
