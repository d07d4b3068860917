"""Buildings, plants and street furniture as unit shapes (x, y in -0.5..0.5, z in 0..1), fronts along +x."""

from __future__ import annotations

import numpy as np

from embedded_carla.render.geometry import Shape, ShapeBuilder
from embedded_carla.render.parts import Part

WHITE = (1.0, 1.0, 1.0)
BARK = (0.10, 0.075, 0.055)
STEEL = (0.22, 0.23, 0.24)
ZINC = (0.42, 0.43, 0.44)
BLACK = (0.02, 0.02, 0.022)


def building() -> Shape:
    """Walls with windows (motion: 1, height share of the floors), a flat roof with a parapet and a plant room."""
    b = ShapeBuilder()
    b.part, b.motion = Part.TINTED, (1.0, 0.96)
    _walls(b, 0.5, 0.0, 0.96)
    b.motion = (0.0, 1.0)
    _walls(b, 0.505, 0.96, 1.0)
    b.part = Part.FIXED
    b.polygon([(-0.505, -0.505, 1.0), (0.505, -0.505, 1.0), (0.505, 0.505, 1.0), (-0.505, 0.505, 1.0)],
              (0.20, 0.20, 0.20))  # fmt: skip
    b.box((-0.18, -0.15, 1.0), (0.12, 0.2, 1.06), (0.30, 0.30, 0.30))
    return b.build()


def house() -> Shape:
    """Walls with windows under a pitched roof that overhangs."""
    b = ShapeBuilder()
    b.part, b.motion = Part.TINTED, (1.0, 0.62)
    _walls(b, 0.46, 0.0, 0.62)
    b.motion = (0.0, 1.0)
    for x, turn in ((0.46, 1), (-0.46, -1)):
        b.polygon([(x, -0.46, 0.62), (x, 0.46, 0.62), (x, 0.0, 0.97)][::turn], WHITE)
    b.part = Part.FIXED
    tiles = (0.28, 0.10, 0.065)
    b.polygon([(-0.5, -0.52, 0.58), (0.5, -0.52, 0.58), (0.5, 0.0, 1.0), (-0.5, 0.0, 1.0)], tiles)
    b.polygon([(0.5, 0.52, 0.58), (-0.5, 0.52, 0.58), (-0.5, 0.0, 1.0), (0.5, 0.0, 1.0)], tiles)
    b.polygon([(-0.5, -0.52, 0.58), (-0.5, 0.52, 0.58), (0.5, 0.52, 0.58), (0.5, -0.52, 0.58)], (0.3, 0.28, 0.25))
    b.box((-0.2, 0.1, 0.7), (-0.1, 0.2, 1.04), (0.3, 0.14, 0.1))
    return b.build()


def _walls(b: ShapeBuilder, half: float, low: float, high: float) -> None:
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    for k in range(4):
        (x0, y0), (x1, y1) = corners[k], corners[(k + 1) % 4]
        b.polygon([(x0, y0, low), (x1, y1, low), (x1, y1, high), (x0, y0, high)], WHITE)


def tree_broadleaf(detail: int) -> Shape:
    """`detail` 2 near, 1 middle, 0 far. Leaves sway by their height."""
    b = ShapeBuilder()
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.5), 0.035, 0.025, (7, 4, 3)[2 - detail], BARK)
    b.part = Part.TINTED
    rng = np.random.default_rng(7)
    if detail == 2:
        b.motion = (1.0, 0.0)
        b.blob((0.0, 0.0, 0.66), (0.36, 0.36, 0.30), 6, 9, WHITE, 0.16, 1)
        for k in range(6):
            a = 2 * np.pi * k / 6 + rng.uniform(-0.3, 0.3)
            z, r = rng.uniform(0.48, 0.78), rng.uniform(0.17, 0.24)
            b.motion = (float(z * 1.3), 0.0)
            b.blob((0.28 * np.cos(a), 0.28 * np.sin(a), z), (r, r, r * 0.75), 4, 7, WHITE, 0.16, 20 + k)
        return b.build()
    b.motion = (1.0, 0.0)
    rings, sides = ((5, 8), (3, 5))[1 - detail]
    b.blob((0.0, 0.0, 0.66), (0.44, 0.44, 0.33), rings, sides, WHITE, 0.20, 3)
    return b.build()


