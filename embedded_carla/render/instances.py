"""Instanced drawing: one unit shape, many poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.geometry import Shape
from embedded_carla.render.programs import Programs
from embedded_carla.types import Transform

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
INSTANCE_WIDTH = 24  # rows 3x4, tint 4, size and tag 4, state 4: see object_vert.glsl
_SHAPE_LAYOUT = "3f 3f 4f 2f"
_SHAPE_NAMES = ("in_position", "in_normal", "in_colour", "in_motion")
_INSTANCE_LAYOUT = "4f 4f 4f 4f 4f 4f/i"
_INSTANCE_NAMES = ("row_x", "row_y", "row_z", "tint", "size_tag", "state")


def pose_matrices(transforms: Sequence[Transform]) -> F64:
    """(N, 4, 4) `Transform.matrix` of each, vectorised."""
    v = np.array([(t.x, t.y, t.z, t.pitch_deg, t.yaw_deg, t.roll_deg) for t in transforms]).reshape(-1, 6)
    (cp, cy, cr), (sp, sy, sr) = np.cos(np.radians(v[:, 3:])).T, np.sin(np.radians(v[:, 3:])).T
    m = np.zeros((len(v), 4, 4))
    m[:, 0, :3] = np.stack([cp * cy, cy * sp * sr - sy * cr, -cy * sp * cr - sy * sr], axis=1)
    m[:, 1, :3] = np.stack([cp * sy, sy * sp * sr + cy * cr, -sy * sp * cr + cy * sr], axis=1)
    m[:, 2, :3] = np.stack([sp, -cp * sr, cp * cr], axis=1)
    m[:, :3, 3] = v[:, :3]
    m[:, 3, 3] = 1.0
    return m


def instance_block(
    poses: F64, sizes: F64, tints: F64, seeds: F64, tags: F64, ids: F64, bits: F64, sway: F64, limbs: F64
) -> F32:
    """(N, 24) instances. `poses` (N, 4, 4), `sizes` (N, 3) m, `tints` (N, 3); the rest (N,)."""
    block = np.empty((len(poses), INSTANCE_WIDTH), dtype=np.float32)
    rows = block[:, :12].reshape(-1, 3, 4)
    rows[:, :, :3] = poses[:, :3, :3] * sizes[:, None, :]
    rows[:, :, 3] = poses[:, :3, 3]
    block[:, 12:15], block[:, 15] = tints, seeds
    block[:, 16:19], block[:, 19] = sizes, tags
    block[:, 20], block[:, 21], block[:, 22], block[:, 23] = ids, bits, sway, limbs
    return block


class InstancedShape:
    """A shape on the GPU with room for instances, drawn by any program of object_vert.glsl."""

    def __init__(self, ctx: Any, shape: Shape) -> None:
        self._ctx = ctx
        self._vertices = ctx.buffer(np.ascontiguousarray(shape.vertices, dtype=np.float32).tobytes())
        self._indices = ctx.buffer(np.ascontiguousarray(shape.triangles, dtype=np.uint32).tobytes())
        self._capacity = 0
        self._instances: Any = None
        self._arrays: dict[int, Any] = {}
        self.triangles = len(shape.triangles)

    def draw(self, program: Any, instances: F32) -> None:
        """Draw `instances` (N, 24) with `program`."""
        count = len(instances)
        if count == 0:
            return
        if count > self._capacity:
            self._grow(count)
        self._instances.write(np.ascontiguousarray(instances))
        array = self._arrays.get(program.glo)
        if array is None:
            array = self._ctx.vertex_array(
                program,
                [(self._vertices, _SHAPE_LAYOUT, *_SHAPE_NAMES), (self._instances, _INSTANCE_LAYOUT, *_INSTANCE_NAMES)],
                self._indices,
                skip_errors=True,
            )
            self._arrays[program.glo] = array
        array.render(instances=count)

    def _grow(self, count: int) -> None:
        for array in self._arrays.values():
            array.release()
        self._arrays.clear()
        if self._instances is not None:
            self._instances.release()
        self._capacity = max(16, 2 * count)
        self._instances = self._ctx.buffer(reserve=self._capacity * INSTANCE_WIDTH * 4, dynamic=True)

    def release(self) -> None:
        for array in self._arrays.values():
            array.release()
        for buffer in (self._vertices, self._indices, self._instances):
            if buffer is not None:
                buffer.release()


def object_program(programs: Programs, kind: str, defines: tuple[str, ...]) -> Any:
    """The program that shades `kind`: "object", "foliage", "facade" or "sign"."""
    extra = () if kind == "object" else (kind.upper(),)
    return programs.get("object", "object", defines + extra)
