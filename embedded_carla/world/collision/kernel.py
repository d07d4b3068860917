"""Collision detection and response: compiled loops over boxes and contacts.

Broad phase: sweep along x among the bodies, a grid for the scenery. Narrow phase: separating axis test (S. Gottschalk
et al., *OBBTree*, 1996). Response: sequential impulses with restitution and Coulomb friction; bodies turn about the
vertical axis only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.types import Float

Index = NDArray[np.intp]

CLEARANCE_M = 0.15  # obstacles lower than this pass under a body, so that kerbs are climbed
RESTITUTION = 0.1
FRICTION = 0.4
SLOP_M = 0.005  # overlap left after separation, so that bodies in contact stay in contact
ITERATIONS = 6
YIELD_MPS = 0.5  # weighs depth against closing speed when the contact normal is chosen
PLACE, VELOCITY, YAW_RATE, INVERSE_MASS, INVERSE_INERTIA = 0, 3, 6, 7, 8
"""First columns of the values in a row of `motion`; location and velocity have three columns each, the others one."""
MOTION_WIDTH = 9
"""Number of columns of `motion`."""
POINT, NORMAL, DEPTH = 0, 3, 6
"""First columns of the values in a row of `contacts`; point and normal have three columns each, the depth one."""
CONTACT_WIDTH = 7
"""Number of columns of `contacts`."""
EDGE_COST = 1.05  # cost factor of edge normals: faces are preferred where they fit as well


class BoxArrays(NamedTuple):
    """Oriented boxes and their axis-aligned bounds.

    `centre` (N, 3), half sizes `half` (N, 3), `axes` (N, 3, 3) with the axes as columns, `velocity` (N, 3); `low` and
    `high` (N, 3) are the bounds.
    """

    centre: Float
    half: Float
    axes: Float
    velocity: Float
    low: Float
    high: Float


class GridArrays(NamedTuple):
    """Grid over the scenery's boxes with cells of size `cell_m`; see `StaticBoxes`."""

    origin: Float
    shape: NDArray[np.int64]
    cell_m: float
    start: Index
    members: Index
    reach_m: float


@compiled
def orient(rotation_deg: Float, axes: Float) -> None:
    """Fill `axes` (N, 3, 3) with rotations, local to world, from (N, 3) pitch, yaw, roll in degrees.

    The convention is that of `Transform.matrix`.
    """
    for i in range(len(rotation_deg)):
        cp, sp = math.cos(math.radians(rotation_deg[i, 0])), math.sin(math.radians(rotation_deg[i, 0]))
        cy, sy = math.cos(math.radians(rotation_deg[i, 1])), math.sin(math.radians(rotation_deg[i, 1]))
        cr, sr = math.cos(math.radians(rotation_deg[i, 2])), math.sin(math.radians(rotation_deg[i, 2]))
        axes[i, 0, 0], axes[i, 1, 0], axes[i, 2, 0] = cp * cy, cp * sy, sp
        axes[i, 0, 1], axes[i, 1, 1], axes[i, 2, 1] = cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, -cp * sr
        axes[i, 0, 2], axes[i, 1, 2], axes[i, 2, 2] = -cy * sp * cr - sy * sr, -sy * sp * cr + cy * sr, cp * cr


@compiled
def bound(centre: Float, half: Float, axes: Float, low: Float, high: Float) -> None:
    """Fill `low`, `high` (N, 3) with the axis-aligned bounds of oriented boxes."""
    for i in range(len(centre)):
        for axis in range(3):
            size = abs(axes[i, axis, 0]) * half[i, 0]
            size += abs(axes[i, axis, 1]) * half[i, 1]
            size += abs(axes[i, axis, 2]) * half[i, 2]
            low[i, axis], high[i, axis] = centre[i, axis] - size, centre[i, axis] + size


@inner
def _radius(x: float, y: float, z: float, axes: Float, half: Float) -> float:
    """Half the extent of a box along the direction (x, y, z)."""
    total = 0.0
    for k in range(3):
        total += abs(x * axes[0, k] + y * axes[1, k] + z * axes[2, k]) * half[k]
    return total


