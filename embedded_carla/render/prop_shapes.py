"""Props of the blueprint library as unit shapes (x, y in -0.5..0.5, z in 0..1)."""

from __future__ import annotations

from embedded_carla.render import street_shapes
from embedded_carla.render.geometry import Shape, ShapeBuilder
from embedded_carla.render.parts import Part

WHITE = (1.0, 1.0, 1.0)
BLACK = (0.02, 0.02, 0.022)


def prop(name: str) -> Shape:
    """The shape of a prop by CARLA's name for it ("trafficcone01"); a crate for those without one."""
    for kind, make in (("cone", cone), ("bench", street_shapes.bench)):
        if kind in name:
            return make()
    return box()


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
