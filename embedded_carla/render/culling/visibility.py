"""Visibility culling, level-of-detail selection and draw commands for instances and ground tiles: compiled loops.

`views` is a camera as an array (1,) of `frame.VIEW`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.render.frame import VIEW, View

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
Views = NDArray[np.void]

FAR_M, LEAST_PX, LEVEL_1_PX, LEVEL_2_PX = range(4)
"""Columns of `Candidates.limits`.

`FAR_M` is the distance up to which an instance is drawn, `LEAST_PX` its least radius in the picture. Below the radii
`LEVEL_1_PX` and `LEVEL_2_PX` it is drawn in a coarser level of detail."""

INDEX_COUNT, INSTANCE_COUNT, FIRST_INDEX, BASE_VERTEX, BASE_INSTANCE = range(5)
"""Columns of OpenGL's indirect draw commands."""


class Candidates(NamedTuple):
    """Instances that may be drawn: bounding spheres `centre` (n, 3) and `radius` (n,).

    `limits` (n, 4); `shapes` (n, 3) by level and `casts` (n,), the one that casts the shadow, are numbers of shapes, -1
    for none; `shown` (n,).
    """

    centre: F64
    radius: F64
    limits: F64
    shapes: I32
    casts: I32
    shown: Flags


class Chosen(NamedTuple):
    """Arrays (n,) of the chosen instances: the row, counted over several `Candidates`; the shape; the distance, m."""

    row: I64
    shape: I32
    distance: F64


class ShapeTable(NamedTuple):
    """The shapes on the GPU by number, and their drawing order `by_rank`."""

    by_rank: I64
    kind: I32
    index_count: I64
    first_index: I64
    base_vertex: I64


class Commands(NamedTuple):
    """Indirect draw commands (n, 5), and how many of them there are per group of equal GPU state."""

    block: NDArray[np.uint32]
    per_group: I64


class Tiles(NamedTuple):
    """Ground tiles (n,): bounding spheres, least and greatest distance, group, and place in the index buffer."""

    centre: F64
    radius: F64
    near_m: F64
    far_m: F64
    group: I32
    first: I64
    length: I64


@inner
def in_view(view: View, x: float, y: float, z: float, radius: float, far_m: float) -> bool:
    """Whether a sphere at eye-relative (x, y, z) may be visible within `far_m`."""
    forward, right, up = view.forward, view.right, view.up
    depth = x * forward[0] + y * forward[1] + z * forward[2]
    if depth <= -radius or depth >= min(far_m, view.far_m) + radius:
        return False
    if abs(x * right[0] + y * right[1] + z * right[2]) - depth * view.tan_x > radius * view.wide:
        return False
    return bool(abs(x * up[0] + y * up[1] + z * up[2]) - depth * view.tan_y <= radius * view.tall)


@compiled
def choose_seen(views: Views, candidates: Candidates, first: int, count: int, chosen: Chosen) -> int:
    """Append the visible candidates, whose rows are numbered from `first`, after the first `count` of `chosen`.

    Returns the new count.
    """
    view, centre, limits = views[0], candidates.centre, candidates.limits
    for i in range(len(centre)):
        if not candidates.shown[i]:
            continue
        x, y, z = centre[i, 0] - view.eye[0], centre[i, 1] - view.eye[1], centre[i, 2] - view.eye[2]
        radius = candidates.radius[i]
        if not in_view(view, x, y, z, radius, limits[i, FAR_M]):
            continue
        away = math.sqrt(x * x + y * y + z * z)
        radius_px = radius / max(away, 0.5) * view.focal_px
        if radius_px <= limits[i, LEAST_PX]:
            continue
        level = int(radius_px < limits[i, LEVEL_1_PX]) + int(radius_px < limits[i, LEVEL_2_PX])
        shape = candidates.shapes[i, level]
        if shape >= 0:
            chosen.row[count], chosen.shape[count], chosen.distance[count] = first + i, shape, away
            count += 1
    return count


