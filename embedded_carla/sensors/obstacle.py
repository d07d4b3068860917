"""The obstacle detector: the first hit of a sphere swept straight ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgpack
import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import Float, Transform


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
    """The first hit: an actor, or scenery (`actor_id` 0) with the label `static_tag`, after a path of `distance_m`."""

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
    """Sweep a sphere from `pose` along +x for `distance_m`; returns the first hit, or None.

    The sphere passes through the actors with the ids `ignored`, such as the sensor's owner. If `scenery` is None, it
    hits only actors.
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

    The result is exact: the squared distance between a box and a point on a line is quadratic between the points where
    the line crosses the planes of the box's faces. Stepping by the distance (sphere tracing) would need an unbounded
    number of steps if the path is almost parallel to a face.
    """
    centre, half, axes = boxes.centre[index], boxes.half[index], boxes.axes[index]
    origin = np.einsum("ni,nij->nj", start - centre, axes)
    direction = np.einsum("i,nij->nj", forward, axes)
    begin, end = _stretches(origin, direction, half, distance_m)

    # Within a stretch, the point stays on the same side of every face's plane.
    middle = origin[:, None] + 0.5 * (begin + end)[:, :, None] * direction[:, None]
    side = np.sign(middle) * (np.abs(middle) > half[:, None])
    beyond = side * origin[:, None] - np.abs(side) * half[:, None]  # at the start of the path
    speed = side * direction[:, None]
    square, linear = (speed * speed).sum(axis=2), (speed * beyond).sum(axis=2)
    constant = (beyond * beyond).sum(axis=2) - radius_m**2

    # Where square * t**2 + 2 * linear * t + constant <= 0.
    root = np.sqrt(np.maximum(linear * linear - square * constant, 0.0))
    touches = linear * linear >= square * constant
    moves = square > 0.0
    enters = np.divide(-linear - root, square, out=np.full_like(root, -np.inf), where=moves)
    leaves = np.divide(-linear + root, square, out=np.full_like(root, np.inf), where=moves)
    first = np.maximum(enters, begin)
    hit = np.where(moves, touches, constant <= 0.0) & (first <= np.minimum(leaves, end))
    flown = np.where(hit, first, np.inf).min(axis=1, initial=np.inf)
    if not np.isfinite(flown).any():
        return None
    best = int(np.argmin(flown))
    return int(index[best]), float(flown[best])


def _stretches(origin: Float, direction: Float, half: Float, distance_m: float) -> tuple[Float, Float]:
    """(begins, ends) (N, 7), m, of the stretches of the path between the planes of each box's faces.

    `origin` and `direction` (N, 3) are those of the path in the frames of the N boxes. Some stretches have no length.
    """
    crossings = np.concatenate([-half - origin, half - origin], axis=1)
    along = np.concatenate([direction, direction], axis=1)
    never = np.zeros_like(crossings)  # for a plane that is parallel to the path
    cuts = np.divide(crossings, along, out=never, where=along != 0.0).clip(0.0, distance_m)
    cuts.sort(axis=1)
    ends = np.zeros((len(cuts), 1)), np.full((len(cuts), 1), distance_m)
    return np.concatenate([ends[0], cuts], axis=1), np.concatenate([cuts, ends[1]], axis=1)


def obstacle_body(owner: Any, other: Any, distance_m: float) -> bytes:
    """The message body; `owner` and `other` are actors in wire format."""
    body: bytes = msgpack.packb([owner, other, distance_m])
    return body
