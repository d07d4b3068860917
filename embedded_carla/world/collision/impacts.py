"""Collisions of oriented boxes in 3D: which bodies touch, where, and which impulses the impact causes.

`kernel` does the arithmetic; this module holds the values that the rest of the world uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embedded_carla.types import Float, Vector3
from embedded_carla.world.collision import kernel
from embedded_carla.world.collision.boxes import DynamicBoxes, Index, StaticBoxes
from embedded_carla.world.collision.kernel import CLEARANCE_M

_PLACE, _VELOCITY = slice(kernel.PLACE, kernel.VELOCITY), slice(kernel.VELOCITY, kernel.YAW_RATE)

__all__ = [
    "CLEARANCE_M",
    "Body",
    "Contact",
    "DynamicBoxes",
    "Impact",
    "StaticBoxes",
    "contacts_of",
    "find_contacts",
    "overlaps",
    "resolve",
]


@dataclass(frozen=True, slots=True)
class Contact:
    """Contact of actor `a` with actor `b`, or with scenery labelled `static_tag` (then `b` is 0).

    `normal` is a unit vector from b to a.
    """

    a: int
    b: int
    static_tag: int
    point: Vector3
    normal: Vector3
    depth_m: float


@dataclass(slots=True)
class Body:
    """State of one body that `resolve` moves. An inverse mass or inertia of 0 makes the body immovable."""

    location: Float
    velocity: Float
    yaw_rate_radps: float
    inverse_mass: float
    inverse_inertia: float


@dataclass(frozen=True, slots=True)
class Impact:
    """The impulse on `contact.a` in N s, world frame; `contact.b` got the opposite impulse."""

    contact: Contact
    impulse_ns: Vector3


def find_contacts(dynamic: DynamicBoxes, static: StaticBoxes) -> list[Contact]:
    """All pairs that overlap now, each once; against scenery the lowest `CLEARANCE_M` of a body is ignored."""
    ids, bodies = dynamic.ids, dynamic.arrays()
    pairs = _noted(kernel.near_bodies, bodies, np.argsort(bodies.low[:, 0], kind="stable"))
    contacts = []
    for i, j, v in _touching(bodies, bodies, pairs, 0.0):
        contacts.append(Contact(int(ids[i]), int(ids[j]), 0, (v[0], v[1], v[2]), (v[3], v[4], v[5]), v[6]))
    pairs = _noted(kernel.near_scenery, bodies, static.arrays, static.grid)
    for i, j, v in _touching(bodies, static.arrays, pairs, CLEARANCE_M):
        tag = int(static.tag[j])
        contacts.append(Contact(int(ids[i]), 0, tag, (v[0], v[1], v[2]), (v[3], v[4], v[5]), v[6]))
    return contacts


def _noted(search: Callable[..., int], bodies: kernel.BoxArrays, *more: object) -> Index:
    """All pairs (M, 2) that `search` finds."""
    room = 8 * len(bodies.centre) + 16
    while True:
        pairs = np.empty((room, 2), dtype=np.intp)
        count = search(bodies, *more, pairs)
        if count <= room:
            return pairs[:count]
        room = count


def _touching(
    a: kernel.BoxArrays, b: kernel.BoxArrays, pairs: Index, lift_m: float
) -> list[tuple[int, int, list[float]]]:
    """The pairs of `pairs` (K, 2) that overlap, as (index in a, index in b, [point, normal, depth]).

    The lowest `lift_m` of the boxes `a` is ignored.
    """
    if not len(pairs):
        return []
    who, where = np.empty((len(pairs), 2), dtype=np.intp), np.empty((len(pairs), kernel.CONTACT_WIDTH))
    count = kernel.touch(a, b, pairs, lift_m, who, where)
    return [(i, j, v) for (i, j), v in zip(who[:count].tolist(), where[:count].tolist(), strict=True)]


def overlaps(box: DynamicBoxes, others: DynamicBoxes | StaticBoxes) -> bool:
    """Whether the one box in `box` overlaps any of `others` in 3D; above `CLEARANCE_M` if `others` is scenery."""
    return bool(contacts_of(box, others))


def contacts_of(box: DynamicBoxes, others: DynamicBoxes | StaticBoxes) -> list[Contact]:
    """The contacts of the one box in `box` with those of `others` that it overlaps, as `overlaps` tests it.

    Raises ValueError for any other number of boxes: the kernel would read beyond its arrays.
    """
    if len(box.ids) != 1:
        raise ValueError(f"one box is needed, not {len(box.ids)}")
    is_scenery = isinstance(others, StaticBoxes)
    body, rest = box.arrays(), others.arrays if isinstance(others, StaticBoxes) else others.arrays()
    near = np.flatnonzero(((rest.low <= body.high) & (rest.high >= body.low)).all(axis=1))
    pairs = np.stack([np.zeros_like(near), near], axis=1)
    contacts, own = [], int(box.ids[0])
    for _, j, v in _touching(body, rest, pairs, CLEARANCE_M if is_scenery else 0.0):
        other, tag = (0, int(others.tag[j])) if isinstance(others, StaticBoxes) else (int(others.ids[j]), 0)
        contacts.append(Contact(own, other, tag, (v[0], v[1], v[2]), (v[3], v[4], v[5]), v[6]))
    return contacts


def resolve(contacts: Sequence[Contact], bodies: Mapping[int, Body]) -> list[Impact]:
    """Let touching bodies bounce and separate, in place; `bodies` holds every actor named in `contacts`.

    Returns one impact per contact, in the same order, with zero impulse where the bodies were already parting. The
    momentum of movable bodies is conserved; scenery absorbs any impulse.
    """
    row = {actor_id: i for i, actor_id in enumerate(bodies, start=1)}  # row 0 is the scenery
    motion = np.zeros((len(row) + 1, kernel.MOTION_WIDTH))
    for body, m in zip(bodies.values(), motion[1:], strict=True):
        m[_PLACE], m[_VELOCITY], m[kernel.YAW_RATE] = body.location, body.velocity, body.yaw_rate_radps
        m[kernel.INVERSE_MASS], m[kernel.INVERSE_INERTIA] = body.inverse_mass, body.inverse_inertia
    who = np.array([(row[c.a], row.get(c.b, 0)) for c in contacts], dtype=np.intp).reshape(-1, 2)
    rows = [(*c.point, *c.normal, c.depth_m) for c in contacts]
    where = np.array(rows, dtype=np.float64).reshape(-1, kernel.CONTACT_WIDTH)
    sums = np.zeros((len(contacts), 3))
    kernel.resolve(motion, who, where, sums)
    for body, m in zip(bodies.values(), motion[1:], strict=True):
        body.location, body.velocity = m[_PLACE].copy(), m[_VELOCITY].copy()
        body.yaw_rate_radps = float(m[kernel.YAW_RATE])
    return [Impact(c, (x, y, z)) for c, (x, y, z) in zip(contacts, sums.tolist(), strict=True)]
