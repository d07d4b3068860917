"""Signal heads of a look as unit shapes (x, y in -0.5..0.5, z in 0..1), fronts along +x."""

from __future__ import annotations

import itertools

import numpy as np

from embedded_carla.render.look import HeadLook, Triple
from embedded_carla.render.shapes.geometry import Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part

PARTS = (Part.SIGNAL_GREEN, Part.SIGNAL_YELLOW, Part.SIGNAL_RED)
BLACK = (0.014, 0.014, 0.015)
OVEREXPOSED = ((0.5, 1.0, 0.8), (1.0, 0.8, 0.35), (1.0, 0.45, 0.15))
"""Linear colours of the middle of overexposed lamps, green, yellow, red: paler than the lamp, and orange for red."""

CORNERS = 14
UNITS_UP = 0.45
"""Ratio of unit lengths across and up the head, with which a lamp's disc is round on a head of usual size."""

VISOR_OF_RADIUS = (0.31 / 0.26, 0.14 / 0.26)
"""Half width and height of a visor, as multiples of the lamp's radius."""


def signal_head(look: HeadLook) -> Shape:
    """Three lamps facing +x, red at the top, each under a visor, and a back plate around the housing."""
    b = ShapeBuilder()
    b.box((-0.5, -0.36, 0.02), (0.10, 0.36, 0.98), look.housing, True)
    if look.plate is not None:
        b.box((-0.16, -0.5, 0.0), (-0.04, 0.5, 1.0), look.plate, True)
    if look.border is not None:
        _border(b, look.border)
    for k, part in enumerate(PARTS):
        z = (k + 0.5) * 0.96 / 3.0 + 0.02
        b.part, b.motion = part, (look.radius, z)
        _disc(b, look, z, look.lamps[k], OVEREXPOSED[k])
        b.part, b.motion = Part.FIXED, (0.0, 0.0)
        if look.visor != "none":
            _visor(b, look, z)
    return b.build()


def _disc(b: ShapeBuilder, look: HeadLook, z: float, colour: Triple, middle: Triple) -> None:
    """The lamp; its middle differs when the look has a core."""
    turn = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    high = UNITS_UP * look.radius
    rim = [(0.13, look.radius * np.cos(a), z + high * np.sin(a)) for a in turn]
    if look.core == 0.0:
        b.polygon(rim, colour)
        return
    core = tuple(rim_c + look.core * (core_c - rim_c) for rim_c, core_c in zip(colour, middle, strict=True))
    colours = np.array([core, *[colour] * CORNERS], dtype=np.float32)
    fan = [(0, 1 + i, 1 + (i + 1) % CORNERS) for i in range(CORNERS)]
    b.add([(0.13, 0.0, z), *rim], np.tile((1.0, 0.0, 0.0), (CORNERS + 1, 1)), fan, colours)


def _visor(b: ShapeBuilder, look: HeadLook, z: float) -> None:
    """A half tube that reaches furthest at the top ("hood"), or a whole one of even length ("tunnel")."""
    wide, high = (share * look.radius for share in VISOR_OF_RADIUS)
    is_hood = look.visor == "hood"
    arc = np.linspace(0.0, np.pi, 7) if is_hood else np.linspace(-0.25 * np.pi, 1.25 * np.pi, 10)
    quads = []
    for a0, a1 in itertools.pairwise(arc):
        c0, s0, c1, s1 = wide * np.cos(a0), high * np.sin(a0), wide * np.cos(a1), high * np.sin(a1)
        reach0, reach1 = (0.10 + 0.40 * ((0.45 + 0.55 * np.sin(a)) if is_hood else 0.85) for a in (a0, a1))
        quads.append([(0.10, c0, z + s0), (reach0, c0, z + s0), (reach1, c1, z + s1), (0.10, c1, z + s1)])
    both = quads + [q[::-1] for q in quads]
    b.skin(np.array(both), BLACK, Part.FIXED)


def _border(b: ShapeBuilder, colour: Triple) -> None:
    """A strip along the edges of the back plate, in front of it."""
    for left, low, right, high in (
        (-0.5, 0.0, -0.44, 1.0), (0.44, 0.0, 0.5, 1.0), (-0.44, 0.0, 0.44, 0.025), (-0.44, 0.975, 0.44, 1.0),
    ):  # fmt: skip
        b.box((-0.04, left, low), (-0.02, right, high), colour, True)
