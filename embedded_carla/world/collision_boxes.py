"""Oriented boxes and where to look for neighbours (broad phase)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import Boxes
from embedded_carla.types import BoundingBox, Float, Transform

CELL_M = 16.0
REACH_M = 9.0  # bodies up to this radius find all their neighbours in the grid cell of their centre
CELLS_MAX = 1_000_000

Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class DynamicBoxes:
    """Boxes of actors: `ids` (N,), `centre` (N, 3), `half` (N, 3), `axes` (N, 3, 3) whose columns are the box's axes
    in the world, `velocity` (N, 3) of the centres (zeros when unknown)."""

    ids: NDArray[np.int64]
    centre: Float
    half: Float
    axes: Float
    velocity: Float

    @staticmethod
    def of(ids: Sequence[int], location: Float, rotation_deg: Float, half: Float, velocity: Float) -> DynamicBoxes:
        """Boxes that stand on their actors' origins: poses (N, 3) as CARLA has them, the centre half[2] above."""
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
    """(N, 3) pitch, yaw, roll -> (N, 3, 3) local to world, as `Transform.matrix`."""
    cos, sin = np.cos(np.radians(rotation_deg)), np.sin(np.radians(rotation_deg))
    (cp, cy, cr), (sp, sy, sr) = cos.T, sin.T
    out = np.empty((len(rotation_deg), 3, 3))
    out[:, 0, 0], out[:, 1, 0], out[:, 2, 0] = cp * cy, cp * sy, sp
    out[:, 0, 1], out[:, 1, 1], out[:, 2, 1] = cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, -cp * sr
    out[:, 0, 2], out[:, 1, 2], out[:, 2, 2] = -cy * sp * cr - sy * sr, -sy * sp * cr + cy * sr, cp * cr
    return out


def reach(half: Float, axes: Float) -> Float:
    """(N, 3) half size of the axis-aligned box around each oriented one."""
    out: Float = (np.abs(axes) @ half[:, :, None])[:, :, 0]
    return out


class StaticBoxes:
    """The scenery's boxes with a uniform grid over them, made once per map."""

    def __init__(self, boxes: Boxes) -> None:
        self.centre: Float = np.asarray(boxes.centre, dtype=np.float64).reshape(-1, 3)
        self.half: Float = np.asarray(boxes.half, dtype=np.float64).reshape(-1, 3)
        yaw = np.asarray(boxes.yaw_rad, dtype=np.float64)
        self.axes = rotations(np.stack([0 * yaw, np.degrees(yaw), 0 * yaw], axis=1))
        self.tag: NDArray[np.uint8] = np.asarray(boxes.tag, dtype=np.uint8)
        size = reach(self.half, self.axes)
        self.low, self.high = self.centre - size, self.centre + size
        self._fill_grid()

    def __len__(self) -> int:
        return len(self.centre)

    def _fill_grid(self) -> None:
        """List, per cell, the boxes that a body of radius REACH_M centred in it can touch."""
        if not len(self):
            self._origin, self._shape, self._cell = np.zeros(2), (0, 0), CELL_M
            return
        low, high = self.low[:, :2] - REACH_M, self.high[:, :2] + REACH_M
        self._origin = low.min(axis=0)
        extent = high.max(axis=0) - self._origin
        self._cell = max(CELL_M, float(np.sqrt(extent[0] * extent[1] / CELLS_MAX)))
        first = ((low - self._origin) // self._cell).astype(np.intp)
        last = ((high - self._origin) // self._cell).astype(np.intp)
        self._shape = (int(last[:, 0].max()) + 1, int(last[:, 1].max()) + 1)
        span = last - first + 1
        box, k = spread(span[:, 0] * span[:, 1])
        cell = (first[box, 0] + k // span[box, 1]) * self._shape[1] + first[box, 1] + k % span[box, 1]
        order = np.argsort(cell, kind="stable")
        self._members = box[order]
        self._start = np.searchsorted(cell[order], np.arange(self._shape[0] * self._shape[1] + 1))

    def near(self, centre: Float, size: Float) -> tuple[Index, Index]:
        """Pairs (body, static box) whose axis-aligned boxes touch; bodies as centre and half size (N, 3)."""
        if not len(self) or not len(centre):
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        cell = np.floor((centre[:, :2] - self._origin) / self._cell).astype(np.intp)
        inside = ((cell >= 0) & (cell < self._shape)).all(axis=1)
        flat = np.where(inside, cell[:, 0] * self._shape[1] + cell[:, 1], 0)
        body, k = spread(np.where(inside, self._start[flat + 1] - self._start[flat], 0))
        other = self._members[self._start[flat[body]] + k]
        wide = np.flatnonzero(np.maximum(size[:, 0], size[:, 1]) > REACH_M)
        if len(wide):
            keep = ~np.isin(body, wide)
            body = np.concatenate([body[keep], np.repeat(wide, len(self))])
            other = np.concatenate([other[keep], np.tile(np.arange(len(self)), len(wide))])
        low, high = centre - size, centre + size
        touch = ((low[body] <= self.high[other]) & (high[body] >= self.low[other])).all(axis=1)
        return body[touch], other[touch]


def spread(counts: NDArray[np.integer]) -> tuple[Index, Index]:
    """For counts (2, 0, 3): owners (0, 0, 2, 2, 2) and running numbers (0, 1, 0, 1, 2)."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts)


def pairs(centre: Float, size: Float) -> tuple[Index, Index]:
    """Pairs i < j of bodies whose axis-aligned boxes touch: sweep along x."""
    low, high = centre - size, centre + size
    order = np.argsort(low[:, 0], kind="stable")
    end = np.searchsorted(low[order, 0], high[order, 0], side="right")
    place, k = spread(np.maximum(end - np.arange(1, len(order) + 1), 0))
    a, b = order[place], order[place + 1 + k]
    touch = ((low[a, 1:] <= high[b, 1:]) & (high[a, 1:] >= low[b, 1:])).all(axis=1)
    a, b = a[touch], b[touch]
    return np.minimum(a, b), np.maximum(a, b)
