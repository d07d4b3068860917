"""Grounds whose height is a formula, and a car to stand on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from embedded_carla.scene import GroundHit
from embedded_carla.types import Float, SemanticTag, VehicleSpec

SEDAN = VehicleSpec(
    type_id="vehicle.test.sedan", tag=SemanticTag.CAR, shape="sedan", extent=(2.4, 0.95, 0.75), mass_kg=1600.0,
    wheelbase_m=2.8, rear_axle_x_m=-1.4, track_m=1.6, cog_height_m=0.55, wheel_radius_m=0.33, steer_max_deg=60.0,
    power_w=110e3, force_max_n=8000.0, brake_force_max_n=16000.0, drag_area_m2=0.66, top_speed_mps=55.0,
)  # fmt: skip


class FormulaGround:
    """Surfaces z = f(x, y); where several lie one above the other, the `Ground` contract picks."""

    def __init__(self, *surfaces: Callable[[Float, Float], Float]) -> None:
        self._surfaces = surfaces

    def below(self, points: Float) -> GroundHit:
        x, y, z = points.T
        best = np.full(len(points), np.nan)
        road = np.full(len(points), -1, dtype=np.int32)
        for i, surface in enumerate(self._surfaces):
            height = np.broadcast_to(surface(x, y), z.shape)
            better = (height <= z + 1.0) & ~(best >= height)
            best, road = np.where(better, height, best), np.where(better, i, road).astype(np.int32)
        normal = np.tile([0.0, 0.0, 1.0], (len(points), 1))
        return GroundHit(best, normal, np.full(len(points), SemanticTag.ROADS, dtype=np.uint8), road)


def flat() -> FormulaGround:
    return FormulaGround(lambda x, y: 0.0 * x)


def slope(east: float, south: float = 0.0) -> FormulaGround:
    return FormulaGround(lambda x, y: east * x + south * y)


def nothing() -> FormulaGround:
    return FormulaGround()
