"""Motorcycles and bicycles as unit shapes; their riders are shapes of their own."""

from __future__ import annotations

from embedded_carla.render.geometry import ShapeBuilder
from embedded_carla.render.parts import Part
from embedded_carla.render.wheel_shapes import CHROME, DARK, WHEELS, thin_wheels

WHITE = (1.0, 1.0, 1.0)
RED = (0.42, 0.02, 0.02)
LAMP = (0.85, 0.87, 0.88)


def motorcycle(b: ShapeBuilder, detailed: bool) -> None:
    b.part = Part.PAINT
    b.prism((-0.12, 0.20), (-0.16, 0.16), 0.36, (-0.05, 0.16), (-0.13, 0.13), 0.56, WHITE)
    b.prism((-0.46, -0.10), (-0.13, 0.13), 0.46, (-0.44, -0.10), (-0.11, 0.11), 0.53, WHITE)
    b.part = Part.FIXED
    b.box((-0.14, -0.16, 0.16), (0.16, 0.16, 0.38), DARK, True)
    b.tube((0.20, 0.0, 0.60), (0.33, 0.0, 0.21), 0.05, 0.04, 5, CHROME)
    b.tube((-0.10, 0.0, 0.30), (-0.33, 0.0, 0.21), 0.05, 0.04, 5, CHROME)
    b.tube((0.17, -0.45, 0.64), (0.17, 0.45, 0.64), 0.015, 0.015, 5, DARK)
    _small_lamps(b, 0.54)
    if not detailed:
        thin_wheels(b, WHEELS["motorcycle"], 0.12)


def bicycle(b: ShapeBuilder, detailed: bool) -> None:
    b.part = Part.PAINT
    for start, end in (((-0.30, 0.0, 0.20), (-0.07, 0.0, 0.17)), ((-0.07, 0.0, 0.17), (-0.12, 0.0, 0.50)),
                       ((-0.07, 0.0, 0.17), (0.20, 0.0, 0.46)), ((-0.11, 0.0, 0.46), (0.20, 0.0, 0.48)),
                       ((0.20, 0.0, 0.56), (0.30, 0.0, 0.20)), ((-0.30, 0.0, 0.20), (-0.11, 0.0, 0.46))):  # fmt: skip
        b.tube(start, end, 0.014, 0.014, 4, WHITE)
    b.part = Part.FIXED
    b.tube((0.19, -0.45, 0.57), (0.19, 0.45, 0.57), 0.012, 0.012, 4, DARK)
    b.box((-0.18, -0.12, 0.49), (-0.05, 0.12, 0.52), DARK)
    if not detailed:
        thin_wheels(b, WHEELS["bicycle"], 0.05)


def _small_lamps(b: ShapeBuilder, height: float) -> None:
    b.part = Part.HEADLAMP
    b.box((0.25, -0.12, height - 0.04), (0.28, 0.12, height + 0.06), LAMP)
    b.part = Part.TAIL_LAMP
    b.box((-0.49, -0.12, height - 0.06), (-0.46, 0.12, height), RED)
    b.part = Part.FIXED
