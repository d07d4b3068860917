"""Street furniture as unit shapes (x, y in -0.5..0.5, z in 0..1), fronts along +x."""

from __future__ import annotations

import itertools

import numpy as np

from embedded_carla.render.shapes.geometry import Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part

WHITE = (1.0, 1.0, 1.0)
STEEL = (0.22, 0.23, 0.24)
ZINC = (0.30, 0.31, 0.32)
BLACK = (0.014, 0.014, 0.015)


def street_lamp() -> Shape:
    """A tapering mast at x = 0 with an arm to x = 1; the light is at the arm's end."""
    b = ShapeBuilder()
    b.prism((-0.05, 0.05), (-0.36, 0.36), 0.0, (-0.045, 0.045), (-0.32, 0.32), 0.12, STEEL)
    b.prism((-0.035, 0.035), (-0.26, 0.26), 0.12, (-0.022, 0.022), (-0.16, 0.16), 0.955, STEEL)
    for x0, x1, z0, z1 in ((-0.02, 0.30, 0.945, 0.978), (0.28, 0.80, 0.976, 0.988)):
        b.polygon([(x0, -0.14, z0), (x1, -0.14, z1), (x1, -0.14, z1 + 0.010), (x0, -0.14, z0 + 0.012)], STEEL)
        b.polygon([(x1, 0.14, z1), (x0, 0.14, z0), (x0, 0.14, z0 + 0.012), (x1, 0.14, z1 + 0.010)], STEEL)
        b.polygon([(x0, 0.14, z0), (x1, 0.14, z1), (x1, -0.14, z1), (x0, -0.14, z0)], STEEL)
        b.polygon(
            [(x0, -0.14, z0 + 0.012), (x1, -0.14, z1 + 0.010), (x1, 0.14, z1 + 0.010), (x0, 0.14, z0 + 0.012)], STEEL
        )
    b.prism((0.72, 1.05), (-0.5, 0.5), 0.976, (0.76, 1.02), (-0.3, 0.3), 1.0, STEEL, True)
    b.part = Part.STREET_LAMP
    b.polygon([(0.75, -0.42, 0.975), (0.75, 0.42, 0.975), (1.03, 0.42, 0.975), (1.03, -0.42, 0.975)], (1.0, 0.85, 0.6))
    return b.build()


def pole() -> Shape:
    b = ShapeBuilder()
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.5, 0.45, 8, STEEL, caps=True)
    return b.build()


def mast_arm() -> Shape:
    """A horizontal arm along x that tapers towards x = 0.5."""
    b = ShapeBuilder()
    b.tube((-0.5, 0.0, 0.5), (0.5, 0.0, 0.5), 0.5, 0.32, 8, STEEL, caps=True)
    return b.build()


def sign_post() -> Shape:
    b = ShapeBuilder()
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.5, 0.5, 6, ZINC)
    return b.build()


def sign_face(corners: int, start_rad: float, tall: bool = False) -> Shape:
    """A flat polygon facing +x whose colour channels r, g hold the texture coordinates; a rectangle if `tall`."""
    b = ShapeBuilder()
    rim = _rim(corners, start_rad, tall, 0.5)
    fan = [(0, i, i + 1) for i in range(1, len(rim) - 1)]
    uv = np.array([(0.5 - p[1], 1.0 - p[2], 0.0) for p in rim], dtype=np.float32)  # +y is on the viewer's left
    b.add(rim, np.tile((1.0, 0.0, 0.0), (len(rim), 1)), fan, uv)
    return b.build()


def _rim(corners: int, start_rad: float, tall: bool, x: float) -> list[tuple[float, float, float]]:
    if tall:
        return [(x, -0.5, 0.0), (x, 0.5, 0.0), (x, 0.5, 1.0), (x, -0.5, 1.0)]
    turn = start_rad + np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return [(x, float(0.5 * np.cos(a)), float(0.5 + 0.5 * np.sin(a))) for a in turn]


def sign_back(corners: int, start_rad: float, tall: bool = False) -> Shape:
    b = ShapeBuilder()
    b.polygon(_rim(corners, start_rad, tall, 0.0)[::-1], STEEL)
    return b.build()


def guard_rail(detailed: bool) -> Shape:
    """A W-beam along x facing both sides, on posts with spacers; a plain box if not `detailed`."""
    b = ShapeBuilder()
    if not detailed:
        b.box((-0.5, -0.2, 0.58), (0.5, 0.2, 0.98), ZINC, True)
    else:
        profile = ((0.20, 0.56), (-0.5, 0.62), (-0.5, 0.70), (0.05, 0.77), (-0.5, 0.84), (-0.5, 0.92), (0.20, 0.98))
        for mirror in (1.0, -1.0):
            quads = []
            for (y0, z0), (y1, z1) in itertools.pairwise(profile):
                quad = [
                    (-0.5, y0 * mirror, z0),
                    (0.5, y0 * mirror, z0),
                    (0.5, y1 * mirror, z1),
                    (-0.5, y1 * mirror, z1),
                ]
                quads.append(quad if mirror > 0 else quad[::-1])
            b.skin(np.array(quads), ZINC, Part.FIXED, 10.0)
    for x in (-0.25, 0.25):
        b.box((x - 0.016, -0.28, 0.0), (x + 0.016, 0.28, 0.90), STEEL)
    return b.build()


def bench() -> Shape:
    """Wooden slats on cast-iron legs."""
    b = ShapeBuilder()
    wood = (0.26, 0.13, 0.06)
    for y in (-0.42, -0.10, 0.22):
        b.box((-0.5, y, 0.45), (0.5, y + 0.26, 0.51), wood, True)
    for z in (0.62, 0.82):
        b.box((-0.5, -0.50, z), (0.5, -0.43, z + 0.15), wood, True)
    for x in (-0.42, 0.36):
        b.box((x, -0.48, 0.0), (x + 0.05, -0.40, 1.0), BLACK)
        b.box((x, -0.45, 0.0), (x + 0.05, 0.45, 0.45), BLACK)
    return b.build()


def wall() -> Shape:
    b = ShapeBuilder()
    b.part = Part.TINTED
    b.box((-0.5, -0.42, 0.0), (0.5, 0.42, 0.94), WHITE)
    b.box((-0.5, -0.5, 0.94), (0.5, 0.5, 1.0), (1.1, 1.1, 1.1), True)
    return b.build()


def fence() -> Shape:
    """Posts, rails and pickets along x."""
    b = ShapeBuilder()
    for x in np.linspace(-0.48, 0.48, 4):
        b.box((x - 0.012, -0.5, 0.0), (x + 0.012, 0.5, 1.0), STEEL)
    for z in (0.18, 0.85):
        b.box((-0.5, -0.25, z), (0.5, 0.25, z + 0.04), STEEL, True)
    for x in np.linspace(-0.47, 0.47, 24):
        b.box((x - 0.004, -0.15, 0.1), (x + 0.004, 0.15, 0.95), STEEL)
    return b.build()
