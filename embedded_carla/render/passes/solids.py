"""Draws all objects that stand on the ground: culled for a view or light at once, drawn with one call per program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.culling.occlusion import NO_HORIZON, keep_visible
from embedded_carla.render.culling.visibility import (
    Chosen,
    Commands,
    ShapeTable,
    arrange,
    choose_casters,
    choose_seen,
    first_unmade,
)
from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import INSTANCE_WIDTH, Rows
from embedded_carla.render.programs import Programs
from embedded_carla.render.shapes.pool import KINDS, ShapePool

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
ROW_BYTES = 4 * INSTANCE_WIDTH
COMMAND_BYTES = 20
LEAST_BYTES = 4096  # a buffer must not be empty, but a scenery may be
_SHAPE = ("3f 3f 4f 2f", "in_position", "in_normal", "in_colour", "in_motion")
_INSTANCE = ("4f 4f 4f 4f 4f 4f/i", "row_x", "row_y", "row_z", "tint", "size_tag", "state")


@dataclass(frozen=True, slots=True)
class Batch:
    """A set of draw commands on the GPU: index of the first indirect command, and the number for each of KINDS."""

    first: int
    per_kind: tuple[int, ...]


class Solids:
    """GPU buffers of instances and commands, refilled for each picture.

    Call `begin`, then make batches and draw each.
    """

    def __init__(self, ctx: Any, pool: ShapePool) -> None:
        self._ctx = ctx
        self._pool = pool
        self._arrays: dict[int, Any] = {}
        self._version = -1
        self._instances: Any = None
        self._commands: Any = None
        self._next_row = self._next_command = 0
        self._hold(256)

    def _hold(self, rows: int) -> None:
        """Allocate arrays for choosing from this many instances."""
        self._chosen = Chosen(np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int32), np.zeros(rows))
        self._block = np.zeros((rows, INSTANCE_WIDTH), dtype=np.float32)
        self._made = Commands(np.zeros((rows, 5), dtype=np.uint32), np.zeros(len(KINDS), dtype=np.int64))

    def begin(self) -> None:
        """Start a new picture: the buffers are free again."""
        self._next_row = self._next_command = 0

    def triangles(self) -> int:
        """Number of triangles in the batches since `begin`; for benchmarks."""
        made = np.frombuffer(self._commands.read(), dtype=np.uint32)[: 5 * self._next_command].reshape(-1, 5)
        return int((made[:, 0].astype(np.int64) * made[:, 1]).sum()) // 3

    def seen(self, camera: Camera, still: Rows, moving: Rows, horizon: F32 = NO_HORIZON) -> Batch:
        """Batch of the objects that are in the camera's view and not hidden by the horizon."""
        self._make_room(still, moving)
        views, count = camera.row(), 0
        for first, rows in ((0, still), (len(still.block), moving)):
            count = choose_seen(views, rows.candidates, first, count, self._chosen)
        count = keep_visible(views, horizon, still.bounds, moving.bounds, count, *self._chosen)
        return self._batch(count, still, moving)

    def casters(self, light: F64, range_m: float, eye: F64, still: Rows, moving: Rows) -> Batch:
        """Batch of the objects that may cast a shadow into a light's square.

        `light` (2, 4) maps eye-relative position to -1..1.
        """
        self._make_room(still, moving)
        count, light, eye = 0, np.ascontiguousarray(light), np.ascontiguousarray(eye)
        for first, rows in ((0, still), (len(still.block), moving)):
            count = choose_casters(light, range_m, eye, rows.candidates, first, count, self._chosen)
        return self._batch(count, still, moving)

    def draw(self, batch: Batch, programs: Programs, defines: tuple[str, ...]) -> None:
        """Draw a batch with the outputs and features in `defines`."""
        first = batch.first
        for kind, count in zip(KINDS, batch.per_kind, strict=True):
            if count:
                own = defines if kind == "object" else (*defines, kind.upper())
                self._array(programs.get("object", "object", own)).render_indirect(
                    self._commands, moderngl.TRIANGLES, count, first
                )
            first += count

    def cast(self, batch: Batch, program: Any) -> None:
        """Draw a batch into the shadow map, with one program for all kinds."""
        count = sum(batch.per_kind)
        if count:
            self._array(program).render_indirect(self._commands, moderngl.TRIANGLES, count, batch.first)

    def forget_programs(self) -> None:
        """Release the vertex arrays of all programs."""
        for array in self._arrays.values():
            array.release()
        self._arrays.clear()

    def _make_room(self, still: Rows, moving: Rows) -> None:
        self._pool.sort()
        rows = len(still.block) + len(moving.block)
        if rows > len(self._chosen.row):
            self._hold(2 * rows)
        self._instances = self._grown(self._instances, (self._next_row + rows) * ROW_BYTES)
        self._commands = self._grown(self._commands, (self._next_command + len(self._pool.kind)) * COMMAND_BYTES)

    def _grown(self, buffer: Any, size: int) -> Any:
        """`buffer`, or a larger one; commands queued from the old buffer are not affected."""
        if buffer is not None and size <= buffer.size:
            return buffer
        if buffer is not None:
            buffer.release()
        self._version = -1
        return self._ctx.buffer(reserve=max(2 * size, LEAST_BYTES), dynamic=True)

    def _batch(self, count: int, still: Rows, moving: Rows) -> Batch:
        """Sort the chosen instances and upload them with their commands."""
        pool = self._pool
        if first_unmade(count, self._chosen.shape, pool.index_count) >= 0:
            pool.ensure(np.unique(self._chosen.shape[:count]).tolist())
        shapes = ShapeTable(pool.by_rank, pool.kind, pool.index_count, pool.first_index, pool.base_vertex)
        made = arrange(count, self._chosen, still.block, moving.block, shapes, self._next_row, self._block, self._made)
        if count:
            self._instances.write(self._block[:count], offset=self._next_row * ROW_BYTES)
            self._commands.write(self._made.block[:made], offset=self._next_command * COMMAND_BYTES)
        batch = Batch(self._next_command, tuple(self._made.per_group.tolist()))
        self._next_row, self._next_command = self._next_row + count, self._next_command + made
        return batch

    def _array(self, program: Any) -> Any:
        """The vertex array of the current buffers for `program`."""
        if self._version != self._pool.version:
            self.forget_programs()
            self._version = self._pool.version
        array = self._arrays.get(program.glo)
        if array is None:
            content = [(self._pool.vertices, *_SHAPE), (self._instances, *_INSTANCE)]
            array = self._ctx.vertex_array(program, content, self._pool.indices, skip_errors=True)
            self._arrays[program.glo] = array
        return array