@compiled
def choose_casters(
    light: F64, range_m: float, eye: F64, candidates: Candidates, first: int, count: int, chosen: Chosen
) -> int:
    """Like `choose_seen`, for shadow casters within a light's square.

    `light` (2, 4) maps an eye-relative position to -1..1.
    """
    centre, casts = candidates.centre, candidates.casts
    for i in range(len(centre)):
        if not candidates.shown[i] or casts[i] < 0:
            continue
        x, y, z = centre[i, 0] - eye[0], centre[i, 1] - eye[1], centre[i, 2] - eye[2]
        reach = 1.0 + candidates.radius[i] / range_m
        u = light[0, 0] * x + light[0, 1] * y + light[0, 2] * z + light[0, 3]
        v = light[1, 0] * x + light[1, 1] * y + light[1, 2] * z + light[1, 3]
        if abs(u) < reach and abs(v) < reach:
            chosen.row[count], chosen.shape[count], chosen.distance[count] = first + i, casts[i], 0.0
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
    count: int, chosen: Chosen, still: F32, moving: F32, shapes: ShapeTable, first_row: int, block: F32, out: Commands
) -> int:
    """Gather the chosen rows into `block`, shape by shape in the order of rank, nearest first within a shape.

    Row numbers count `still` first, then `moving`. Writes one indirect draw command per shape, and the number of
    commands per kind of shape; returns the number of commands.
    """
    counts = np.zeros(len(shapes.kind), dtype=np.int64)
    for k in range(count):
        counts[chosen.shape[k]] += 1
    cursor, commands = np.zeros(len(shapes.kind), dtype=np.int64), out.block
    out.per_group[:] = 0
    at, made = 0, 0
    for s in shapes.by_rank:
        if counts[s] == 0:
            continue
        cursor[s] = at
        commands[made, INDEX_COUNT], commands[made, INSTANCE_COUNT] = shapes.index_count[s], counts[s]
        commands[made, FIRST_INDEX], commands[made, BASE_VERTEX] = shapes.first_index[s], shapes.base_vertex[s]
        commands[made, BASE_INSTANCE] = first_row + at
        out.per_group[shapes.kind[s]] += 1
        made += 1
        at += counts[s]
    for k in np.argsort(chosen.distance[:count], kind="mergesort"):
        s, source = chosen.shape[k], chosen.row[k]
        if source < len(still):
            block[cursor[s]] = still[source]
        else:
            block[cursor[s]] = moving[source - len(still)]
        cursor[s] += 1
    return made


@compiled
def tile_commands(views: Views, tiles: Tiles, hidden: Flags, out: Commands) -> int:
    """Write indirect draw commands for the visible tiles, merging tiles that are adjacent in the index buffer.

    Returns the number of commands, and writes their number per group.
    """
    view, centre, commands = views[0], tiles.centre, out.block
    out.per_group[:] = 0
    made = 0
    for i in range(len(centre)):
        x, y, z = centre[i, 0] - view.eye[0], centre[i, 1] - view.eye[1], centre[i, 2] - view.eye[2]
        radius = tiles.radius[i]
        if hidden[i] or not in_view(view, x, y, z, radius, tiles.far_m[i]):
            continue
        if tiles.near_m[i] > 0.0 and math.sqrt(x * x + y * y + z * z) + radius <= tiles.near_m[i]:
            continue
        group, first, length = tiles.group[i], tiles.first[i], tiles.length[i]
        if out.per_group[group] > 0 and commands[made - 1, FIRST_INDEX] + commands[made - 1, INDEX_COUNT] == first:
            commands[made - 1, INDEX_COUNT] += length
            continue
        commands[made, INDEX_COUNT], commands[made, INSTANCE_COUNT], commands[made, FIRST_INDEX] = length, 1, first
        commands[made, BASE_VERTEX], commands[made, BASE_INSTANCE] = 0, 0
        out.per_group[group] += 1
        made += 1
    return made


def warm_up() -> None:
    """Compile these kernels for the renderer's types, or load them from disk, before a picture needs them."""
    views, one, shown = np.zeros(1, VIEW), np.zeros((1, 3)), np.ones(1, dtype=np.bool_)
    row, shape, distance = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(1)
    candidates = Candidates(one, np.ones(1), np.zeros((1, 4)), np.zeros((1, 3), np.int32), shape, shown)
    chosen, commands = Chosen(row, shape, distance), Commands(np.zeros((1, 5), np.uint32), np.zeros(1, dtype=np.int64))
    numbers, block = np.zeros(1, dtype=np.int64), np.zeros((1, 4), np.float32)
    choose_seen(views, candidates, 0, 0, chosen)
    choose_casters(np.zeros((2, 4)), 1.0, np.zeros(3), candidates, 0, 0, chosen)
    first_unmade(1, shape, numbers)
    arrange(1, chosen, block, block, ShapeTable(numbers, shape, numbers, numbers, numbers), 0, block, commands)
    tiles = Tiles(one, np.ones(1), np.zeros(1), np.ones(1), shape, numbers, numbers)
    tile_commands(views, tiles, shown, commands)
