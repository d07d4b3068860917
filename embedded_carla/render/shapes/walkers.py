"""Walkers as shapes of height 1; object_vert.glsl moves legs and arms with the gait phase.

Proportions after the drawn figure of 7.5 heads. The limb numbers of `in_motion` are 1 to 8: left thigh, left shin,
right thigh, right shin, left upper arm, left forearm, right upper arm, right forearm.
"""

from __future__ import annotations

from embedded_carla.render.shapes.far_walkers import far_walker
from embedded_carla.render.shapes.geometry import Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.walker_outfits import ELBOW, HIP, KNEE, SHOES, SHOULDER, WHITE, Outfit, outfit, tower


def walker(index: int, is_child: bool, level: int) -> Shape:
    """A person facing +x in the outfit `index`; levels 0 near, 1 middle, 2 far."""
    wear = outfit(index, is_child)
    if level == 2:
        return far_walker(wear)
    b = ShapeBuilder()
    sides = (9, 6)[level]
    for side in (-1.0, 1.0):
        _leg(b, wear, side, sides)
        _arm(b, wear, side, sides)
    b.motion = (0.0, 0.0)
    _torso(b, wear, sides)
    _head(b, wear, sides + 1, level)
    if wear.bag:
        _bag(b, wear)
    return b.build()


def _leg(b: ShapeBuilder, wear: Outfit, side: float, sides: int) -> None:
    first = 1.0 if side < 0 else 3.0
    bare = wear.legs in ("skirt", "shorts")
    g, y = wear.girth, side * 0.052
    b.motion = (first, HIP)
    b.part = Part.TROUSERS if wear.legs != "skirt" else Part.SKIN
    tower(
        b,
        [
            (KNEE - 0.01, 0.034 * g, 0.033 * g, 0.004),
            (0.42, 0.046 * g, 0.044 * g, 0.0),
            (HIP + 0.02, 0.056 * g, 0.050 * g, 0.0),
        ],
        sides,
        WHITE,
        y,
    )
    b.motion = (first + 1.0, KNEE)
    b.part = Part.SKIN if bare else Part.TROUSERS
    tower(
        b,
        [
            (0.035, 0.024, 0.023, -0.004),
            (0.20, 0.034 * g, 0.032 * g, -0.006),
            (KNEE + 0.012, 0.033 * g, 0.032 * g, 0.004),
        ],
        sides,
        WHITE,
        y,
    )
    b.part = Part.FIXED
    shoe = SHOES if not bare else (0.20, 0.18, 0.17)
    tower(
        b,
        [(0.0, 0.066, 0.027, 0.026), (0.018, 0.066, 0.028, 0.026), (0.044, 0.034, 0.025, 0.002)],
        sides,
        shoe,
        y,
    )


def _arm(b: ShapeBuilder, wear: Outfit, side: float, sides: int) -> None:
    first = 5.0 if side < 0 else 7.0
    g, y = 0.6 + 0.4 * wear.girth, side * 0.110 * (0.7 + 0.3 * wear.girth)
    out = side * 0.012
    b.motion = (first, SHOULDER)
    b.part = Part.TINTED
    low = ELBOW if wear.sleeves == "long" else 0.71
    tower(
        b,
        [
            (low - 0.005, 0.026 * g, 0.025 * g, -0.002),
            (0.77, 0.031 * g, 0.029 * g, 0.0),
            (SHOULDER + 0.012, 0.026 * g, 0.024 * g, 0.0),
        ],
        sides,
        WHITE,
        y,
    )
    if wear.sleeves == "short":
        b.part = Part.SKIN
        tower(
            b, [(ELBOW - 0.005, 0.021 * g, 0.021 * g, -0.002), (low + 0.01, 0.023 * g, 0.022 * g, 0.0)], sides, WHITE, y
        )
    b.motion = (first + 1.0, ELBOW)
    b.part = Part.TINTED if wear.sleeves == "long" else Part.SKIN
    tower(
        b,
        [(0.515, 0.018, 0.016, 0.008), (ELBOW + 0.008, 0.024 * g, 0.023 * g, -0.002)],
        sides,
        (0.96, 0.96, 0.96),
        y + out,
    )
    b.part = Part.SKIN
    tower(
        b,
        [(0.455, 0.012, 0.008, 0.014), (0.485, 0.020, 0.011, 0.012), (0.52, 0.014, 0.012, 0.008)],
        max(sides - 2, 4),
        WHITE,
        y + out,
    )


