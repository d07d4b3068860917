"""Occlusion culling behind buildings: compiled loops that are conservative, so a visible object is never dropped.

A horizon (BINS, RINGS) gives, for each horizontal direction and each ring distance, the slope (height / distance) above
which one sees over the buildings that are no further away than the ring. Directions are numbered along a square's
perimeter, which needs no trigonometry. An object is hidden if, in every direction that its bounding box spans, the
slope to its top is below the horizon at the box's nearest distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.render.frame import VIEW, Camera, View
from embedded_carla.render.shapes.buildings import FILLED

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
Views = NDArray[np.void]
Boxes = NDArray[np.void]
BINS = 1024  # directions, each a third of a degree wide
RINGS = 20
FIRST_M = 4.0  # distance of the first ring; nothing nearer is hidden
RATIO = 1.25  # distance of a ring / distance of the one before
LEAST_RISE_M = 0.5  # least height of an occluding building above the camera
REACH_OF_FOCAL_M = 4.0  # m per pixel of focal length: only nearer buildings are used as occluders
LEAST_X, GREATEST_X, LEAST_Y, GREATEST_Y, GREATEST_Z = range(5)
"""Columns of an object's axis-aligned bounding box; its lowest z is not needed."""

OCCLUDER = np.dtype(
    [(name, np.float64) for name in ("x", "y", "cos", "sin", "half_length", "half_width", "foot", "top")]
)
"""A filled box of a building: its centre, the cosine and sine of its yaw, half sizes, z of its foot and top."""

Box = Any
"""A row of OCCLUDER in a compiled loop."""

NO_HORIZON: F32 = np.zeros((0, RINGS), dtype=np.float32)


@inner
def _turn(x: float, y: float) -> float:
    """The direction (x, y) as a number from 0 to 4; opposite directions differ by 2."""
    if y >= 0.0:
        return y / (x + y) if x >= 0.0 else 1.0 - x / (y - x)
    return 2.0 - y / (-x - y) if x < 0.0 else 3.0 + x / (x - y)


@inner
def _direction(turn: float) -> tuple[float, float]:
    """The unit vector of a direction number; inverse of `_turn`."""
    quarter = math.floor(turn)
    part = turn - quarter
    x, y = 1.0 - part, part
    if quarter % 4 == 1:
        x, y = -part, 1.0 - part
    elif quarter % 4 == 2:
        x, y = part - 1.0, -part
    elif quarter % 4 == 3:
        x, y = part, part - 1.0
    length = math.sqrt(x * x + y * y)
    return x / length, y / length


@inner
def _span(ax: float, bx: float, ay: float, by: float) -> tuple[int, int]:
    """First and last bin (possibly outside 0 to BINS) covered by a rectangle from a to b that excludes the origin."""
    middle = _turn(0.5 * (ax + bx), 0.5 * (ay + by))
    low, high = 0.0, 0.0
    for k in range(4):
        off = _turn(ax if k & 1 else bx, ay if k & 2 else by) - middle
        off -= 4.0 * math.floor(off / 4.0 + 0.5)
        low, high = min(low, off), max(high, off)
    return math.floor((middle + low) * (BINS / 4.0)), math.floor((middle + high) * (BINS / 4.0))


@inner
def _entry_m(box: Box, x: float, y: float, dx: float, dy: float) -> float:
    """Distance from the origin at which a ray enters a box centred at (x, y); negative when it misses the box."""
    across, along = -(x * box.cos + y * box.sin), x * box.sin - y * box.cos  # the origin in the box's frame
    u, v = dx * box.cos + dy * box.sin, dy * box.cos - dx * box.sin
    first, last = 0.0, 1e9
    for k in range(2):
        at, way, half = (across, u, box.half_length) if k == 0 else (along, v, box.half_width)
        if abs(way) < 1e-12:
            if abs(at) > half:
                return -1.0
            continue
        a, b = (-half - at) / way, (half - at) / way
        first, last = max(first, min(a, b)), min(last, max(a, b))
    return first if first < last else -1.0


@compiled
def raise_horizon(views: Views, boxes: Boxes, owner: I64, shown: Flags, slope: F32) -> None:
    """Fill `slope` (BINS, RINGS) for the camera `views` (1,) of VIEW.

    `boxes` (n,) are of OCCLUDER. Box i is used if `shown[owner[i]]`.
    """
    slope[:] = -np.inf
    view = views[0]
    eye, forward = view.eye, view.forward
    reach_m = min(FIRST_M * RATIO ** (RINGS - 1), REACH_OF_FOCAL_M * view.focal_px, view.far_m)
    for i in range(len(boxes)):
        box = boxes[i]
        if not shown[owner[i]] or eye[2] < box.foot or eye[2] > box.top - LEAST_RISE_M:
            continue
        x, y = box.x - eye[0], box.y - eye[1]
        size = box.half_length + box.half_width
        if x * x + y * y > reach_m * reach_m or x * forward[0] + y * forward[1] < -size:
            continue
        wide_x = abs(box.cos) * box.half_length + abs(box.sin) * box.half_width
        wide_y = abs(box.sin) * box.half_length + abs(box.cos) * box.half_width
        if abs(x) <= wide_x and abs(y) <= wide_y:
            continue
        first, last = _span(x - wide_x, x + wide_x, y - wide_y, y + wide_y)
        dx, dy = _direction(first * (4.0 / BINS))
        before = _entry_m(box, x, y, dx, dy)
        for b in range(first, last + 1):
            dx, dy = _direction((b + 1) * (4.0 / BINS))
            after = _entry_m(box, x, y, dx, dy)
            if before > 0.0 and after > 0.0:  # the box is convex: entry distance peaks at the bin's edges
                entry = max(before, after)
                steep = (box.top - eye[2]) / entry
                ring = max(0, math.ceil(math.log(entry / FIRST_M) / math.log(RATIO)))
                for r in range(ring, RINGS):
                    slope[b % BINS, r] = max(slope[b % BINS, r], steep)
            before = after


