"""Debug shapes that clients draw into the world, and how long they are shown.

As in CARLA, a lifetime above zero counts simulated seconds from the call. Zero or less (the client's default is -1)
means for ever, whatever the persistence flag says. Text and the shapes of the "HUD" kinds are for a spectator's screen:
they are kept with `on_screen` set and cameras do not see them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.scene import DebugArrow, DebugBox, DebugLine, DebugPoint, DebugShape, DebugText, Rgb
from embedded_carla.types import BoundingBox, Vector3
from embedded_carla.wire import codec

MOST_SHAPES = 20_000
"""Beyond this number the oldest shapes go first: scripts that draw a trail for ever must not fill the memory."""

MOST_TEXT = 1024
LARGEST_SIZE = 1.0e6
_EPSILON_S = 1e-6


class DebugShapes:
    """The shapes of one episode, in the order in which they were drawn."""

    def __init__(self) -> None:
        self._shapes: list[tuple[float, DebugShape]] = []  # (end of life, shape)
        self._alive: tuple[DebugShape, ...] | None = ()
        self._next_end_s = float("inf")

    def add(self, shape: DebugShape, life_time_s: float, now_s: float) -> None:
        """Show `shape` from now on; for ever if the lifetime is zero or less."""
        end_s = now_s + life_time_s if life_time_s > 0.0 else float("inf")
        self._shapes.append((end_s, shape))
        del self._shapes[:-MOST_SHAPES]
        self._next_end_s = min(self._next_end_s, end_s)
        self._alive = None

    def alive(self, time_s: float) -> Sequence[DebugShape]:
        """The shapes to draw at `time_s`, without expired ones; the same object until something changes."""
        if self._alive is None or time_s >= self._next_end_s - _EPSILON_S:
            self._shapes = [(end_s, shape) for end_s, shape in self._shapes if end_s > time_s + _EPSILON_S]
            self._next_end_s = min((end_s for end_s, _ in self._shapes), default=float("inf"))
            self._alive = tuple(shape for _, shape in self._shapes)
        return self._alive

    def clear(self) -> None:
        """Remove all shapes except texts."""
        self._keep(lambda shape: isinstance(shape, DebugText))

    def clear_texts(self) -> None:
        self._keep(lambda shape: not isinstance(shape, DebugText))

    def _keep(self, wanted: Callable[[DebugShape], bool]) -> None:
        self._shapes = [(end_s, shape) for end_s, shape in self._shapes if wanted(shape)]
        self._alive = None


_POINT, _LINE, _ARROW, _BOX, _TEXT, _HUD_POINT, _HUD_LINE, _HUD_ARROW, _HUD_BOX = range(9)


def shape_from_wire(value: Any) -> tuple[DebugShape, float]:
    """Decode a DebugShape from the wire to (shape, lifetime in s). Raises CommandError for anything else."""
    primitive, colour, life_time, _persistent = codec.items(value, 4, "debug shape")[:4]
    index, fields = codec.items(primitive, 2, "debug shape's primitive")[:2]
    red, green, blue = (
        codec.integer(v, "debug shape's colour", 0, codec.U8) for v in codec.items(colour, 3, "colour")[:3]
    )
    return _shape(index, fields, (red, green, blue)), codec.number(life_time, "debug shape's life time")


def _shape(index: Any, fields: Any, colour: Rgb) -> DebugShape:
    on_screen = index in (_HUD_POINT, _HUD_LINE, _HUD_ARROW, _HUD_BOX)
    if index in (_POINT, _HUD_POINT):
        where, size = codec.items(fields, 2, "debug point")[:2]
        return DebugPoint(codec.location_from_wire(where), _size(size, "size"), colour, on_screen)
    if index in (_LINE, _HUD_LINE):
        return DebugLine(*_line(fields), colour, on_screen)
    if index in (_ARROW, _HUD_ARROW):
        line, head = codec.items(fields, 2, "debug arrow")[:2]
        return DebugArrow(*_line(line), _size(head, "arrow size"), colour, on_screen)
    if index in (_BOX, _HUD_BOX):
        box, rotation, thickness = codec.items(fields, 3, "debug box")[:3]
        centre, extent = codec.items(box, 2, "box")[:2]
        turned = BoundingBox(
            codec.location_from_wire(centre),
            codec.location_from_wire(extent),
            codec.vector_from_wire(rotation, "rotation", codec.MOST_DEG),
        )
        return DebugBox(turned, _size(thickness, "thickness"), colour, on_screen)
    if index == _TEXT:
        where, text, has_shadow = codec.items(fields, 3, "debug string")[:3]
        return DebugText(
            codec.location_from_wire(where), codec.text(text, "debug string", MOST_TEXT), bool(has_shadow), colour
        )
    raise CommandError(f"debug shape {codec.shown(index)}: allowed are 0 to {_HUD_BOX}")


def _size(value: Any, what: str) -> float:
    return codec.number(value, what, -LARGEST_SIZE, LARGEST_SIZE)


def _line(fields: Any) -> tuple[Vector3, Vector3, float]:
    begin, end, thickness = codec.items(fields, 3, "debug line")[:3]
    return codec.location_from_wire(begin), codec.location_from_wire(end), _size(thickness, "thickness")
