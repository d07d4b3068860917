"""Oriented bounding boxes, and the grid that finds nearby scenery boxes (broad phase)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import Boxes
from embedded_carla.types import BoundingBox, Float, Transform
from embedded_carla.world.collision import kernel

CELL_M = 16.0  # edge of a grid cell
REACH_M = 9.0  # bodies up to this radius find all their neighbours in the grid cell of their centre
CELLS_MAX = 1_000_000  # on larger maps the cells are larger

Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class DynamicBoxes:
    """Oriented boxes of actors.

    `ids` (N,), `centre` (N, 3), half sizes `half` (N, 3), `axes` (N, 3, 3) with the box's axes in the world as columns,
    `velocity` (N, 3) of the centres (zeros when unknown).
    """

    ids: NDArray[np.int64]
    centre: Float
    half: Float
    axes: Float
    velocity: Float

    def arrays(self) -> kernel.BoxArrays:
        """The same boxes for the compiled code, with their axis-aligned bounds."""
        centre, half, axes, velocity = (
            np.ascontiguousarray(a, dtype=np.float64) for a in (self.centre, self.half, self.axes, self.velocity)
        )
        low, high = np.empty_like(centre), np.empty_like(centre)
        kernel.bound(centre, half, axes, low, high)
        return kernel.BoxArrays(centre, half, axes, velocity, low, high)

    def with_more(self, more: DynamicBoxes) -> DynamicBoxes:
        """These boxes, then `more`."""
        return DynamicBoxes(
            np.concatenate([self.ids, more.ids]), np.concatenate([self.centre, more.centre]),
            np.concatenate([self.half, more.half]), np.concatenate([self.axes, more.axes]),
            np.concatenate([self.velocity, more.velocity]),
        )  # fmt: skip

    @staticmethod
    def of(ids: Sequence[int], location: Float, rotation_deg: Float, half: Float, velocity: Float) -> DynamicBoxes:
        """Boxes that stand on their actors' origins: the centre is half[2] above. Poses (N, 3) are CARLA's."""
        axes = rotations(rotation_deg)
        centre = location + axes[:, :, 2] * half[:, 2:]
        return DynamicBoxes(np.asarray(ids, dtype=np.int64), centre, half, axes, velocity)

    @staticmethod
    def single(box: BoundingBox, pose: Transform, actor_id: int = 0) -> DynamicBoxes:
        """One box from an actor's bounding box and pose; for spawn tests."""
        world = pose @ Transform(*box.location, *box.rotation_deg)
        m = world.matrix()
        half = np.array([box.extent], dtype=np.float64)
        return DynamicBoxes(
            np.array([actor_id], dtype=np.int64), m[None, :3, 3], half, m[None, :3, :3], np.zeros((1, 3))
        )


def rotations(rotation_deg: Float) -> Float:
    """Rotation matrices (N, 3, 3), local to world, from (N, 3) pitch, yaw, roll in degrees, as `Transform.matrix`."""
    out = np.empty((len(rotation_deg), 3, 3))
    kernel.orient(np.ascontiguousarray(rotation_deg, dtype=np.float64), out)
    return out


class StaticBoxes:
    """The scenery's boxes with a uniform grid over them, built once per map."""

    def __init__(self, boxes: Boxes) -> None:
        # Contiguous arrays: another layout would make the kernels compile anew during a tick.
        self.centre: Float = np.ascontiguousarray(boxes.centre, dtype=np.float64).reshape(-1, 3)
        self.half: Float = np.ascontiguousarray(boxes.half, dtype=np.float64).reshape(-1, 3)
        yaw = np.asarray(boxes.yaw_rad, dtype=np.float64)
        self.axes = rotations(np.stack([0 * yaw, np.degrees(yaw), 0 * yaw], axis=1))
        self.tag: NDArray[np.uint8] = np.asarray(boxes.tag, dtype=np.uint8)
        self.low, self.high = np.empty_like(self.centre), np.empty_like(self.centre)
        kernel.bound(self.centre, self.half, self.axes, self.low, self.high)
        self.arrays = kernel.BoxArrays(
            self.centre, self.half, self.axes, np.zeros_like(self.centre), self.low, self.high
        )
        self.grid = self._grid()

    def __len__(self) -> int:
        return len(self.centre)

    def _grid(self) -> kernel.GridArrays:
        """For each cell, list the boxes that a body of radius REACH_M with its centre in the cell can touch."""
        if not len(self):
            none = np.zeros(0, dtype=np.intp)
            return kernel.GridArrays(np.zeros(2), np.zeros(2, dtype=np.int64), CELL_M, none, none, REACH_M)
        low, high = self.low[:, :2] - REACH_M, self.high[:, :2] + REACH_M
        origin = low.min(axis=0)
        extent = high.max(axis=0) - origin
        cell_m = max(CELL_M, float(np.sqrt(extent[0] * extent[1] / CELLS_MAX)))
        first = ((low - origin) // cell_m).astype(np.intp)
        last = ((high - origin) // cell_m).astype(np.intp)
        shape = last.max(axis=0).astype(np.int64) + 1
        span = last - first + 1
        box, k = spread(span[:, 0] * span[:, 1])
        cell = (first[box, 0] + k // span[box, 1]) * shape[1] + first[box, 1] + k % span[box, 1]
        order = np.argsort(cell, kind="stable")
        start = np.searchsorted(cell[order], np.arange(shape[0] * shape[1] + 1))
        return kernel.GridArrays(origin, shape, cell_m, start, box[order], REACH_M)


def spread(counts: NDArray[np.integer]) -> tuple[Index, Index]:
    """Expand counts: (2, 0, 3) gives owners (0, 0, 2, 2, 2) and running numbers (0, 1, 0, 1, 2)."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts)