@inner
def _separation(a: BoxArrays, i: int, b: BoxArrays, j: int, centre: Float, half: Float, best: Float) -> bool:
    """Separating axis test of box i of `a`, moved to `centre` and cut to `half`, against box j of `b`.

    Returns whether they overlap; then `best` (4,) is the contact normal from b to a and the depth. The normal is the
    axis along which the pair came together most recently (overlap over closing speed), so that a fast car is stopped by
    the pole it hit and not pushed aside; at rest it is the axis of least overlap.
    """
    cheapest = math.inf
    for n in range(15):
        if n < 3:
            x, y, z = a.axes[i, 0, n], a.axes[i, 1, n], a.axes[i, 2, n]
        elif n < 6:
            x, y, z = b.axes[j, 0, n - 3], b.axes[j, 1, n - 3], b.axes[j, 2, n - 3]
        else:
            p, q = (n - 6) // 3, (n - 6) % 3
            x = a.axes[i, 1, p] * b.axes[j, 2, q] - a.axes[i, 2, p] * b.axes[j, 1, q]
            y = a.axes[i, 2, p] * b.axes[j, 0, q] - a.axes[i, 0, p] * b.axes[j, 2, q]
            z = a.axes[i, 0, p] * b.axes[j, 1, q] - a.axes[i, 1, p] * b.axes[j, 0, q]
            length = math.sqrt(x * x + y * y + z * z)
            if length < 1e-6:  # parallel edges have no axis of their own
                continue
            x, y, z = x / length, y / length, z / length
        offset = x * (centre[0] - b.centre[j, 0]) + y * (centre[1] - b.centre[j, 1]) + z * (centre[2] - b.centre[j, 2])
        if offset < 0.0:
            x, y, z, offset = -x, -y, -z, -offset
        overlap = _radius(x, y, z, a.axes[i], half) + _radius(x, y, z, b.axes[j], b.half[j]) - offset
        if not overlap > 0.0:
            return False
        closing = x * (b.velocity[j, 0] - a.velocity[i, 0])
        closing += y * (b.velocity[j, 1] - a.velocity[i, 1]) + z * (b.velocity[j, 2] - a.velocity[i, 2])
        cost = overlap / (max(closing, 0.0) + YIELD_MPS)
        cost *= EDGE_COST if n >= 6 else 1.0
        if cost < cheapest:
            cheapest = cost
            best[0], best[1], best[2], best[3] = x, y, z, overlap
    return True


@inner
def _clip_edges(
    centre: Float, half: Float, axes: Float, other_centre: Float, other_half: Float, other_axes: Float, total: Float
) -> int:
    """Add to `total` (3,) the ends of a box's twelve edges clipped to the other box. Returns the number of ends."""
    count = 0
    local, start, step = np.empty((8, 3)), np.empty(3), np.empty(3)
    for corner in range(8):
        sign = (1.0 if corner & 4 else -1.0, 1.0 if corner & 2 else -1.0, 1.0 if corner & 1 else -1.0)
        for k in range(3):
            start[k] = centre[k] - other_centre[k]
            for m in range(3):
                start[k] += axes[k, m] * sign[m] * half[m]
        for k in range(3):
            local[corner, k] = start[0] * other_axes[0, k] + start[1] * other_axes[1, k] + start[2] * other_axes[2, k]
    for first in range(8):
        for bit in (1, 2, 4):
            second = first | bit
            if second == first:
                continue
            enter, leave = 0.0, 1.0
            for k in range(3):
                step[k] = local[second, k] - local[first, k]
                slope = step[k] if abs(step[k]) >= 1e-12 else 1e-12
                reach = other_half[k] + 1e-9  # edges that lie in the other box's faces count
                one, two = (-reach - local[first, k]) / slope, (reach - local[first, k]) / slope
                enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
            if enter > leave:
                continue
            for t in (enter, leave):
                for k in range(3):
                    total[k] += other_centre[k]
                    for m in range(3):
                        total[k] += other_axes[k, m] * (local[first, m] + t * step[m])
            count += 2
    return count


@inner
def _middle(centre: Float, half: Float, axes: Float, b: BoxArrays, j: int, point: Float) -> None:
    """Contact point: write the mean of the corners of the two boxes' intersection to `point` (3,)."""
    for k in range(3):
        point[k] = 0.0
    count = _clip_edges(centre, half, axes, b.centre[j], b.half[j], b.axes[j], point)
    count += _clip_edges(b.centre[j], b.half[j], b.axes[j], centre, half, axes, point)
    for k in range(3):
        point[k] = point[k] / count if count else (centre[k] + b.centre[j, k]) / 2


