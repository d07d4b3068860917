"""Wheels as unit shapes (diameter 1 about the y axis, width 1), and low-detail wheels that are part of a body."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from embedded_carla.render.shapes.geometry import Colour, Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part

TYRE = (0.016, 0.016, 0.017)
RIM = (0.42, 0.43, 0.45)
DARK = (0.03, 0.03, 0.032)
RIM_KINDS = 3


def lathe(b: ShapeBuilder, profile: Sequence[tuple[float, float]], sides: int, colour: Colour) -> None:
    """Add a body of revolution about the y axis; `profile` is (y, radius) from -y to +y."""
    turn = np.linspace(0.0, 2 * np.pi, sides + 1)
    quads = []
    for (y0, r0), (y1, r1) in pairwise(profile):
        for a0, a1 in pairwise(turn):
            quads.append(
                [
                    (r * np.cos(a), y, r * np.sin(a))
                    for y, r, a in ((y0, r0, a0), (y1, r1, a0), (y1, r1, a1), (y0, r0, a1))
                ]
            )
    b.skin(quads, colour, b.part)


def wheel(kind: int) -> Shape:
    """A car's wheel: a tyre, and a rim with broad spokes (0), thin spokes (1) or a steel disc (2)."""
    b = ShapeBuilder()
    lathe(b, [(-0.42, 0.36), (-0.5, 0.44), (-0.40, 0.5), (0.40, 0.5), (0.5, 0.44), (0.42, 0.36)], 16, TYRE)
    for side in (-1.0, 1.0):
        _rim(b, side, kind)
    return b.build()


def _rim(b: ShapeBuilder, side: float, kind: int) -> None:
    def face(points: list[tuple[float, float]], y: float, colour: Colour) -> None:
        corners = [(x, side * y, z) for x, z in points]
        b.polygon(corners[::-1] if side > 0 else corners, colour)

    def circle(radius: float, count: int) -> list[tuple[float, float]]:
        return [(radius * np.cos(a), radius * np.sin(a)) for a in np.linspace(0, 2 * np.pi, count, endpoint=False)]

    b.part = Part.FIXED
    face(circle(0.37, 14), 0.36, (0.20, 0.20, 0.21) if kind == 2 else DARK)
    b.part = Part.CHROME
    if kind == 2:
        face(circle(0.27, 12), 0.42, (0.34, 0.35, 0.36))
        face(circle(0.09, 8), 0.45, DARK)
        return
    count, wide = (5, 0.34) if kind == 0 else (9, 0.15)
    for k in range(count):
        a = 2 * np.pi * k / count
        rim = [(0.365 * np.cos(a + d), 0.365 * np.sin(a + d)) for d in (-wide * 0.62, wide * 0.62)]
        hub = [(0.10 * np.cos(a + d), 0.10 * np.sin(a + d)) for d in (wide * 1.4, -wide * 1.4)]
        face([*rim, *hub], 0.43, RIM)
    face(circle(0.105, 8), 0.44, RIM)


def thin_wheel() -> Shape:
    """A two-wheeler's wheel: an open tyre ring, a hub and spokes."""
    b = ShapeBuilder()
    lathe(b, [(-0.28, 0.40), (-0.5, 0.455), (0.0, 0.5), (0.5, 0.455), (0.28, 0.40), (-0.28, 0.40)], 18, TYRE)
    b.part = Part.CHROME
    lathe(b, [(-0.7, 0.0), (-0.7, 0.05), (0.7, 0.05), (0.7, 0.0)], 6, RIM)
    for k in range(6):
        a = np.pi * k / 3
        c, s = np.cos(a), np.sin(a)
        for turn in (1, -1):
            strip = [
                (-0.008 * s, 0.0, 0.008 * c),
                (0.008 * s, 0.0, -0.008 * c),
                (0.41 * c + 0.008 * s, 0.0, 0.41 * s - 0.008 * c),
                (0.41 * c - 0.008 * s, 0.0, 0.41 * s + 0.008 * c),
            ]
            b.polygon(strip[::turn], (0.3, 0.3, 0.3))
    return b.build()


def plain_wheels(
    b: ShapeBuilder, axles: Sequence[float], radius: float, width: float, outer: float, sides: int
) -> None:
    """Add fixed low-detail wheels in metres; `outer` is half the distance between their outer faces."""
    turn = np.linspace(0.0, 2 * np.pi, sides, endpoint=False)
    b.part = Part.FIXED
    for x in axles:
        for side in (-1.0, 1.0):
            y = side * (outer - width)
            start, end = sorted((y, side * outer))
            b.tube((x, start, radius), (x, end, radius), radius, radius, sides, TYRE)
            for share, out, colour in ((1.0, 0.0, TYRE), (0.68, 0.008, (0.22, 0.225, 0.235))):
                disc = [
                    (x + share * radius * np.cos(a), side * (outer + out), radius + share * radius * np.sin(a))
                    for a in turn
                ]
                b.polygon(disc[::-1] if side > 0 else disc, colour)
