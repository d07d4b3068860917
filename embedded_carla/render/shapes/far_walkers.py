"""Low-detail walkers with the same outline and a third of the triangles, for heights of about 20 px and for shadows."""

from __future__ import annotations

from embedded_carla.render.shapes.geometry import Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.walker_outfits import ELBOW, HIP, KNEE, SHOES, SHOULDER, WHITE, Outfit, tower

SIDES = 4


def far_walker(wear: Outfit) -> Shape:
    """A person facing +x, with the limb numbers and joints of walkers.py."""
    b = ShapeBuilder()
    for side in (-1.0, 1.0):
        _leg(b, wear, side)
        _arm(b, wear, side)
    b.motion = (0.0, 0.0)
    _trunk(b, wear)
    _head(b, wear)
    return b.build()


def _leg(b: ShapeBuilder, wear: Outfit, side: float) -> None:
    first, g, y = (1.0 if side < 0 else 3.0), wear.girth, side * 0.052
    b.motion = (first, HIP)
    b.part = Part.TROUSERS if wear.legs != "skirt" else Part.SKIN
    thigh = [(KNEE - 0.01, 0.036 * g, 0.035 * g, 0.004), (HIP + 0.02, 0.057 * g, 0.051 * g, 0.0)]
    tower(b, thigh, SIDES, WHITE, y, closed=False)
    b.motion = (first + 1.0, KNEE)
    b.part = Part.SKIN if wear.legs in ("skirt", "shorts") else Part.TROUSERS
    shin = [(0.03, 0.026, 0.025, -0.004), (KNEE + 0.012, 0.036 * g, 0.035 * g, 0.002)]
    tower(b, shin, SIDES, WHITE, y, closed=False)
    b.part = Part.FIXED
    b.box((-0.03, y - 0.026, 0.0), (0.09, y + 0.026, 0.04), SHOES)


def _arm(b: ShapeBuilder, wear: Outfit, side: float) -> None:
    """One piece down to the elbow and one below it."""
    first = 5.0 if side < 0 else 7.0
    g, y = 0.6 + 0.4 * wear.girth, side * 0.112 * (0.7 + 0.3 * wear.girth)
    b.part, b.motion = Part.TINTED, (first, SHOULDER)
    upper = [(ELBOW - 0.005, 0.026 * g, 0.025 * g, -0.002), (SHOULDER + 0.012, 0.030 * g, 0.028 * g, 0.0)]
    tower(b, upper, SIDES, WHITE, y, closed=False)
    b.part, b.motion = Part.TINTED if wear.sleeves == "long" else Part.SKIN, (first + 1.0, ELBOW)
    fore = [(0.46, 0.018, 0.015, 0.010), (ELBOW + 0.008, 0.025 * g, 0.024 * g, -0.002)]
    tower(b, fore, SIDES, WHITE, y + side * 0.012, closed=False)


def _trunk(b: ShapeBuilder, wear: Outfit) -> None:
    g = wear.girth
    b.part = Part.TINTED
    low = wear.coat or 0.565
    rings = [(low, 0.060 * g, 0.090 * g, 0.0), (0.75, 0.068 * g, 0.106 * g, 0.0), (0.85, 0.034, 0.060, -0.004)]
    if wear.coat:
        rings[0] = (low, 0.100 * g, 0.118 * g, 0.0)
    tower(b, rings, SIDES, WHITE, closed=False)
    b.part = Part.TROUSERS
    hem = (0.31, 0.096 * g, 0.122 * g, 0.0) if wear.legs == "skirt" else (0.465, 0.055 * g, 0.090 * g, 0.0)
    tower(b, [hem, (0.58, 0.060 * g, 0.090 * g, 0.0)], SIDES, WHITE, closed=False)


def _head(b: ShapeBuilder, wear: Outfit) -> None:
    s, top = wear.head, 0.998
    middle = top - 0.066 * s
    b.part = Part.SKIN
    face = [(0.835, 0.028, 0.028, -0.002), (middle - 0.03 * s, 0.048 * s, 0.037 * s, 0.010)]
    face.append((middle + 0.05 * s, 0.036 * s, 0.034 * s, 0.0))
    tower(b, face, SIDES, WHITE)
    if wear.hair == "bald":
        return
    b.part = Part.HAIR if wear.hair in ("short", "long") else Part.TINTED
    low = {"short": -0.012, "cap": 0.018, "hood": -0.070, "long": -0.120}[wear.hair] * s
    tower(b, [(middle + low, 0.042 * s, 0.045 * s, -0.016), (top, 0.036 * s, 0.036 * s, -0.004)], SIDES, WHITE)
