"""The obstacle detector: the first hit of a sphere swept straight ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgpack
import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import Float, Transform

_STEPS = 64
_NEAR_M = 1e-3


class OrientedBoxes(Protocol):
    """N boxes: `centre` (N, 3), half sizes `half` (N, 3), `axes` (N, 3, 3) with the boxes' axes as columns."""

    @property
    def centre(self) -> Float: ...

    @property
    def half(self) -> Float: ...

    @property
    def axes(self) -> Float: ...


class ActorBoxes(OrientedBoxes, Protocol):
    """Boxes of actors with `ids` (N,)."""

    @property
    def ids(self) -> NDArray[np.int64]: ...


class SceneryBoxes(OrientedBoxes, Protocol):
    """Boxes of the scenery with labels `tag` (N,) and axis-aligned bounds `low`, `high` (N, 3)."""

    @property
    def tag(self) -> NDArray[np.uint8]: ...

    @property
    def low(self) -> Float: ...

    @property
    def high(self) -> Float: ...


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The first hit: an actor, or scenery (`actor_id` 0) with label `static_tag`; `distance_m` is the sphere's path."""

    actor_id: int
    static_tag: int
    distance_m: float


def find_obstacle(
    pose: Transform,
    distance_m: float,
    hit_radius_m: float,
    actors: ActorBoxes,
    scenery: SceneryBoxes | None,
    ignored: Sequence[int] = (),
) -> Obstacle | None:
    """Sweep a sphere from `pose` along +x for `distance_m`; None when it hits nothing.

    `ignored` are ids of actors that it passes through (the sensor's owner); with `scenery` None only actors are hit.
    """
    matrix = pose.matrix()
    start, forward = matrix[:3, 3], matrix[:3, 0]
    found: list[Obstacle] = []
    keep = np.flatnonzero(~np.isin(actors.ids, np.asarray(ignored, dtype=np.int64)))
    first = _first_hit(start, forward, distance_m, hit_radius_m, actors, keep)
    if first is not None:
        found.append(Obstacle(int(actors.ids[first[0]]), 0, first[1]))
    if scenery is not None:
        near = _along(start, forward, distance_m, hit_radius_m, scenery)
        first = _first_hit(start, forward, distance_m, hit_radius_m, scenery, near)
        if first is not None:
            found.append(Obstacle(0, int(scenery.tag[first[0]]), first[1]))
    return min(found, key=lambda o: o.distance_m, default=None)


def _along(start: Float, forward: Float, distance_m: float, radius_m: float, boxes: SceneryBoxes) -> NDArray[np.intp]:
    """Indices of boxes whose axis-aligned bounds overlap those of the sphere's path."""
    end = start + distance_m * forward
    low, high = np.minimum(start, end) - radius_m, np.maximum(start, end) + radius_m
    return np.flatnonzero(((boxes.low <= high) & (boxes.high >= low)).all(axis=1))


def _first_hit(
    start: Float,
    forward: Float,
    distance_m: float,
    radius_m: float,
    boxes: OrientedBoxes,
    index: NDArray[np.intp],
) -> tuple[int, float] | None:
    """(box index, path length m) of the first hit among the boxes `index`.

    Sphere tracing: the distance to a box is exact, so every step of that length is safe and the steps add up to the
    hit.
    """
    centre, half, axes = boxes.centre[index], boxes.half[index], boxes.axes[index]
    near = np.linalg.norm(centre - start, axis=1) <= distance_m + radius_m + np.linalg.norm(half, axis=1)
    index, centre, half, axes = index[near], centre[near], half[near], axes[near]
    flown = np.zeros(len(index))
    gap = np.full(len(index), np.inf)
    for _ in range(_STEPS):
        if not len(index) or not ((gap > _NEAR_M) & (flown <= distance_m)).any():
            break
        point = start + flown[:, None] * forward
        local = np.einsum("ni,nij->nj", point - centre, axes)
        outside = np.maximum(np.abs(local) - half, 0.0)
        gap = np.maximum(np.linalg.norm(outside, axis=1) - radius_m, 0.0)
        flown = flown + gap
    hits = np.flatnonzero((gap <= _NEAR_M) & (flown <= distance_m))
    if not len(hits):
        return None
    best = hits[np.argmin(flown[hits])]
    return int(index[best]), float(flown[best])


def obstacle_body(owner: Any, other: Any, distance_m: float) -> bytes:
    """The message body; `owner` and `other` are actors in wire format."""
    body: bytes = msgpack.packb([owner, other, distance_m])
    return body
