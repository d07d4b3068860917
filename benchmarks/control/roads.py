"""The roads of the study: CARLA's handling, and real tyres on a dry and on a flooded road."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from embedded_carla.world.vehicles.road_kernel import WATER_KMH, WET_FRICTION

DRY = {"sun_altitude_angle": 45.0}
FLOODED = {**DRY, "precipitation": 100.0, "precipitation_deposits": 100.0, "wetness": 100.0}


@dataclass(frozen=True, slots=True)
class Road:
    """`handling` starts the server, `stack` is the stack's configuration for it; `friction` is by speed in m/s."""

    name: str
    handling: str
    stack: str
    weather: Mapping[str, float]
    friction: tuple[tuple[float, float], ...]

    def friction_at(self, speed_mps: float) -> float:
        speeds, values = zip(*self.friction, strict=True)
        return float(np.interp(speed_mps, speeds, values))


ROADS = (
    Road("CARLA", "carla", "default", DRY, ((0.0, 3.5),)),
    Road("dry", "tyres", "tyres", DRY, ((0.0, 1.0),)),
    Road("wet", "tyres", "tyres", FLOODED, tuple((kmh / 3.6, mu) for kmh, mu in zip(WATER_KMH, WET_FRICTION[-1], strict=True))),
)
"""CARLA's handling ignores the weather."""
