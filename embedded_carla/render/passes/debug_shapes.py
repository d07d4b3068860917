"""Clients' debug shapes as quads that face the camera, drawn like `sprites` into the colour picture only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import Camera
from embedded_carla.render.passes.sprite_rows import WIDTH
from embedded_carla.scene import DebugArrow, DebugBox, DebugLine, DebugPoint, DebugShape, Rgb
from embedded_carla.types import Transform

F64 = NDArray[np.float64]
SOLID = 3.0
BIAS = 0.002
LONGEST_M = 6.0  # lines are cut so that each piece gets the width for its own distance
HAIRLINE_PX = 1.2


def debug_rows(camera: Camera, shapes: Sequence[DebugShape]) -> F64:
    """(n, 16) rows for SpriteDrawer; shapes with `on_screen` are skipped."""
    seen = [shape for shape in shapes if not shape.on_screen]
    points = [(*p.location, p.size_m, *p.colour) for p in seen if isinstance(p, DebugPoint)]
    lines = [(*a, *b, thick, *colour) for shape in seen for a, b, thick, colour in _lines(shape)]
    return np.concatenate([
        _point_rows(camera, np.array(points, dtype=np.float64).reshape(-1, 7)),
        _line_rows(camera, np.array(lines, dtype=np.float64).reshape(-1, 10)),
    ])  # fmt: skip


def _lines(shape: DebugShape) -> Iterator[tuple[Sequence[float], Sequence[float], float, Rgb]]:
    """The lines (begin, end, thickness, colour) of a line, an arrow or a box."""
    if isinstance(shape, DebugLine | DebugArrow):
        yield shape.begin, shape.end, shape.thickness_m, shape.colour
    if isinstance(shape, DebugArrow):
        for barb in _barbs(np.array(shape.begin), np.array(shape.end), shape.head_m):
            yield shape.end, barb.tolist(), shape.thickness_m, shape.colour
    if isinstance(shape, DebugBox):
        pitch, yaw, roll = shape.box.rotation_deg
        turn = Transform(0.0, 0.0, 0.0, pitch, yaw, roll).matrix()[:3, :3]
        signs = np.array(list(product((-1.0, 1.0), repeat=3)))
        corners = np.array(shape.box.location) + (signs * shape.box.extent) @ turn.T
        for a, b in product(range(8), repeat=2):
            if a < b and (a ^ b) in (1, 2, 4):  # corners that differ along one axis
                yield corners[a].tolist(), corners[b].tolist(), shape.thickness_m, shape.colour


def _barbs(begin: F64, end: F64, size_m: float) -> F64:
    """(4, 3) end points of the four lines of an arrow's head."""
    length = float(np.linalg.norm(end - begin))
    if length < 1e-6:
        return np.zeros((0, 3))
    axis = (end - begin) / length
    side = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.99 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    up = np.cross(side, axis)
    return np.stack([end + size_m * (d - axis) for d in (side, -side, up, -up)])


def _point_rows(camera: Camera, points: F64) -> F64:
    """Rows of `points` (n, 7): location, size m, colour."""
    rel = points[:, :3] - camera.eye
    half = np.maximum(0.5 * points[:, 3], HAIRLINE_PX * _pixel_m(camera, rel))[:, None]
    return _solid(rel, camera.right * half, camera.up * half, points[:, 4:7])


def _line_rows(camera: Camera, lines: F64) -> F64:
    """Rows of `lines` (n, 10): begin, end, thickness m, colour."""
    length = np.linalg.norm(lines[:, 3:6] - lines[:, :3], axis=1)
    pieces = np.clip(np.ceil(length / LONGEST_M), 1, 64).astype(int)
    owner = np.repeat(np.arange(len(lines)), pieces)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = 1.0 / pieces[owner]
    vector = lines[owner, 3:6] - lines[owner, :3]
    rel = lines[owner, :3] + vector * ((place + 0.5) * share)[:, None] - camera.eye
    along = vector * (0.5 * share)[:, None]
    across = np.cross(along, rel)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    half = np.maximum(0.5 * lines[owner, 6], 0.5 * HAIRLINE_PX * _pixel_m(camera, rel))
    return _solid(rel, along, across * half[:, None], lines[owner, 7:10])


def _pixel_m(camera: Camera, rel: F64) -> F64:
    """(n,) size of one pixel in metres at eye-relative positions `rel` (n, 3)."""
    return np.asarray(np.maximum(rel @ camera.forward, 0.1) / camera.focal_px)


def _solid(rel: F64, along: F64, across: F64, colour: F64) -> F64:
    rows = np.empty((len(rel), WIDTH))
    rows[:, 0:3], rows[:, 3] = rel, BIAS
    rows[:, 4:7], rows[:, 7] = along, 1.0
    rows[:, 8:11], rows[:, 11] = across, 1.0
    rows[:, 12:15], rows[:, 15] = colour / 255.0, SOLID
    return rows
