"""Props of the blueprint library as unit shapes (x, y in -0.5..0.5, z in 0..1)."""

from __future__ import annotations

from embedded_carla.render import scenery_shapes
from embedded_carla.render.geometry import Shape


def prop(name: str) -> Shape:
    """The shape of a prop by CARLA's name for it ("trafficcone01"); a crate for those without one."""
    for kind, make in (("cone", scenery_shapes.cone), ("bench", scenery_shapes.bench)):
        if kind in name:
            return make()
    return scenery_shapes.box()