@inner
def _is_hidden(view: View, slope: F32, bounds: F64) -> bool:
    """Whether a bounding box is hidden."""
    eye = view.eye
    ax, bx = bounds[LEAST_X] - eye[0], bounds[GREATEST_X] - eye[0]
    ay, by = bounds[LEAST_Y] - eye[1], bounds[GREATEST_Y] - eye[1]
    x, y = max(ax, 0.0, -bx), max(ay, 0.0, -by)
    near = math.sqrt(x * x + y * y)
    if near <= FIRST_M:
        return False
    rise = bounds[GREATEST_Z] - eye[2]
    if rise < 0.0:
        x, y = max(-ax, bx), max(-ay, by)
    steep = rise / math.sqrt(x * x + y * y)
    ring = min(RINGS - 1, math.floor(math.log(near / FIRST_M) / math.log(RATIO)))
    first, last = _span(ax, bx, ay, by)
    while first <= last and slope[first % BINS, ring] > steep:
        first += 1
    return first > last


@compiled
def keep_visible(
    views: Views, slope: F32, still: F64, moving: F64, count: int, row: I64, shape: I32, distance: F64
) -> int:
    """Remove hidden rows from the `count` chosen ones; returns the new count.

    Row numbers count `still` (n, 5) first, then `moving`.
    """
    if len(slope) == 0:
        return count
    kept = 0
    for k in range(count):
        source = row[k]
        bounds = still[source] if source < len(still) else moving[source - len(still)]
        if not _is_hidden(views[0], slope, bounds):
            row[kept], shape[kept], distance[kept] = source, shape[k], distance[k]
            kept += 1
    return kept


@compiled
def find_hidden(views: Views, slope: F32, bounds: F64, hidden: Flags) -> None:
    """Set `hidden` for the boxes `bounds` (n, 5); behind the camera only some hidden boxes are found."""
    hidden[:] = False
    if len(slope) == 0:
        return
    view = views[0]
    eye, forward = view.eye, view.forward
    for i in range(len(bounds)):
        b = bounds[i]
        ahead = (b[LEAST_X if forward[0] < 0.0 else GREATEST_X] - eye[0]) * forward[0]
        ahead += (b[LEAST_Y if forward[1] < 0.0 else GREATEST_Y] - eye[1]) * forward[1]
        if ahead > 0.0:
            hidden[i] = _is_hidden(view, slope, b)


@dataclass(frozen=True, slots=True)
class Occluders:
    """The filled boxes of all buildings: `boxes` (n,) of OCCLUDER and `owner` (n,) as in `raise_horizon`."""

    boxes: Boxes
    owner: I64

    @staticmethod
    def of(names: Sequence[str], poses: F64, sizes: F64) -> Occluders:
        """Occluders of scenery pieces by prototype; `poses` (N, 4, 4), `sizes` (N, 3). Tilted pieces are skipped."""
        boxes, owner = [], []
        for k, name in enumerate(names):
            m, (length, width, height) = poses[k], sizes[k].tolist()
            if m[2, 2] < 1.0 - 1e-9:
                continue
            for x0, x1, y0, y1, top in FILLED.get(name, ()):
                middle = m[:2, :2] @ (0.5 * (x0 + x1) * length, 0.5 * (y0 + y1) * width) + m[:2, 3]
                half = (0.5 * (x1 - x0) * length, 0.5 * (y1 - y0) * width)
                boxes.append((*middle.tolist(), m[0, 0], m[1, 0], *half, m[2, 3], m[2, 3] + top * height))
                owner.append(k)
        return Occluders(np.array(boxes, dtype=OCCLUDER), np.array(owner, dtype=np.int64))

    def horizon(self, camera: Camera, shown: Flags) -> F32:
        """The horizon of the buildings that are `shown` (N,)."""
        if not len(self.boxes):
            return NO_HORIZON
        slope = np.empty((BINS, RINGS), dtype=np.float32)
        raise_horizon(camera.row(), self.boxes, self.owner, shown, slope)
        return slope


def warm_up() -> None:
    """Compile these kernels, or load them from disk."""
    views, slope, bounds = np.ones(1, VIEW), np.zeros((BINS, RINGS), dtype=np.float32), np.zeros((1, 5))
    raise_horizon(views, np.ones(1, OCCLUDER), np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_), slope)
    row, shape, distance = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(1)
    keep_visible(views, slope, bounds, bounds, 1, row, shape, distance)
    find_hidden(views, slope, bounds, np.zeros(1, dtype=np.bool_))