def tree_conifer(detail: int) -> Shape:
    """Stacked cones with a ragged hem."""
    b = ShapeBuilder()
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.3), 0.035, 0.03, (6, 4, 3)[2 - detail], BARK)
    b.part = Part.TINTED
    layers, sides = ((6, 11), (3, 7), (1, 5))[2 - detail]
    for k in range(layers):
        low = 0.12 + 0.80 * k / layers
        high = min(1.0, low + 1.0 * 0.80 / layers + 0.10)
        b.motion = (float(low + 0.2), 0.0)
        _skirt(b, low, high, 0.5 * (1.0 - 0.86 * k / max(layers, 1)), sides, k)
    return b.build()


def _skirt(b: ShapeBuilder, low: float, high: float, radius: float, sides: int, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    turn = np.linspace(0, 2 * np.pi, 2 * sides, endpoint=False)
    reach = radius * np.where(np.arange(2 * sides) % 2 == 0, 1.0, 0.66) * rng.uniform(0.85, 1.1, 2 * sides)
    drop = np.where(np.arange(2 * sides) % 2 == 0, -0.02, 0.02)
    hem = np.stack([reach * np.cos(turn), reach * np.sin(turn), low + drop], axis=1)
    normal = np.stack([np.cos(turn), np.sin(turn), np.full(2 * sides, 0.7)], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    points = np.concatenate([hem, [(0.0, 0.0, high)], [(0.0, 0.0, low + 0.05)]])
    normals = np.concatenate([normal, [(0.0, 0.0, 1.0)], [(0.0, 0.0, -1.0)]])
    i, j = np.arange(2 * sides), (np.arange(2 * sides) + 1) % (2 * sides)
    top, under = np.full(2 * sides, 2 * sides), np.full(2 * sides, 2 * sides + 1)
    faces = np.concatenate([np.stack([i, j, top], 1), np.stack([j, i, under], 1)])
    tone = np.concatenate([np.where(np.arange(2 * sides) % 2 == 0, 1.25, 0.8), [0.75, 0.35]])
    b.add(points, normals, faces, np.repeat(tone[:, None], 3, axis=1).astype(np.float32))


def bush(detail: int) -> Shape:
    b = ShapeBuilder()
    b.part, b.motion = Part.TINTED, (0.3, 0.0)
    b.blob((0.0, 0.0, 0.45), (0.5, 0.5, 0.55), 4 if detail else 3, 8 if detail else 5, WHITE, 0.22, 4)
    return b.build()


def street_lamp() -> Shape:
    """A mast at x = 0 with an arm to x = 1, at whose end the light hangs."""
    b = ShapeBuilder()
    b.prism((-0.045, 0.045), (-0.3, 0.3), 0.0, (-0.03, 0.03), (-0.2, 0.2), 0.98, STEEL)
    b.prism((0.0, 0.9), (-0.15, 0.15), 0.968, (0.0, 0.9), (-0.15, 0.15), 0.980, STEEL, True)
    b.box((0.75, -0.5, 0.972), (1.05, 0.5, 0.990), STEEL)
    b.part = Part.STREET_LAMP
    b.polygon([(0.77, -0.4, 0.971), (0.77, 0.4, 0.971), (1.03, 0.4, 0.971), (1.03, -0.4, 0.971)], (1.0, 0.85, 0.6))
    return b.build()


def pole() -> Shape:
    b = ShapeBuilder()
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.5, 0.45, 8, STEEL, caps=True)
    return b.build()


def signal_head() -> Shape:
    """Three lamps facing +x, red on top, each under a visor, on a black board."""
    b = ShapeBuilder()
    b.box((-0.5, -0.5, 0.0), (0.2, 0.5, 1.0), BLACK, True)
    for k, (part, colour) in enumerate((
        (Part.SIGNAL_GREEN, (0.02, 0.85, 0.35)), (Part.SIGNAL_YELLOW, (0.95, 0.55, 0.02)),
        (Part.SIGNAL_RED, (0.95, 0.03, 0.02)),
    )):  # fmt: skip
        z = (k + 0.5) / 3.0
        turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
        b.part = part
        b.polygon([(0.22, 0.36 * np.cos(a), z + 0.125 * np.sin(a)) for a in turn], colour)
        b.part = Part.FIXED
        b.box((0.2, -0.42, z + 0.13), (0.5, 0.42, z + 0.15), BLACK, True)
    return b.build()


def sign_post() -> Shape:
    b = ShapeBuilder()
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.5, 0.5, 6, ZINC)
    return b.build()