@compiled
def touch(a: BoxArrays, b: BoxArrays, pairs: Index, lift_m: float, who: Index, where: Float) -> int:
    """Narrow phase: write the overlapping ones of `pairs` (K, 2) to `who` (K, 2).

    Writes the contacts to `where` (K, 7). The lowest `lift_m` of the boxes of `a` is ignored.
    Returns the number of overlapping pairs.
    """
    centre, half, best, count = np.empty(3), np.empty(3), np.empty(4), 0
    for n in range(len(pairs)):
        i, j = pairs[n, 0], pairs[n, 1]
        cut = min(lift_m, a.half[i, 2]) / 2
        for k in range(3):
            centre[k], half[k] = a.centre[i, k] + a.axes[i, k, 2] * cut, a.half[i, k]
        half[2] -= cut
        if _separation(a, i, b, j, centre, half, best):
            who[count, 0], who[count, 1] = i, j
            for k in range(4):
                where[count, NORMAL + k] = best[k]
            _middle(centre, half, a.axes[i], b, j, where[count, POINT:NORMAL])
            count += 1
    return count


@inner
def _note(a: BoxArrays, i: int, b: BoxArrays, j: int, pairs: Index, count: int) -> int:
    """If the axis-aligned bounds touch, write the pair to row `count` while there is room. Returns the new count."""
    apart = a.low[i, 0] > b.high[j, 0] or a.high[i, 0] < b.low[j, 0]
    apart = apart or a.low[i, 1] > b.high[j, 1] or a.high[i, 1] < b.low[j, 1]
    if apart or a.low[i, 2] > b.high[j, 2] or a.high[i, 2] < b.low[j, 2]:
        return count
    if count < len(pairs):
        pairs[count, 0], pairs[count, 1] = i, j
    return count + 1


@compiled
def near_bodies(bodies: BoxArrays, order: Index, pairs: Index) -> int:
    """Broad phase among bodies: write the pairs i < j whose axis-aligned bounds touch to `pairs` (M, 2).

    `order` (N,) sorts the bodies by `low[:, 0]`. Returns the number of pairs found; only the first M are written.
    """
    count = 0
    for place in range(len(order)):
        one = order[place]
        for later in range(place + 1, len(order)):
            two = order[later]
            if bodies.low[two, 0] > bodies.high[one, 0]:
                break
            count = _note(bodies, min(one, two), bodies, max(one, two), pairs, count)
    return count


@compiled
def near_scenery(bodies: BoxArrays, scenery: BoxArrays, grid: GridArrays, pairs: Index) -> int:
    """Broad phase against scenery: as `near_bodies`, for pairs (body, scenery box)."""
    count = 0
    for i in range(len(bodies.centre)):
        width = max(bodies.high[i, 0] - bodies.low[i, 0], bodies.high[i, 1] - bodies.low[i, 1]) / 2
        if width > grid.reach_m:  # too large for the grid
            for j in range(len(scenery.centre)):
                count = _note(bodies, i, scenery, j, pairs, count)
            continue
        column = math.floor((bodies.centre[i, 0] - grid.origin[0]) / grid.cell_m)
        row = math.floor((bodies.centre[i, 1] - grid.origin[1]) / grid.cell_m)
        if column >= 0 and row >= 0 and column < grid.shape[0] and row < grid.shape[1]:
            cell = int(column) * grid.shape[1] + int(row)
            for k in range(grid.start[cell], grid.start[cell + 1]):
                count = _note(bodies, i, scenery, grid.members[k], pairs, count)
    return count


# ---------------------------------------------------------------- response


@inner
def _point_velocity(motion: Float, body: int, point: Float, out: Float) -> None:
    """Write the velocity of the body at `point` to `out` (3,); `motion` as in `resolve`."""
    arm_x, arm_y, turn = point[0] - motion[body, PLACE], point[1] - motion[body, PLACE + 1], motion[body, YAW_RATE]
    out[0], out[1] = motion[body, VELOCITY] - turn * arm_y, motion[body, VELOCITY + 1] + turn * arm_x
    out[2] = motion[body, VELOCITY + 2]


@inner
def _yield_along(motion: Float, body: int, point: Float, direction: Float) -> float:
    """Inverse effective mass: change of the point's velocity along `direction` per unit impulse along it."""
    lever = (point[0] - motion[body, PLACE]) * direction[1] - (point[1] - motion[body, PLACE + 1]) * direction[0]
    return float(motion[body, INVERSE_MASS] + motion[body, INVERSE_INERTIA] * lever * lever)


