"""People: on foot with moving limbs, and riding. Unit shapes, z in 0..1."""

from __future__ import annotations

from embedded_carla.render.geometry import Shape, ShapeBuilder
from embedded_carla.render.parts import Part

SKIN = (0.48, 0.29, 0.20)
HAIR = (0.05, 0.035, 0.025)
TROUSERS = (0.06, 0.06, 0.08)
SHOES = (0.03, 0.03, 0.03)
WHITE = (1.0, 1.0, 1.0)


def walker(detailed: bool) -> Shape:
    """A person facing +x; legs and arms turn about hip and shoulder by `motion` times the limb angle."""
    b = ShapeBuilder()
    sides = 7 if detailed else 4
    for side in (-1.0, 1.0):
        b.motion = (side, 0.50)
        b.part = Part.TROUSERS
        b.tube((0.0, side * 0.19, 0.02), (0.0, side * 0.17, 0.50), 0.13, 0.19, sides, TROUSERS)
        b.part = Part.FIXED
        b.box((-0.16, side * 0.19 - 0.12, 0.0), (0.34, side * 0.19 + 0.12, 0.045), SHOES)
        b.motion = (-0.8 * side, 0.80)
        b.part = Part.TINTED
        b.tube((0.02, side * 0.50, 0.50), (0.0, side * 0.44, 0.80), 0.08, 0.12, sides, (0.9, 0.9, 0.9))
        if detailed:
            b.part = Part.FIXED
            b.blob((0.04, side * 0.50, 0.47), (0.10, 0.08, 0.035), 3, 6, SKIN)
    b.motion = (0.0, 0.0)
    b.part = Part.TINTED
    b.prism((-0.24, 0.24), (-0.34, 0.34), 0.48, (-0.26, 0.26), (-0.46, 0.46), 0.74, WHITE)
    b.prism((-0.26, 0.26), (-0.46, 0.46), 0.74, (-0.16, 0.16), (-0.24, 0.24), 0.84, WHITE)
    b.part = Part.FIXED
    b.tube((0.0, 0.0, 0.82), (0.02, 0.0, 0.88), 0.12, 0.11, sides, SKIN)
    b.blob((0.03, 0.0, 0.925), (0.27, 0.21, 0.068), 4 if detailed else 3, sides + 1, SKIN)
    b.blob((-0.02, 0.0, 0.945), (0.28, 0.225, 0.056), 4 if detailed else 3, sides + 1, HAIR)
    return b.build()


def rider() -> Shape:
    """A person seated on a two-wheeler, as a unit shape of the whole vehicle's box."""
    b = ShapeBuilder()
    b.part = Part.TINTED
    b.prism((-0.20, -0.04), (-0.24, 0.24), 0.50, (-0.02, 0.12), (-0.36, 0.36), 0.80, WHITE, True)
    for side in (-1.0, 1.0):
        b.part = Part.TINTED
        b.tube((0.18, side * 0.38, 0.60), (0.05, side * 0.36, 0.78), 0.03, 0.04, 5, (0.9, 0.9, 0.9))
        b.part = Part.FIXED
        b.tube((-0.10, side * 0.18, 0.52), (0.06, side * 0.26, 0.40), 0.055, 0.045, 5, TROUSERS)
        b.tube((0.06, side * 0.26, 0.41), (-0.02, side * 0.22, 0.14), 0.045, 0.03, 5, TROUSERS)
    b.part = Part.FIXED
    b.blob((0.07, 0.0, 0.90), (0.07, 0.19, 0.085), 4, 8, (0.10, 0.10, 0.12))
    b.blob((0.09, 0.0, 0.885), (0.06, 0.15, 0.06), 3, 6, SKIN)
    return b.build()
