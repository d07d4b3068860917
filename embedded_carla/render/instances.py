"""Instance data of unit shapes: one row of numbers per instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.culling.visibility import Candidates
from embedded_carla.types import Transform

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
INSTANCE_WIDTH = 24  # rows 3x4, tint 4, size and tag 4, state 4: see object_vert.glsl


@dataclass(frozen=True, slots=True)
class Rows:
    """n instances that may be drawn.

    `block` (n, 24) as in object_vert.glsl; `bounds` (n, 5) is the bounding box: least and greatest x and y, and
    greatest z; `candidates` are the same instances for the choice of what is drawn.
    """

    block: F32
    bounds: F64
    candidates: Candidates


def pose_matrices(transforms: Sequence[Transform]) -> F64:
    """(N, 4, 4) vectorised `Transform.matrix`."""
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
    """(N, 24) instance block. `poses` (N, 4, 4), `sizes` (N, 3) m, `tints` (N, 3); the rest (N,)."""
    block = np.empty((len(poses), INSTANCE_WIDTH), dtype=np.float32)
    rows = block[:, :12].reshape(-1, 3, 4)
    rows[:, :, :3] = poses[:, :3, :3] * sizes[:, None, :]
    rows[:, :, 3] = poses[:, :3, 3]
    block[:, 12:15], block[:, 15] = tints, seeds
    block[:, 16:19], block[:, 19] = sizes, tags
    block[:, 20], block[:, 21], block[:, 22], block[:, 23] = ids, bits, sway, limbs
    return block


def bounds_of(centre: F64, half: F64) -> F64:
    """(n, 5) bounds as in `Rows` of axis-aligned boxes: `centre` (n, 3), `half` (n, 3)."""
    low, high = centre - half, centre + half
    return np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1], high[:, 2]], axis=1)


def _no_rows() -> Rows:
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int32)
    block = np.zeros((0, INSTANCE_WIDTH), dtype=np.float32)
    shapes = np.zeros((0, 3), dtype=np.int32)
    shown = np.zeros(0, dtype=np.bool_)
    candidates = Candidates(np.zeros((0, 3)), nothing, np.zeros((0, 4)), shapes, none, shown)
    return Rows(block, np.zeros((0, 5)), candidates)


NO_ROWS = _no_rows()