@inner
def _kick(motion: Float, body: int, point: Float, impulse: Float, sign: float) -> None:
    """Apply `sign` times `impulse` to the body at `point`: changes its velocity and yaw rate."""
    for k in range(3):
        motion[body, VELOCITY + k] += sign * impulse[k] * motion[body, INVERSE_MASS]
    arm_x, arm_y = point[0] - motion[body, PLACE], point[1] - motion[body, PLACE + 1]
    motion[body, YAW_RATE] += motion[body, INVERSE_INERTIA] * sign * (arm_x * impulse[1] - arm_y * impulse[0])


@inner
def _slide(motion: Float, a: int, b: int, point: Float, out: Float, other: Float) -> None:
    """Write the velocity of a's point relative to b's to `out` (3,)."""
    _point_velocity(motion, a, point, out)
    _point_velocity(motion, b, point, other)
    for k in range(3):
        out[k] -= other[k]


@inner
def _dot(a: Float, b: Float) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@inner
def _push(motion: Float, a: int, b: int, contact: Float, parting_mps: float, total: Float, scratch: Float) -> None:
    """Apply one normal and one friction impulse; `total` (3,) accumulates the impulse on `a`."""
    if motion[a, INVERSE_MASS] + motion[b, INVERSE_MASS] == 0.0:
        return
    point, normal = contact[POINT:NORMAL], contact[NORMAL:DEPTH]
    relative, other, impulse, direction = scratch[0], scratch[1], scratch[2], scratch[3]
    _slide(motion, a, b, point, relative, other)
    given = _dot(total, normal)
    ease = _yield_along(motion, a, point, normal) + _yield_along(motion, b, point, normal)
    along = max(given + (parting_mps - _dot(relative, normal)) / ease, 0.0) - given
    for k in range(3):
        impulse[k] = along * normal[k]
        total[k] += impulse[k]
    _kick(motion, a, point, impulse, 1.0)
    _kick(motion, b, point, impulse, -1.0)

    _slide(motion, a, b, point, relative, other)
    leaving = _dot(relative, normal)
    for k in range(3):
        direction[k] = relative[k] - leaving * normal[k]
    speed = math.sqrt(_dot(direction, direction))
    if speed < 1e-9:
        return
    for k in range(3):
        direction[k] /= speed
    ease = _yield_along(motion, a, point, direction) + _yield_along(motion, b, point, direction)
    pressed, size = _dot(total, normal), 0.0
    for k in range(3):
        other[k] = total[k] - pressed * normal[k]  # friction impulse so far
        impulse[k] = other[k] - speed / ease * direction[k]
        size += impulse[k] * impulse[k]
    size, limit = math.sqrt(size), FRICTION * pressed
    for k in range(3):
        impulse[k] = (impulse[k] * (limit / size) if size > limit else impulse[k]) - other[k]
        total[k] += impulse[k]
    _kick(motion, a, point, impulse, 1.0)
    _kick(motion, b, point, impulse, -1.0)


@compiled
def resolve(motion: Float, who: Index, contacts: Float, sums: Float) -> None:
    """Let touching bodies bounce and separate: updates `motion` (K, 9) and `sums` (M, 3).

    An inverse mass or inertia of 0 makes a body immovable. `who` (M, 2) are rows of `motion`. `contacts` (M, 7) have
    normals from the second body to the first. `sums` starts as zeros and gets the impulse on each pair's first body.

    No body is moved down to separate it: the ground carries it, and below the ground it would fall for ever.
    """
    scratch, parting = np.empty((4, 3)), np.empty(len(who))
    for i in range(len(who)):
        _slide(motion, who[i, 0], who[i, 1], contacts[i, POINT:NORMAL], scratch[0], scratch[1])
        parting[i] = RESTITUTION * max(-_dot(scratch[0], contacts[i, NORMAL:DEPTH]), 0.0)
    for _ in range(ITERATIONS):
        for i in range(len(who)):
            _push(motion, who[i, 0], who[i, 1], contacts[i], parting[i], sums[i], scratch)
    for i in range(len(who)):
        a, b = who[i, 0], who[i, 1]
        share = motion[a, INVERSE_MASS] + motion[b, INVERSE_MASS]
        if share > 0.0:
            for k in range(3):
                shift = contacts[i, NORMAL + k] * (max(contacts[i, DEPTH] - SLOP_M, 0.0) / share)
                if k < 2 or shift > 0.0:
                    motion[a, PLACE + k] += shift * motion[a, INVERSE_MASS]
                if k < 2 or shift < 0.0:
                    motion[b, PLACE + k] -= shift * motion[b, INVERSE_MASS]
