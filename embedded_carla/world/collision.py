"""Collisions of oriented boxes in three dimensions: who touches whom, where, and what the impact does.

Narrow phase: separating axis test (S. Gottschalk et al., *OBBTree*, 1996), all candidate pairs at once. Response:
sequential impulses with restitution and Coulomb friction; bodies turn about the vertical axis only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embedded_carla.types import Float, Vector3
from embedded_carla.world.collision_boxes import DynamicBoxes, Index, StaticBoxes, pairs, reach

CLEARANCE_M = 0.15  # what is lower than this passes under a body: kerbs are climbed
RESTITUTION = 0.1
FRICTION = 0.4
SLOP_M = 0.005  # overlap that is left, so that bodies in contact stay in contact
ITERATIONS = 6
_ROUNDING_M = 1e-9  # the first test of a pair leaves what is closer than this to the exact one
YIELD_MPS = 0.5  # weighs depth against closing speed when the contact normal is chosen

__all__ = ["Body", "Contact", "DynamicBoxes", "Impact", "StaticBoxes", "find_contacts", "overlaps", "resolve"]


@dataclass(frozen=True, slots=True)
class Contact:
    """Actor `a` touches actor `b`, or scenery (`b` = 0) labelled `static_tag`; `normal` points from b to a."""

    a: int
    b: int
    static_tag: int
    point: Vector3
    normal: Vector3
    depth_m: float


@dataclass(slots=True)
class Body:
    """What `resolve` moves. An inverse mass or inertia of 0 makes a body immovable."""

    location: Float
    velocity: Float
    yaw_rate_radps: float
    inverse_mass: float
    inverse_inertia: float


@dataclass(frozen=True, slots=True)
class Impact:
    """The impulse on `contact.a` in the world frame, in N s; `contact.b` got the opposite."""

    contact: Contact
    impulse_ns: Vector3


@dataclass(frozen=True, slots=True)
class _Side:
    """One box of each of K pairs."""

    centre: Float
    half: Float
    axes: Float
    velocity: Float

    @staticmethod
    def of(boxes: DynamicBoxes | StaticBoxes, index: Index) -> _Side:
        velocity = boxes.velocity[index] if isinstance(boxes, DynamicBoxes) else np.zeros((len(index), 3))
        return _Side(boxes.centre[index], boxes.half[index], boxes.axes[index], velocity)


def find_contacts(dynamic: DynamicBoxes, static: StaticBoxes) -> list[Contact]:
    """All pairs that overlap now, each once, ordered by index; with scenery only above `CLEARANCE_M`."""
    size = reach(dynamic.half, dynamic.axes)
    a, b = pairs(dynamic.centre, size)
    contacts = []
    for k, point, normal, depth in _touching(_Side.of(dynamic, a), _Side.of(dynamic, b)):
        ids = int(dynamic.ids[a[k]]), int(dynamic.ids[b[k]])
        contacts.append(Contact(*ids, 0, point, normal, depth))
    a, b = static.near(dynamic.centre, size)
    for k, point, normal, depth in _touching(_lifted(_Side.of(dynamic, a)), _Side.of(static, b)):
        contacts.append(Contact(int(dynamic.ids[a[k]]), 0, int(static.tag[b[k]]), point, normal, depth))
    return contacts


def overlaps(box: DynamicBoxes, others: DynamicBoxes | StaticBoxes) -> bool:
    """Whether the one box of `box` overlaps any of `others`, in three dimensions."""
    if isinstance(others, StaticBoxes):
        _, b = others.near(box.centre, reach(box.half, box.axes))
        side = _lifted(_Side.of(box, np.zeros(len(b), dtype=np.intp)))
    else:
        b = np.arange(len(others.ids))
        side = _Side.of(box, np.zeros(len(b), dtype=np.intp))
    if not len(b):
        return False
    return bool((_overlap(side, _Side.of(others, b))[1] > 0).all(axis=1).any())


def _lifted(side: _Side) -> _Side:
    """The same boxes without their lowest `CLEARANCE_M`, or the upper half of flat ones."""
    cut = np.minimum(CLEARANCE_M, side.half[:, 2]) / 2
    half = side.half.copy()
    half[:, 2] -= cut
    return _Side(side.centre + side.axes[:, :, 2] * cut[:, None], half, side.axes, side.velocity)


def _overlap(a: _Side, b: _Side) -> tuple[Float, Float]:
    """Unit axes (K, 15, 3), pointing from b to a, and the overlap along each (K, 15); inf where an axis vanishes."""
    rows_a, rows_b = a.axes.transpose(0, 2, 1), b.axes.transpose(0, 2, 1)
    edges = np.cross(rows_a[:, :, None, :], rows_b[:, None, :, :]).reshape(-1, 9, 3)
    length = np.linalg.norm(edges, axis=2, keepdims=True)
    edges = edges / np.maximum(length, 1e-6)
    axes = np.concatenate([rows_a, rows_b, edges], axis=1)
    offset = np.einsum("kni,ki->kn", axes, a.centre - b.centre)
    axes = np.where(offset[:, :, None] < 0, -axes, axes)
    overlap = _radius(axes, rows_a, a.half) + _radius(axes, rows_b, b.half) - np.abs(offset)
    overlap[:, 6:][length[:, :, 0] < 1e-6] = np.inf
    return axes, overlap


def _faces_overlap(a: _Side, b: _Side) -> Index:
    """The pairs that no face normal separates: most of those that the broad phase finds end here, cheaply."""
    offset = (a.centre - b.centre)[:, None, :]
    turn = np.abs(a.axes.transpose(0, 2, 1) @ b.axes)
    gap_a = np.abs(offset @ a.axes)[:, 0] - a.half - (turn @ b.half[:, :, None])[:, :, 0]
    gap_b = np.abs(offset @ b.axes)[:, 0] - b.half - (a.half[:, None, :] @ turn)[:, 0]
    return np.flatnonzero((np.maximum(gap_a, gap_b) < _ROUNDING_M).all(axis=1))


def _radius(axes: Float, rows: Float, half: Float) -> Float:
    out: Float = (np.abs(axes @ rows.transpose(0, 2, 1)) @ half[:, :, None])[:, :, 0]
    return out


def _touching(a: _Side, b: _Side) -> list[tuple[int, Vector3, Vector3, float]]:
    """(pair, point, normal, depth) of the pairs that overlap.

    The normal is the axis along which the pair came together most recently (overlap over closing speed), so that a
    fast car is stopped by the pole it hit and not pushed aside; at rest it is the axis of least overlap.
    """
    near = _faces_overlap(a, b) if len(a.centre) else np.zeros(0, dtype=np.intp)
    if not len(near):
        return []
    axes, overlap = _overlap(_picked(a, near), _picked(b, near))
    whole = (overlap > 0).all(axis=1)
    hit = near[whole]
    if not len(hit):
        return []
    axes, overlap = axes[whole], overlap[whole]
    closing = np.maximum(-np.einsum("kni,ki->kn", axes, (a.velocity - b.velocity)[hit]), 0.0)
    cost = overlap / (closing + YIELD_MPS)
    cost[:, 6:] *= 1.05  # prefer faces to edges where they are as good
    best = np.argmin(cost, axis=1)
    rows = np.arange(len(hit))
    normals, depths = axes[rows, best], overlap[rows, best]
    points = _middle(_picked(a, hit), _picked(b, hit))
    return [(int(k), _vector(points[i]), _vector(normals[i]), float(depths[i])) for i, k in enumerate(hit)]


def _vector(v: Float) -> Vector3:
    return (float(v[0]), float(v[1]), float(v[2]))


def _picked(side: _Side, index: Index) -> _Side:
    return _Side(side.centre[index], side.half[index], side.axes[index], side.velocity[index])


_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_EDGES = np.array([(i, j) for i in range(8) for j in range(i + 1, 8) if np.abs(_CORNERS[i] - _CORNERS[j]).sum() == 2])


def _middle(a: _Side, b: _Side) -> Float:
    """(K, 3) mean of the corners of the boxes' intersections: the ends of each box's edges clipped to the other."""
    total, count = np.zeros((len(a.centre), 3)), np.zeros(len(a.centre))
    for one, other in ((a, b), (b, a)):
        corners = one.centre[:, None] + (_CORNERS * one.half[:, None]) @ one.axes.transpose(0, 2, 1)
        local = (corners - other.centre[:, None]) @ other.axes
        start, end = local[:, _EDGES[:, 0]], local[:, _EDGES[:, 1]]
        step = np.where(np.abs(end - start) < 1e-12, 1e-12, end - start)
        bound = other.half[:, None] + 1e-9  # edges that lie in the other box's faces count
        first, second = (-bound - start) / step, (bound - start) / step
        enter = np.maximum(np.minimum(first, second).max(axis=2), 0.0)
        leave = np.minimum(np.maximum(first, second).min(axis=2), 1.0)
        valid = enter <= leave
        for t in (enter, leave):
            points = other.centre[:, None] + (start + t[:, :, None] * step) @ other.axes.transpose(0, 2, 1)
            total += np.where(valid[:, :, None], points, 0.0).sum(axis=1)
        count += 2 * valid.sum(axis=1)
    fallback = (a.centre + b.centre) / 2
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], fallback)


# ---------------------------------------------------------------- response


_SCENERY = Body(np.zeros(3), np.zeros(3), 0.0, 0.0, 0.0)


def resolve(contacts: Sequence[Contact], bodies: Mapping[int, Body]) -> list[Impact]:
    """Let touching bodies bounce and separate, in place; `bodies` holds every actor named in `contacts`.

    Returns one impact per contact in their order, of zero impulse where the bodies were already parting. Momentum of
    movable bodies is conserved; scenery takes what it is given.
    """
    sums = np.zeros((len(contacts), 3))
    targets = [_parting_speed(c, bodies[c.a], bodies.get(c.b, _SCENERY)) for c in contacts]
    for _ in range(ITERATIONS):
        for i, contact in enumerate(contacts):
            _push(contact, bodies[contact.a], bodies.get(contact.b, _SCENERY), targets[i], sums[i])
    for contact in contacts:
        _separate(contact, bodies[contact.a], bodies.get(contact.b, _SCENERY))
    return [Impact(c, _vector(s)) for c, s in zip(contacts, sums, strict=True)]


def _point_velocity(body: Body, point: Float) -> Float:
    arm = point - body.location
    turn = body.yaw_rate_radps
    velocity: Float = body.velocity + np.array([-turn * arm[1], turn * arm[0], 0.0])
    return velocity


def _parting_speed(contact: Contact, a: Body, b: Body) -> float:
    """The speed along the normal that the pair shall have after the impact."""
    point, normal = np.array(contact.point), np.array(contact.normal)
    closing = float((_point_velocity(a, point) - _point_velocity(b, point)) @ normal)
    return RESTITUTION * max(-closing, 0.0)


def _yield_along(body: Body, point: Float, direction: Float) -> float:
    """Change of the point's velocity along `direction` per unit impulse along it."""
    arm = point - body.location
    lever = arm[0] * direction[1] - arm[1] * direction[0]
    return float(body.inverse_mass + body.inverse_inertia * lever * lever)


