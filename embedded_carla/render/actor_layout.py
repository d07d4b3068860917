"""The part of the actors' instance data that stays constant between ticks: shapes, sizes, colours, wheel positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import FAR_M
from embedded_carla.render.instances import F32, I32, INSTANCE_WIDTH
from embedded_carla.render.shapes.actors import LEAST_PX, LEVEL_PX, LEVELS, body_keys
from embedded_carla.render.shapes.pool import Key
from embedded_carla.render.shapes.vehicles.bodies import wheel_outer
from embedded_carla.render.shapes.vehicles.door_frames import door_frames
from embedded_carla.render.shapes.vehicles.doors import OUT_M
from embedded_carla.render.shapes.vehicles.sizes import TWO_WHEELED, vehicle_size
from embedded_carla.render.shapes.vehicles.wheels import RIM_KINDS
from embedded_carla.scene import ActorView
from embedded_carla.types import SemanticTag, Vector3

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
CLOTHES = (
    (0.32, 0.05, 0.05),
    (0.05, 0.12, 0.30),
    (0.55, 0.54, 0.50),
    (0.03, 0.03, 0.035),
    (0.08, 0.20, 0.10),
    (0.50, 0.34, 0.06),
    (0.14, 0.145, 0.16),
    (0.28, 0.14, 0.28),
    (0.16, 0.30, 0.38),
    (0.70, 0.70, 0.68),
    (0.02, 0.035, 0.09),
    (0.18, 0.11, 0.06),
    (0.55, 0.20, 0.22),
    (0.06, 0.06, 0.07),
    (0.26, 0.28, 0.18),
    (0.62, 0.50, 0.36),
)
VEHICLE_TAGS = (SemanticTag.CAR, SemanticTag.TRUCK, SemanticTag.BUS, SemanticTag.MOTORCYCLE, SemanticTag.BICYCLE)
NOTHING = -1
Identity = tuple[int, str, Vector3, Vector3, SemanticTag, int, str, int, tuple[int, ...]]


def identities(actors: Sequence[ActorView]) -> list[Identity]:
    """The values that determine an ActorLayout."""
    return [
        (
            a.actor_id, a.shape, a.extent, a.colour, a.tag, a.seed, a.model, a.instance,
            open_doors(a) if a.door_angles_rad else (),
        )
        for a in actors
    ]  # fmt: skip


def open_doors(actor: ActorView) -> tuple[int, ...]:
    """The numbers of the actor's doors that are not closed."""
    angles = actor.door_angles_rad
    return tuple(i for i, angle in enumerate(angles) if angle > 0.0) if angles else ()


def reach_of_doors_m(actor: ActorView) -> tuple[float, float]:
    """How far open doors reach beyond the vehicle's box, to the left and to the right."""
    reach, frames = {-1.0: 0.0, 1.0: 0.0}, door_frames(actor.shape, actor.model)
    for number in open_doors(actor):
        frame = frames[number]
        tip = abs(frame.hinge[1]) + frame.length_m * np.sin(actor.door_angles_rad[number]) + OUT_M
        reach[frame.side] = max(reach[frame.side], float(tip) - actor.extent[1])
    return reach[-1.0], reach[1.0]


class ShapeNumbers(Protocol):
    """Numbers shapes by key."""

    def number(self, key: Key) -> int: ...


@dataclass(slots=True)
class _Row:
    """One instance: index of its actor, shapes by level, size m, colour, random number 0 to 1 from the seed, tag."""

    owner: int
    keys: tuple[Key | None, ...]
    size: Vector3
    tint: Vector3
    share: float
    tag: float


