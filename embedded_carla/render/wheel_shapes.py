"""Wheels: where each vehicle shape has them, and their unit shapes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from embedded_carla.render.geometry import Shape, ShapeBuilder

DARK = (0.03, 0.03, 0.032)
CHROME = (0.45, 0.46, 0.48)


@dataclass(frozen=True, slots=True)
class WheelLayout:
    """Axle positions as shares of the length, radius as a share of the height, width in metres, track share."""

    axles: tuple[float, ...]
    radius: float
    width_m: float
    half_track: float  # 0: one wheel in the middle


WHEELS: dict[str, WheelLayout] = {
    "sedan": WheelLayout((0.31, -0.29), 0.225, 0.23, 0.42),
    "hatchback": WheelLayout((0.32, -0.30), 0.215, 0.22, 0.42),
    "suv": WheelLayout((0.31, -0.29), 0.21, 0.26, 0.42),
    "pickup": WheelLayout((0.32, -0.29), 0.21, 0.28, 0.43),
    "van": WheelLayout((0.32, -0.30), 0.145, 0.25, 0.43),
    "truck": WheelLayout((0.36, -0.20, -0.36), 0.15, 0.32, 0.43),
    "bus": WheelLayout((0.30, -0.24), 0.155, 0.32, 0.44),
    "motorcycle": WheelLayout((0.33, -0.33), 0.215, 0.14, 0.0),
    "bicycle": WheelLayout((0.30, -0.30), 0.20, 0.05, 0.0),
}
TWO_WHEELED = ("motorcycle", "bicycle")


def wheel_layout(shape: str) -> WheelLayout:
    """The wheels of `shape`; a shape not known is drawn as a sedan."""
    return WHEELS.get(shape, WHEELS["sedan"])


def plain_wheels(b: ShapeBuilder, layout: WheelLayout) -> None:
    r = layout.radius
    for x in layout.axles:
        b.prism((x - 0.045, x + 0.045), (-0.485, 0.485), 0.0, (x - 0.075, x + 0.075), (-0.485, 0.485), r, DARK)
        b.prism((x - 0.075, x + 0.075), (-0.485, 0.485), r, (x - 0.045, x + 0.045), (-0.485, 0.485), 2 * r, DARK)


def thin_wheels(b: ShapeBuilder, layout: WheelLayout, half: float) -> None:
    for x in layout.axles:
        b.box((x - 0.12, -half, 0.0), (x + 0.12, half, 2 * layout.radius), DARK)


def wheel() -> Shape:
    """A wheel of diameter 1 about the y axis, width 1, with spokes that show it turning."""
    b = ShapeBuilder()
    b.tube((0.0, -0.5, 0.0), (0.0, 0.5, 0.0), 0.5, 0.5, 12, (0.022, 0.022, 0.024), caps=True)
    for side in (-1.0, 1.0):
        for k in range(5):
            a = 2 * np.pi * k / 5
            tip = [(0.34 * np.cos(a + d), side * 0.515, 0.34 * np.sin(a + d)) for d in (-0.32, 0.32)]
            corners = [(0.0, side * 0.515, 0.0), *tip]
            b.polygon(corners if side < 0 else corners[::-1], CHROME)
    return b.build()


def thin_wheel() -> Shape:
    """A bicycle or motorcycle wheel: a ring one sees through."""
    b = ShapeBuilder()
    turn = np.linspace(0.0, 2 * np.pi, 17)
    for a0, a1 in pairwise(turn):
        inner0, outer0 = [(r * np.cos(a0), r * np.sin(a0)) for r in (0.41, 0.5)]
        inner1, outer1 = [(r * np.cos(a1), r * np.sin(a1)) for r in (0.41, 0.5)]
        for y, flip in ((0.5, True), (-0.5, False)):
            quad = [(inner0[0], y, inner0[1]), (outer0[0], y, outer0[1]), (outer1[0], y, outer1[1]),
                    (inner1[0], y, inner1[1])]  # fmt: skip
            b.polygon(quad[::-1] if flip else quad, DARK)
        b.polygon([(outer0[0], -0.5, outer0[1]), (outer0[0], 0.5, outer0[1]), (outer1[0], 0.5, outer1[1]),
                   (outer1[0], -0.5, outer1[1])], DARK)  # fmt: skip
    return b.build()