def _kick(body: Body, point: Float, impulse: Float) -> None:
    arm = point - body.location
    body.velocity = body.velocity + impulse * body.inverse_mass
    body.yaw_rate_radps += body.inverse_inertia * float(arm[0] * impulse[1] - arm[1] * impulse[0])


def _push(contact: Contact, a: Body, b: Body, parting_mps: float, total: Float) -> None:
    """One impulse along the normal and one of friction; `total` (3,) accumulates what `a` got."""
    if a.inverse_mass + b.inverse_mass == 0.0:
        return
    point, normal = np.array(contact.point), np.array(contact.normal)
    relative = _point_velocity(a, point) - _point_velocity(b, point)
    given = float(total @ normal)
    wanted = (parting_mps - float(relative @ normal)) / (
        _yield_along(a, point, normal) + _yield_along(b, point, normal)
    )
    along = max(given + wanted, 0.0) - given
    _apply(a, b, point, along * normal, total)

    relative = _point_velocity(a, point) - _point_velocity(b, point)
    slide = relative - (relative @ normal) * normal
    speed = float(np.linalg.norm(slide))
    if speed < 1e-9:
        return
    direction = slide / speed
    stop = speed / (_yield_along(a, point, direction) + _yield_along(b, point, direction))
    rubbed = total - (total @ normal) * normal
    wanted_rub = rubbed - stop * direction
    size, limit = float(np.linalg.norm(wanted_rub)), FRICTION * float(total @ normal)
    if size > limit:
        wanted_rub = wanted_rub * (limit / size)
    _apply(a, b, point, wanted_rub - rubbed, total)


def _apply(a: Body, b: Body, point: Float, impulse: Float, total: Float) -> None:
    _kick(a, point, impulse)
    _kick(b, point, -impulse)
    total += impulse


def _separate(contact: Contact, a: Body, b: Body) -> None:
    """Move the pair apart along the normal, in proportion to their inverse masses."""
    share = a.inverse_mass + b.inverse_mass
    if share > 0.0:
        shift = np.array(contact.normal) * (max(contact.depth_m - SLOP_M, 0.0) / share)
        a.location = a.location + shift * a.inverse_mass
        b.location = b.location - shift * b.inverse_mass