def sign_face(corners: int, start_rad: float) -> Shape:
    """A flat polygon facing +x, colour channels r, g its place on the printed face; a grey back."""
    b = ShapeBuilder()
    turn = start_rad + np.linspace(0, 2 * np.pi, corners, endpoint=False)
    rim = [(0.5, float(0.5 * np.cos(a)), float(0.5 + 0.5 * np.sin(a))) for a in turn]
    fan = [(0, i, i + 1) for i in range(1, corners - 1)]
    uv = np.array([(0.5 - p[1], 1.0 - p[2], 0.0) for p in rim], dtype=np.float32)  # +y is left to who reads it
    b.add(rim, np.tile((1.0, 0.0, 0.0), (corners, 1)), fan, uv)
    return b.build()


def sign_back(corners: int, start_rad: float) -> Shape:
    b = ShapeBuilder()
    turn = start_rad + np.linspace(0, 2 * np.pi, corners, endpoint=False)
    b.polygon([(0.0, float(0.5 * np.cos(a)), float(0.5 + 0.5 * np.sin(a))) for a in turn][::-1], STEEL)
    return b.build()


def guard_rail() -> Shape:
    """A beam along x at the top and posts."""
    b = ShapeBuilder()
    b.box((-0.5, -0.3, 0.55), (0.5, 0.3, 0.74), ZINC, True)
    b.box((-0.5, -0.3, 0.81), (0.5, 0.3, 1.0), ZINC, True)
    b.box((-0.5, -0.1, 0.70), (0.5, 0.1, 0.85), ZINC)
    for x in (-0.25, 0.25):
        b.box((x - 0.015, -0.5, 0.0), (x + 0.015, 0.1, 0.85), STEEL)
    return b.build()


def bench() -> Shape:
    b = ShapeBuilder()
    wood = (0.26, 0.13, 0.06)
    b.box((-0.5, -0.5, 0.45), (0.5, 0.5, 0.55), wood, True)
    b.box((-0.5, -0.5, 0.55), (0.5, -0.38, 1.0), wood)
    for x in (-0.4, 0.36):
        b.box((x, -0.45, 0.0), (x + 0.05, 0.45, 0.45), STEEL)
    return b.build()


def wall() -> Shape:
    b = ShapeBuilder()
    b.part = Part.TINTED
    b.box((-0.5, -0.42, 0.0), (0.5, 0.42, 0.94), WHITE)
    b.box((-0.5, -0.5, 0.94), (0.5, 0.5, 1.0), (1.1, 1.1, 1.1), True)
    return b.build()


def box() -> Shape:
    """A crate; any prop that has no shape of its own."""
    b = ShapeBuilder()
    b.part = Part.TINTED
    b.box((-0.5, -0.5, 0.0), (0.5, 0.5, 1.0), WHITE, True)
    return b.build()


def cone() -> Shape:
    """A traffic cone with a white band."""
    b = ShapeBuilder()
    b.box((-0.5, -0.5, 0.0), (0.5, 0.5, 0.06), BLACK)
    b.tube((0.0, 0.0, 0.06), (0.0, 0.0, 0.45), 0.38, 0.24, 8, (0.80, 0.16, 0.02))
    b.tube((0.0, 0.0, 0.45), (0.0, 0.0, 0.7), 0.24, 0.15, 8, (0.85, 0.85, 0.85))
    b.tube((0.0, 0.0, 0.7), (0.0, 0.0, 1.0), 0.15, 0.05, 8, (0.80, 0.16, 0.02), caps=True)
    return b.build()
