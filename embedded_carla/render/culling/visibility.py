"""Visibility culling, level-of-detail selection and draw commands for instances and ground tiles: compiled loops.

A view is 18 numbers (`Camera.numbers`): eye 3, forward 3, right 3, up 3, tangents of the half angles of view 2, lengths
of (1, tangent) 2, pixels per tangent, far limit m. `limits` of an instance are 4: far limit m, least radius in pixels,
radius in pixels below which level 1 is drawn, and below which level 2 is drawn. `shapes` (n, 3) are shape numbers by
level, -1 for none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]


@inner
def in_view(view: F64, x: float, y: float, z: float, radius: float, far_m: float) -> bool:
    """Whether a sphere at eye-relative (x, y, z) may be visible within `far_m`."""
    depth = x * view[3] + y * view[4] + z * view[5]
    if depth <= -radius or depth >= min(far_m, view[17]) + radius:
        return False
    if abs(x * view[6] + y * view[7] + z * view[8]) - depth * view[12] > radius * view[14]:
        return False
    return bool(abs(x * view[9] + y * view[10] + z * view[11]) - depth * view[13] <= radius * view[15])


@compiled
def choose_seen(
    view: F64, centre: F64, radius: F64, limits: F64, shapes: I32, shown: Flags, first: int, count: int, row: I64,
    shape: I32, distance: F64,
) -> int:  # fmt: skip
    """Append the visible instances after the first `count`: row (numbered from `first`), shape, distance.

    Returns the new count.
    """
    for i in range(len(centre)):
        if not shown[i]:
            continue
        x, y, z = centre[i, 0] - view[0], centre[i, 1] - view[1], centre[i, 2] - view[2]
        if not in_view(view, x, y, z, radius[i], limits[i, 0]):
            continue
        away = math.sqrt(x * x + y * y + z * z)
        radius_px = radius[i] / max(away, 0.5) * view[16]
        if radius_px <= limits[i, 1]:
            continue
        level = int(radius_px < limits[i, 2]) + int(radius_px < limits[i, 3])
        if shapes[i, level] >= 0:
            row[count], shape[count], distance[count] = first + i, shapes[i, level], away
            count += 1
    return count


@compiled
def choose_casters(
    light: F64, range_m: float, eye: F64, centre: F64, radius: F64, casts: I32, shown: Flags, first: int, count: int,
    row: I64, shape: I32, distance: F64,
) -> int:  # fmt: skip
    """Like `choose_seen`, for shadow casters within a light's square; `casts` are the shapes.

    `light` (2, 4) maps an eye-relative position to -1..1.
    """
    for i in range(len(centre)):
        if not shown[i] or casts[i] < 0:
            continue
        x, y, z = centre[i, 0] - eye[0], centre[i, 1] - eye[1], centre[i, 2] - eye[2]
        reach = 1.0 + radius[i] / range_m
        u = light[0, 0] * x + light[0, 1] * y + light[0, 2] * z + light[0, 3]
        v = light[1, 0] * x + light[1, 1] * y + light[1, 2] * z + light[1, 3]
        if abs(u) < reach and abs(v) < reach:
            row[count], shape[count], distance[count] = first + i, casts[i], 0.0
            count += 1
    return count


@compiled
def first_unmade(count: int, shape: I32, index_count: I64) -> int:
    """The first of `count` shapes that has no triangles yet; -1 when all have."""
    for k in range(count):
        if index_count[shape[k]] == 0:
            return int(shape[k])
    return -1


@compiled
def arrange(
    count: int, row: I64, shape: I32, distance: F64, still: F32, moving: F32, by_rank: I64, kind: I32, index_count: I64,
    first_index: I64, base_vertex: I64, first_row: int, block: F32, commands: NDArray[np.uint32], per_kind: I64,
) -> int:  # fmt: skip
    """Gather the chosen rows into `block`, shape by shape in the order `by_rank`, nearest first within a shape.

    Row numbers count `still` first, then `moving`. Writes one indirect draw command per shape, and the number of
    commands per kind of shape; returns the number of commands.
    """
    counts = np.zeros(len(kind), dtype=np.int64)
    for k in range(count):
        counts[shape[k]] += 1
    cursor = np.zeros(len(kind), dtype=np.int64)
    per_kind[:] = 0
    at, made = 0, 0
    for s in by_rank:
        if counts[s] == 0:
            continue
        cursor[s] = at
        commands[made, 0], commands[made, 1], commands[made, 2] = index_count[s], counts[s], first_index[s]
        commands[made, 3], commands[made, 4] = base_vertex[s], first_row + at
        per_kind[kind[s]] += 1
        made += 1
        at += counts[s]
    for k in np.argsort(distance[:count], kind="mergesort"):
        s, source = shape[k], row[k]
        if source < len(still):
            block[cursor[s]] = still[source]
        else:
            block[cursor[s]] = moving[source - len(still)]
        cursor[s] += 1
    return made


@compiled
def tile_commands(
    view: F64, centre: F64, radius: F64, nearest_m: F64, farthest_m: F64, hidden: Flags, group: I32, first: I64,
    length: I64, commands: NDArray[np.uint32], per_group: I64,
) -> int:  # fmt: skip
    """Write indirect draw commands for the visible tiles, merging tiles that are adjacent in the index buffer.

    Returns the number of commands; `per_group` gets their number per group.
    """
    per_group[:] = 0
    made = 0
    for i in range(len(centre)):
        x, y, z = centre[i, 0] - view[0], centre[i, 1] - view[1], centre[i, 2] - view[2]
        if hidden[i] or not in_view(view, x, y, z, radius[i], farthest_m[i]):
            continue
        if nearest_m[i] > 0.0 and math.sqrt(x * x + y * y + z * z) + radius[i] <= nearest_m[i]:
            continue
        g = group[i]
        if per_group[g] > 0 and commands[made - 1, 2] + commands[made - 1, 0] == first[i]:
            commands[made - 1, 0] += length[i]
            continue
        commands[made, 0], commands[made, 1], commands[made, 2] = length[i], 1, first[i]
        commands[made, 3], commands[made, 4] = 0, 0
        per_group[g] += 1
        made += 1
    return made


def warm_up() -> None:
    """Compile these kernels for the renderer's types, or load them from disk, before a picture needs them."""
    view, one, shown = np.zeros(18), np.zeros((1, 3)), np.ones(1, dtype=np.bool_)
    row, shape, distance = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(1)
    numbers, block, commands = np.zeros(1, dtype=np.int64), np.zeros((1, 4), np.float32), np.zeros((1, 5), np.uint32)
    choose_seen(view, one, np.zeros(1), np.zeros((1, 4)), np.zeros((1, 3), np.int32), shown, 0, 0, row, shape, distance)
    choose_casters(np.zeros((2, 4)), 1.0, view[:3], one, np.ones(1), shape, shown, 0, 0, row, shape, distance)
    first_unmade(1, shape, numbers)
    arrange(
        1, row, shape, distance, block, block, numbers, shape, numbers, numbers, numbers, 0, block, commands, numbers
    )
    tile_commands(view, one, np.zeros(1), np.zeros(1), np.ones(1), shown, shape, numbers, numbers, commands, numbers)
