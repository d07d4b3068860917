"""Bodies of vehicles as unit shapes (x, y in -0.5..0.5, z in 0..1) that are scaled to the actor's box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from embedded_carla.render.geometry import Colour, Point, Shape, ShapeBuilder
from embedded_carla.render.parts import Part
from embedded_carla.render.two_wheeler_shapes import bicycle, motorcycle
from embedded_carla.render.wheel_shapes import DARK, TWO_WHEELED, plain_wheels, wheel_layout

WHITE = (1.0, 1.0, 1.0)
GLASS = (0.03, 0.04, 0.05)
RED = (0.42, 0.02, 0.02)
AMBER = (0.75, 0.28, 0.02)
LAMP = (0.85, 0.87, 0.88)

Station = tuple[float, float, float, float]  # x, half width, bottom, top


@dataclass(frozen=True, slots=True)
class Cabin:
    """The glass house: x of its foot and of its roof (rear, front), heights of belt and roof, half widths."""

    foot: tuple[float, float]
    roof: tuple[float, float]
    belt: float
    top: float
    half_foot: float
    half_roof: float
    panes: int  # windows a side


@dataclass(frozen=True, slots=True)
class Body:
    """A vehicle body: lower hull stations from rear to front, an optional cabin, lamp heights."""

    hull: tuple[Station, ...]
    cabin: Cabin | None
    lamp_rear: float
    lamp_front: float


BODIES: dict[str, Body] = {
    "sedan": Body(
        ((-0.5, 0.44, 0.22, 0.58), (-0.46, 0.48, 0.15, 0.64), (-0.30, 0.5, 0.14, 0.66), (0.20, 0.5, 0.14, 0.62),
         (0.42, 0.47, 0.15, 0.54), (0.5, 0.40, 0.20, 0.46)),
        Cabin((-0.40, 0.22), (-0.22, 0.05), 0.63, 1.0, 0.46, 0.36, 2), 0.52, 0.46),
    "hatchback": Body(
        ((-0.5, 0.44, 0.22, 0.60), (-0.47, 0.48, 0.15, 0.64), (-0.28, 0.5, 0.14, 0.64), (0.24, 0.5, 0.14, 0.61),
         (0.42, 0.47, 0.15, 0.55), (0.5, 0.41, 0.20, 0.46)),
        Cabin((-0.485, 0.26), (-0.38, 0.08), 0.60, 1.0, 0.46, 0.38, 2), 0.56, 0.46),
    "suv": Body(
        ((-0.5, 0.45, 0.24, 0.60), (-0.48, 0.49, 0.17, 0.62), (-0.30, 0.5, 0.16, 0.62), (0.24, 0.5, 0.16, 0.60),
         (0.44, 0.48, 0.17, 0.56), (0.5, 0.43, 0.22, 0.48)),
        Cabin((-0.49, 0.25), (-0.45, 0.12), 0.60, 1.0, 0.47, 0.41, 3), 0.55, 0.47),
    "pickup": Body(
        ((-0.5, 0.47, 0.24, 0.56), (-0.30, 0.5, 0.18, 0.58), (0.24, 0.5, 0.18, 0.58), (0.44, 0.48, 0.19, 0.54),
         (0.5, 0.44, 0.24, 0.48)),
        Cabin((-0.10, 0.26), (-0.07, 0.14), 0.57, 1.0, 0.47, 0.41, 2), 0.46, 0.46),
    "van": Body(
        ((-0.5, 0.48, 0.16, 0.52), (-0.3, 0.5, 0.13, 0.52), (0.32, 0.5, 0.13, 0.50), (0.46, 0.48, 0.14, 0.44),
         (0.5, 0.43, 0.18, 0.36)),
        Cabin((-0.5, 0.42), (-0.495, 0.26), 0.50, 1.0, 0.49, 0.45, 3), 0.40, 0.34),
}  # fmt: skip


def body(shape: str, detailed: bool) -> Shape:
    """The body of `shape`, without wheels when detailed (they turn), with plain ones otherwise."""
    b = ShapeBuilder()
    makers: dict[str, Callable[[ShapeBuilder, bool], None]] = {
        "truck": _truck, "bus": _bus, "motorcycle": motorcycle, "bicycle": bicycle,
    }  # fmt: skip
    if shape in makers:
        makers[shape](b, detailed)
    else:
        _car(b, BODIES.get(shape, BODIES["sedan"]), detailed)
    if not detailed and shape not in TWO_WHEELED:
        plain_wheels(b, wheel_layout(shape))
    return b.build()


def _ring(x: float, half: float, bottom: float, top: float) -> list[Point]:
    """A rounded cross-section, counter-clockwise seen from +x."""
    h = top - bottom
    right: list[tuple[float, float]] = [
        (0.90 * half, bottom),
        (half, bottom + 0.35 * h),
        (0.98 * half, top - 0.16 * h),
        (0.86 * half, top),
    ]
    return [*((x, y, z) for y, z in right), *((x, -y, z) for y, z in reversed(right))]


def _panel(
    b: ShapeBuilder, face: Sequence[Point], u: tuple[float, float], v: tuple[float, float], colour: Colour, part: Part
) -> None:
    """A pane on the quad `face` (corners counter-clockwise), between shares u and v of its sides, just off it."""
    p = np.asarray(face, dtype=float)
    normal = np.cross(p[1] - p[0], p[3] - p[0])
    normal *= 0.004 / np.linalg.norm(normal)

    def at(s: float, t: float) -> Point:
        point = (p[0] * (1 - s) + p[1] * s) * (1 - t) + (p[3] * (1 - s) + p[2] * s) * t + normal
        return tuple(float(c) for c in point)

    b.part = part
    b.polygon([at(u[0], v[0]), at(u[1], v[0]), at(u[1], v[1]), at(u[0], v[1])], colour)
    b.part = Part.FIXED


def _cabin(b: ShapeBuilder, c: Cabin, detailed: bool) -> None:
    (r0, f0), (r1, f1) = c.foot, c.roof
    b.part = Part.PAINT
    b.prism((r0, f0), (-c.half_foot, c.half_foot), c.belt, (r1, f1), (-c.half_roof, c.half_roof), c.top, WHITE)
    w, n = c.half_foot, c.half_roof
    right = [(f0, w, c.belt), (r0, w, c.belt), (r1, n, c.top), (f1, n, c.top)]
    left = [(r0, -w, c.belt), (f0, -w, c.belt), (f1, -n, c.top), (r1, -n, c.top)]
    front = [(f0, -w, c.belt), (f0, w, c.belt), (f1, n, c.top), (f1, -n, c.top)]
    rear = [(r0, w, c.belt), (r0, -w, c.belt), (r1, -n, c.top), (r1, n, c.top)]
    _panel(b, front, (0.06, 0.94), (0.04, 0.92), GLASS, Part.GLASS)
    _panel(b, rear, (0.08, 0.92), (0.10, 0.90), GLASS, Part.GLASS)
    panes = c.panes if detailed else 1
    for side in (right, left):
        for k in range(panes):
            _panel(b, side, (0.05 + 0.90 * k / panes + 0.012, 0.05 + 0.90 * (k + 1) / panes - 0.012), (0.10, 0.90),
                   GLASS, Part.GLASS)  # fmt: skip


def _lamps(b: ShapeBuilder, half: float, rear: float, front: float, inset: float = 0.0) -> None:
    """Head, tail, brake, indicator and reverse lamps, on both ends at the given heights."""
    x1, x0 = 0.502 - inset, -0.502
    for side in (-1.0, 1.0):
        turn = Part.INDICATOR_RIGHT if side > 0 else Part.INDICATOR_LEFT

        def lamp(
            x: float, inner: float, outer: float, z: float, part: Part, colour: Colour, side: float = side
        ) -> None:
            b.part = part
            ys = sorted((side * inner, side * outer))
            b.box((x - 0.012, ys[0], z - 0.035), (x, ys[1], z + 0.04), colour)

        lamp(x1, half * 0.50, half * 0.80, front, Part.HEADLAMP, LAMP)
        lamp(x1 - 0.004, half * 0.82, half * 0.96, front, turn, AMBER)
        lamp(x0 + 0.010, half * 0.62, half * 0.97, rear, Part.TAIL_LAMP, RED)
        lamp(x0 + 0.009, half * 0.50, half * 0.60, rear, turn, AMBER)
        lamp(x0 + 0.009, half * 0.42, half * 0.49, rear, Part.REVERSE_LAMP, LAMP)
    b.part = Part.FIXED


def _trim(b: ShapeBuilder, base: float) -> None:
    """Bumpers, grille, plates, mirrors."""
    b.box((-0.503, -0.36, base), (-0.45, 0.36, base + 0.10), DARK)
    b.box((0.44, -0.33, base), (0.503, 0.33, base + 0.10), DARK)
    b.box((0.49, -0.16, base + 0.14), (0.504, 0.16, base + 0.22), DARK)
    for x in (-0.506, 0.496):
        b.box((x, -0.13, base + 0.06), (x + 0.010, 0.13, base + 0.13), (0.75, 0.75, 0.7))


def _car(b: ShapeBuilder, car: Body, detailed: bool) -> None:
    hull = car.hull if detailed else (car.hull[0], *car.hull[2:-1:2], car.hull[-1])
    b.part = Part.PAINT
    b.loft([_ring(*station) for station in hull], WHITE)
    if car.cabin is not None:
        _cabin(b, car.cabin, detailed)
        if detailed:
            for side in (-1.0, 1.0):
                ys = sorted((side * 0.46, side * 0.56))
                x = car.cabin.foot[1] - 0.07
                b.part = Part.PAINT
                b.box((x - 0.02, ys[0], car.cabin.belt), (x + 0.02, ys[1], car.cabin.belt + 0.08), WHITE)
    b.part = Part.FIXED
    half = car.hull[0][1]
    _lamps(b, half, car.lamp_rear, car.lamp_front)
    if detailed:
        _trim(b, car.hull[0][2])
        for axle in (0.31, -0.29):
            b.tube((axle, -0.495, 0.21), (axle, 0.495, 0.21), 0.105, 0.105, 10, DARK)


def _truck(b: ShapeBuilder, detailed: bool) -> None:
    b.box((-0.5, -0.40, 0.18), (0.45, 0.40, 0.26), DARK, True)
    b.part = Part.PAINT
    b.prism((0.24, 0.5), (-0.48, 0.48), 0.16, (0.24, 0.47), (-0.46, 0.46), 0.80, WHITE)
    b.part = Part.FIXED
    b.box((-0.5, -0.5, 0.26), (0.22, 0.5, 1.0), (0.70, 0.70, 0.68), True)
    front = [(0.489, -0.47, 0.45), (0.489, 0.47, 0.45), (0.472, 0.46, 0.78), (0.472, -0.46, 0.78)]
    _panel(b, front, (0.06, 0.94), (0.05, 0.90), GLASS, Part.GLASS)
    for y in (0.472, -0.472):
        face = [(0.46, y, 0.45), (0.28, y, 0.45), (0.28, y * 0.985, 0.78), (0.45, y * 0.985, 0.78)]
        _panel(b, face if y > 0 else [face[1], face[0], face[3], face[2]], (0.1, 0.9), (0.05, 0.9), GLASS, Part.GLASS)
    _lamps(b, 0.48, 0.24, 0.26)
    if detailed:
        _trim(b, 0.14)


def _bus(b: ShapeBuilder, detailed: bool) -> None:
    b.part = Part.PAINT
    b.loft([_ring(-0.5, 0.49, 0.10, 0.98), _ring(-0.48, 0.5, 0.08, 1.0), _ring(0.48, 0.5, 0.08, 1.0),
            _ring(0.5, 0.48, 0.10, 0.97)], WHITE)  # fmt: skip
    for y in (0.502, -0.502):
        face = [(0.46, y, 0.42), (-0.46, y, 0.42), (-0.46, y, 0.82), (0.46, y, 0.82)]
        if y < 0:
            face = [face[1], face[0], face[3], face[2]]
        for k in range(7 if detailed else 1):
            n = 7 if detailed else 1
            _panel(b, face, (k / n + 0.008, (k + 1) / n - 0.008), (0.0, 1.0), GLASS, Part.GLASS)
    front = [(0.502, -0.44, 0.36), (0.502, 0.44, 0.36), (0.502, 0.43, 0.84), (0.502, -0.43, 0.84)]
    _panel(b, front, (0.0, 1.0), (0.0, 1.0), GLASS, Part.GLASS)
    rear = [(-0.502, 0.40, 0.5), (-0.502, -0.40, 0.5), (-0.502, -0.40, 0.80), (-0.502, 0.40, 0.80)]
    _panel(b, rear, (0.0, 1.0), (0.0, 1.0), GLASS, Part.GLASS)
    _lamps(b, 0.49, 0.30, 0.24)
    if detailed:
        _trim(b, 0.09)