def _torso(b: ShapeBuilder, wear: Outfit, sides: int) -> None:
    g = wear.girth
    b.part = Part.TROUSERS if wear.legs != "skirt" else Part.TINTED
    tower(
        b,
        [(0.465, 0.05 * g, 0.085 * g, 0.0), (0.52, 0.066 * g, 0.098 * g, -0.004), (0.585, 0.058 * g, 0.086 * g, 0.0)],
        sides,
        WHITE,
    )
    b.part = Part.TINTED
    tower(
        b,
        [
            (0.565, 0.062 * g, 0.090 * g, 0.0),
            (0.63, 0.060 * g, 0.084 * g, 0.0),
            (0.73, 0.068 * g, 0.100 * g, 0.0),
            (0.79, 0.060 * g, 0.112 * g, -0.004),
            (0.825, 0.044, 0.100, -0.006),
            (0.85, 0.030, 0.042, -0.004),
        ],
        sides,
        WHITE,
    )
    if wear.coat:
        tower(
            b,
            [
                (wear.coat, 0.100 * g, 0.118 * g, 0.0),
                (0.50, 0.078 * g, 0.106 * g, 0.0),
                (0.62, 0.064 * g, 0.09 * g, 0.0),
            ],
            sides,
            (0.92, 0.92, 0.92),
        )
    if wear.legs == "skirt":
        b.part = Part.TROUSERS
        tower(
            b,
            [(0.31, 0.096 * g, 0.122 * g, 0.0), (0.47, 0.078 * g, 0.106 * g, 0.0), (0.58, 0.058 * g, 0.084 * g, 0.0)],
            sides,
            WHITE,
        )


def _head(b: ShapeBuilder, wear: Outfit, sides: int, level: int) -> None:
    s = wear.head
    top = 0.998
    middle = top - 0.066 * s
    b.part = Part.SKIN
    tower(b, [(0.835, 0.026, 0.027, -0.004), (0.885, 0.026, 0.027, 0.002)], max(sides - 3, 4), WHITE)
    tower(
        b,
        [
            (middle - 0.064 * s, 0.022 * s, 0.020 * s, 0.022),
            (middle - 0.036 * s, 0.044 * s, 0.034 * s, 0.010),
            (middle, 0.050 * s, 0.040 * s, 0.006),
            (middle + 0.035 * s, 0.046 * s, 0.038 * s, 0.002),
            (middle + 0.056 * s, 0.024 * s, 0.022 * s, 0.0),
        ],
        sides,
        WHITE,
    )
    if level == 0:
        tower(
            b,
            [
                (middle - 0.016 * s, 0.010 * s, 0.008 * s, 0.056 * s),
                (middle + 0.006 * s, 0.004 * s, 0.005 * s, 0.052 * s),
            ],
            4,
            (0.95, 0.9, 0.9),
        )
    if wear.hair == "bald":
        return
    b.part = Part.HAIR if wear.hair in ("short", "long") else Part.TINTED
    low = {"short": -0.012, "cap": 0.018, "hood": -0.070, "long": -0.120}[wear.hair] * s
    tower(
        b,
        [
            (middle + low, 0.040 * s, 0.043 * s, -0.018),
            (middle + 0.016 * s, 0.048 * s, 0.046 * s, -0.010),
            (middle + 0.048 * s, 0.044 * s, 0.040 * s, -0.003),
            (top + 0.002, 0.020 * s, 0.020 * s, -0.002),
        ],
        sides,
        WHITE,
    )
    if wear.hair == "cap":
        b.box((0.02, -0.034 * s, middle + 0.022 * s), (0.092 * s, 0.034 * s, middle + 0.032 * s), WHITE, True)


def _bag(b: ShapeBuilder, wear: Outfit) -> None:
    b.part = Part.LACQUER
    if wear.bag == "backpack":
        b.part = Part.TROUSERS
        tower(
            b,
            [
                (0.60, 0.040, 0.070, -0.105),
                (0.70, 0.048, 0.078, -0.110),
                (0.80, 0.036, 0.066, -0.098),
                (0.815, 0.02, 0.05, -0.09),
            ],
            7,
            (1.5, 1.1, 0.8),
        )
    else:
        b.box((-0.06, 0.150, 0.44), (0.08, 0.185, 0.55), (0.16, 0.05, 0.03), True)
