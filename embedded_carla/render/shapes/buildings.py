"""Unit shapes of buildings (x, y in -0.5..0.5, z in 0..1), fronts along +x; the fragment shader draws their façades.

The `motion` of a vertex is a pair of flags: (1 on walls with windows, 2 on tiled roofs; 1 if it may have shops).
"""

from __future__ import annotations

from embedded_carla.render.shapes.geometry import Colour, Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part

WHITE = (1.0, 1.0, 1.0)
ROOF = (0.16, 0.16, 0.165)
PLANT = (0.30, 0.30, 0.30)
Filled = tuple[float, float, float, float, float]
_HOUSE: tuple[Filled, ...] = ((-0.455, 0.455, -0.455, 0.455, 0.595),)
FILLED: dict[str, tuple[Filled, ...]] = {
    "building plain": ((-0.49, 0.49, -0.49, 0.49, 0.97),),
    "building tower": ((-0.49, 0.49, -0.49, 0.49, 0.355), (-0.415, 0.355, -0.375, 0.375, 0.97)),
    "building wings": ((-0.49, 0.49, -0.49, 0.055, 0.97), (-0.455, 0.435, -0.49, 0.49, 0.695)),
    "building twin": ((-0.49, 0.49, -0.49, -0.035, 0.855), (-0.465, 0.465, -0.015, 0.49, 0.97)),
    "house gable": _HOUSE,
    "house hip": _HOUSE,
    "house terrace": _HOUSE,
}
"""For each shape, boxes from the ground up that lie slightly inside its walls: (x min, x max, y min, y max, top)."""

TILES: dict[str, Colour] = {"gable": (0.26, 0.10, 0.065), "hip": (0.10, 0.095, 0.10), "terrace": (0.20, 0.085, 0.06)}
"""Linear colour of the roof tiles by house type."""


def _walls(
    b: ShapeBuilder, x: tuple[float, float], y: tuple[float, float], z: tuple[float, float], colour: Colour = WHITE
) -> None:
    corners = [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])]
    for k in range(4):
        (x0, y0), (x1, y1) = corners[k], corners[(k + 1) % 4]
        b.polygon([(x0, y0, z[0]), (x1, y1, z[0]), (x1, y1, z[1]), (x0, y0, z[1])], colour)


def _block(
    b: ShapeBuilder, x: tuple[float, float], y: tuple[float, float], z: tuple[float, float], shops: bool
) -> None:
    """Walls with windows, a cornice, a flat roof."""
    b.part, b.motion = Part.TINTED, (1.0, 1.0 if shops else 0.0)
    edge = z[1] - 0.025
    _walls(b, x, y, z)  # up to the top, because the cornice has no underside
    b.motion = (0.0, 0.0)
    out = 0.006
    _walls(b, (x[0] - out, x[1] + out), (y[0] - out, y[1] + out), (edge, z[1]), (1.12, 1.12, 1.12))
    b.part = Part.FIXED
    b.polygon(
        [
            (x[0] - out, y[0] - out, z[1]),
            (x[1] + out, y[0] - out, z[1]),
            (x[1] + out, y[1] + out, z[1]),
            (x[0] - out, y[1] + out, z[1]),
        ],
        ROOF,
    )


def building(habit: str) -> Shape:
    """A building of type "plain" (one block), "tower" (set back above), "wings" (two heights), "twin" (two blocks)."""
    b = ShapeBuilder()
    full = (-0.494, 0.494)
    if habit == "plain":
        _block(b, full, full, (0.0, 0.975), True)
        b.box((-0.20, -0.15, 0.975), (0.10, 0.2, 1.03), PLANT)
        b.box((0.22, -0.40, 0.975), (0.34, -0.22, 1.0), (0.42, 0.42, 0.42))
    elif habit == "tower":
        _block(b, full, full, (0.0, 0.36), True)
        _block(b, (-0.42, 0.36), (-0.38, 0.38), (0.36, 0.975), False)
        b.box((-0.15, -0.12, 0.975), (0.05, 0.10, 1.03), PLANT)
    elif habit == "wings":
        _block(b, full, (-0.494, 0.06), (0.0, 0.975), True)
        _block(b, (-0.46, 0.44), (0.06, 0.494), (0.0, 0.70), True)
        b.box((-0.30, -0.30, 0.975), (-0.05, -0.05, 1.03), PLANT)
    else:
        _block(b, full, (-0.494, -0.03), (0.0, 0.86), True)
        _block(b, (-0.47, 0.47), (-0.02, 0.494), (0.0, 0.975), True)
        b.box((-0.1, 0.1, 0.975), (0.12, 0.3, 1.02), PLANT)
    return b.build()


def house(habit: str) -> Shape:
    """A house with a gable roof along the street, a hipped roof, or a terrace whose gables face the street."""
    b = ShapeBuilder()
    eaves = 0.60
    b.part, b.motion = Part.TINTED, (1.0, 0.0)
    _walls(b, (-0.46, 0.46), (-0.46, 0.46), (0.0, eaves))
    b.motion = (0.0, 0.0)
    tiles = TILES[habit]
    low, o = eaves - 0.035, 0.50
    if habit == "hip":
        b.part, b.motion = Part.TINTED, (2.0, 0.0)
        top = [(0.0, -0.24, 1.0), (0.0, 0.24, 1.0)]
        a, c, d, e = (-o, -o, low), (o, -o, low), (o, o, low), (-o, o, low)
        b.part = Part.FIXED
        for face in ([c, d, top[1], top[0]], [e, a, top[0], top[1]], [a, c, top[0]], [d, e, top[1]]):
            b.polygon(face, tiles)
    elif habit == "gable":
        b.part = Part.TINTED
        for y, turn in ((0.46, -1), (-0.46, 1)):
            b.polygon([(-0.46, y, eaves), (0.46, y, eaves), (0.0, y, 0.965)][::turn], WHITE)
        b.part, b.motion = Part.FIXED, (2.0, 0.0)
        b.polygon([(0.5, -0.5, low), (0.5, 0.5, low), (0.0, 0.5, 1.0), (0.0, -0.5, 1.0)], tiles)
        b.polygon([(-0.5, 0.5, low), (-0.5, -0.5, low), (0.0, -0.5, 1.0), (0.0, 0.5, 1.0)], tiles)
    else:
        for y0, y1 in ((-0.5, 0.0), (0.0, 0.5)):
            m = 0.5 * (y0 + y1)
            b.part, b.motion = Part.TINTED, (0.0, 0.0)
            for x, turn in ((0.46, 1), (-0.46, -1)):
                b.polygon([(x, y0 + 0.02, eaves), (x, y1 - 0.02, eaves), (x, m, 0.965)][::turn], WHITE)
            b.part, b.motion = Part.FIXED, (2.0, 0.0)
            b.polygon([(-0.5, y0, low), (0.5, y0, low), (0.5, m, 1.0), (-0.5, m, 1.0)], tiles)
            b.polygon([(0.5, y1, low), (-0.5, y1, low), (-0.5, m, 1.0), (0.5, m, 1.0)], tiles)
    b.part, b.motion = Part.FIXED, (0.0, 0.0)
    b.polygon([(-0.5, -0.5, low), (-0.5, 0.5, low), (0.5, 0.5, low), (0.5, -0.5, low)], (0.3, 0.28, 0.25))
    b.box((-0.25, 0.12, 0.7), (-0.17, 0.2, 1.0), (0.26, 0.13, 0.10))
    b.box((0.46, -0.06, 0.0), (0.52 - 0.02, 0.06, 0.02), (0.40, 0.39, 0.37))
    return b.build()