class ActorLayout:
    """Instance rows of n bodies, then of riders, of the openings of open doors, of wheels, and of open doors.

    `template` (R, 24) is the instance block without the columns that change each tick; `owner` (R,) is each row's actor
    index. `place` (W, 3) m is each wheel's position in the actor's frame, `number` (W,) its number within the actor
    (front left first), `steered` (W,) whether it steers. `hinge` (D, 3) m is each door's hinge in the actor's frame,
    `door` (D,) its number, `opens` (D,) the sign of its rotation about z.
    """

    def __init__(self, pool: ShapeNumbers, actors: Sequence[ActorView]) -> None:
        self.half = np.maximum(np.array([a.extent for a in actors]).reshape(-1, 3), 0.01)
        self.radius = np.linalg.norm(self.half, axis=1)
        self.is_vehicle = np.array([a.tag in VEHICLE_TAGS for a in actors], dtype=np.bool_)
        self.seeds = np.array([a.seed for a in actors], dtype=np.float64)
        self.walkers = [i for i, a in enumerate(actors) if a.shape == "walker"]
        bodies = [_body(i, a, self.half[i]) for i, a in enumerate(actors)]
        riders = [_rider(bodies[i], a) for i, a in enumerate(actors) if _has_rider(a)]
        doors = [row for i, a in enumerate(actors) for row in _doors(i, a, bodies[i], self.half[i])]
        openings = [row.opening for row in doors]
        wheels: list[_Row] = []
        place, number, steered = [], [], []
        for i in np.flatnonzero(self.is_vehicle).tolist():
            for k, (at, is_steered, row) in enumerate(_wheels(i, actors[i], self.half[i])):
                wheels.append(row)
                place.append(at)
                number.append(k)
                steered.append(is_steered)
        self.place = np.array(place).reshape(-1, 3)
        self.number: I64 = np.array(number, dtype=np.int64)
        self.steered = np.array(steered, dtype=np.bool_)
        self.hinge = np.array([d.hinge for d in doors]).reshape(-1, 3)
        self.door: I64 = np.array([d.number for d in doors], dtype=np.int64)
        self.opens = np.array([d.opens for d in doors], dtype=np.float64)
        rows = bodies + riders + openings + wheels + [d.panel for d in doors]
        self.stiff = len(bodies) + len(riders) + len(openings)  # rows before the wheels'
        self.rolling = self.stiff + len(wheels)  # rows before the doors'
        self.owner: I64 = np.array([r.owner for r in rows], dtype=np.int64)
        self.sizes = np.array([r.size for r in rows]).reshape(-1, 3)
        self.template = self._template(rows, actors)
        self.shapes = self._shapes(pool, rows)
        self.casts: I32 = np.ascontiguousarray(self.shapes[:, LEVELS - 1])
        self.limits = np.tile((FAR_M, LEAST_PX, *LEVEL_PX), (len(rows), 1))
        self.shown = np.ones(len(rows), dtype=np.bool_)

    def _template(self, rows: Sequence[_Row], actors: Sequence[ActorView]) -> F32:
        block = np.zeros((len(rows), INSTANCE_WIDTH), dtype=np.float32)
        block[:, 12:15] = np.array([r.tint for r in rows]).reshape(-1, 3)
        block[:, 15] = [r.share for r in rows]
        block[:, 16:19] = self.sizes
        block[:, 19] = [r.tag for r in rows]
        block[:, 20] = [float(actors[r.owner].instance) for r in rows]
        return block

    @staticmethod
    def _shapes(pool: ShapeNumbers, rows: Sequence[_Row]) -> I32:
        numbers = [[NOTHING if key is None else pool.number(key) for key in r.keys] for r in rows]
        return np.array(numbers, dtype=np.int32).reshape(-1, LEVELS)


def _body(index: int, actor: ActorView, half: F64) -> _Row:
    x, y, z = (2.0 * half).tolist()
    if actor.shape == "walker":  # uniform scale keeps a person's proportions; the box is only shoulder-wide
        clothes = CLOTHES[(actor.seed * 5 + actor.seed // 16) % len(CLOTHES)]
        return _Row(index, body_keys(actor), (z, z, z), clothes, _share(actor.seed), float(actor.tag))
    return _Row(index, body_keys(actor), (x, y, z), actor.colour, _share(actor.seed), float(actor.tag))


def _has_rider(actor: ActorView) -> bool:
    return actor.tag in VEHICLE_TAGS and vehicle_size(actor.shape, actor.model).shape in TWO_WHEELED


def _rider(body: _Row, actor: ActorView) -> _Row:
    """The person on a two-wheeler; the actor's seed selects the colour of the clothes."""
    keys = tuple((f"rider {actor.shape}", actor.model, level) for level in range(LEVELS))
    clothes = CLOTHES[(actor.seed * 7 + 3) % len(CLOTHES)]
    return _Row(body.owner, keys, body.size, clothes, body.share, float(SemanticTag.RIDER))


@dataclass(frozen=True, slots=True)
class _Door:
    """An open door: its number, where it hangs, the sign of its rotation, and the rows of its panel and its opening."""

    number: int
    hinge: Vector3
    opens: float
    panel: _Row
    opening: _Row


def _doors(index: int, actor: ActorView, body: _Row, half: F64) -> list[_Door]:
    """The actor's open doors. They have one shape for all levels of detail."""
    made = []
    for number in open_doors(actor):
        frame = door_frames(actor.shape, actor.model)[number]
        stretch = 2.0 * half / vehicle_size(actor.shape, actor.model).size
        x, y = frame.hinge
        keys = [((f"{what} {number} {actor.shape}", actor.model, 0),) * LEVELS for what in ("door", "opening")]
        panel, opening = (_Row(index, key, body.size, body.tint, body.share, body.tag) for key in keys)
        hinge = (float(x * stretch[0]), float(y * stretch[1]), 0.0)
        made.append(_Door(number, hinge, frame.turn_rad(1.0), panel, opening))
    return made


def _wheels(index: int, actor: ActorView, half: F64) -> list[tuple[Vector3, bool, _Row]]:
    """Position, whether it steers, and row of each wheel, in the order front left, front right, ...

    Wheels have a shape at level 0 only: the body shapes of the coarser levels include wheels.
    """
    layout = vehicle_size(actor.shape, actor.model)
    stretch = 2.0 * half / layout.size
    radius, width = float(layout.wheel_radius * stretch[2]), layout.wheel_width
    outer = float(wheel_outer(layout) * stretch[1])
    thin = layout.shape in TWO_WHEELED
    across = (0.0,) if thin else (-outer + width / 2, outer - width / 2)
    near: Key = ("thin_wheel", "", 0) if thin else ("wheel", str(actor.seed % RIM_KINDS), 0)
    row = _Row(index, (near, None, None), (2 * radius, width, 2 * radius), (1.0, 1.0, 1.0), 0.0, float(actor.tag))
    places = ((float(x * stretch[0]), y, k == 0) for k, x in enumerate(layout.axles) for y in across)
    return [((x, y, radius), steered, row) for x, y, steered in places]


def _share(seed: int) -> float:
    """A pseudo-random number in 0 to 1 that differs between neighbouring seeds."""
    return ((seed * 2654435761) % (1 << 32)) / float(1 << 32)
