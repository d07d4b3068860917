"""Sizes with which vehicles are drawn: the blueprint's for a known model, otherwise typical ones of the shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.types import VehicleSpec

TYPICAL: dict[str, tuple[tuple[float, float, float], float, float]] = {
    "sedan": ((4.70, 2.00, 1.45), 2.83, 0.33),
    "sports": ((4.40, 1.95, 1.32), 2.70, 0.33),
    "hatchback": ((4.00, 1.90, 1.52), 2.55, 0.32),
    "suv": ((4.70, 2.05, 1.72), 2.83, 0.36),
    "pickup": ((5.40, 2.10, 1.85), 3.35, 0.39),
    "van": ((5.80, 2.15, 2.50), 3.66, 0.35),
    "truck": ((7.90, 2.70, 3.40), 4.20, 0.50),
    "bus": ((10.3, 2.60, 3.30), 5.60, 0.45),
    "motorcycle": ((2.15, 0.80, 1.46), 1.42, 0.31),
    "bicycle": ((1.70, 0.60, 1.80), 1.05, 0.34),
}
"""For each shape: (length, width, height) m, wheelbase m, wheel radius m."""
TWO_WHEELED = ("motorcycle", "bicycle")
MIRROR_REACH_M = 0.11
"""Minimum distance to which a mirror extends beyond the body, m."""


@dataclass(frozen=True, slots=True)
class VehicleSize:
    """Dimensions of a vehicle, m.

    `size` (length, width, height), x of the axles from front to rear, wheel radius and width. `mirror_reach` is how far
    each mirror extends beyond the body.
    """

    shape: str
    model: str
    size: tuple[float, float, float]
    axles: tuple[float, ...]
    wheel_radius: float
    wheel_width: float
    mirror_reach: float


@cache
def _specs() -> dict[str, VehicleSpec]:
    return {b.type_id: b.vehicle for b in vehicle_blueprints() if b.vehicle is not None}


@cache
def vehicle_size(shape: str, model: str) -> VehicleSize:
    """The size of `model` (a blueprint's id), or of its shape if the model is unknown."""
    spec = _specs().get(model)
    if spec is not None:
        shape = spec.shape
        size = (2 * spec.extent[0], 2 * spec.extent[1], 2 * spec.extent[2])
        wheelbase, radius = spec.wheelbase_m, spec.wheel_radius_m
    else:
        size, wheelbase, radius = TYPICAL.get(shape, TYPICAL["sedan"])
    # The wheelbase is limited to leave room for the overhangs: some boxes are shorter than the real model.
    wheelbase = (
        min(wheelbase, size[0] - 2.6 * radius) if shape not in TWO_WHEELED else min(wheelbase, size[0] - 2.02 * radius)
    )
    axles: tuple[float, ...] = (wheelbase / 2, -wheelbase / 2)
    if shape == "truck" and size[0] > 7.0:
        axles = (wheelbase / 2 + 0.3, -wheelbase / 2 + 0.45, -wheelbase / 2 - 2.1 * radius + 0.3)
    if shape == "van":
        axles = (size[0] * 0.315, -size[0] * 0.29)
    width = {"truck": 0.30, "bus": 0.28, "motorcycle": 0.14, "bicycle": 0.05}.get(shape, 0.195 + 0.1 * (radius - 0.3))
    reach = max(spec.mirror_reach_m if spec is not None else 0.0, MIRROR_REACH_M)
    return VehicleSize(shape, model, size, axles, radius, width, reach)
