"""The roads of the study: CARLA's handling, and real tyres on a dry and on a flooded road."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.control.manoeuvres import GRAVITY_MPS2, LATERAL_MAX_MPS2
from embedded_carla.world.vehicles.road_kernel import WATER_KMH, WET_FRICTION

DRY = {"sun_altitude_angle": 45.0}
WET = {**DRY, "precipitation": 30.0, "wetness": 100.0}
FLOODED = {**DRY, "precipitation": 100.0, "precipitation_deposits": 100.0, "wetness": 100.0}


@dataclass(frozen=True, slots=True)
class Road:
    """`handling` starts the server, `stack` is the stack's configuration for it; `friction` is by speed in m/s.

    A manoeuvre uses at most `grip_share` of the friction.
    """

    name: str
    handling: str
    stack: str
    weather: Mapping[str, float]
    friction: tuple[tuple[float, float], ...]
    grip_share: float

    def lateral_limit_mps2(self, speed_mps: float) -> float:
        """Largest lateral acceleration of a manoeuvre on this road."""
        speeds, values = zip(*self.friction, strict=True)
        return min(LATERAL_MAX_MPS2, self.grip_share * float(np.interp(speed_mps, speeds, values)) * GRAVITY_MPS2)


DRY_ROW, WET_ROW, FLOODED_ROW = range(3)
"""Rows of `WET_FRICTION`: no water, the film of full wetness, and what full deposits add to it."""


def _tyres(name: str, weather: Mapping[str, float], row: int, grip_share: float) -> Road:
    friction = tuple((kmh / 3.6, mu) for kmh, mu in zip(WATER_KMH, WET_FRICTION[row], strict=True))
    return Road(name, "tyres", "tyres", weather, friction, grip_share)


ROADS = (
    Road("CARLA", "carla", "default", DRY, ((0.0, 3.5),), 0.5),
    _tyres("dry", DRY, DRY_ROW, 0.5),
    _tyres("wet", WET, WET_ROW, 0.5),
    _tyres("flooded", FLOODED, FLOODED_ROW, 0.25),
)
"""CARLA's handling ignores the weather. On the flooded road the car's stability control brakes from about a quarter of
the grip on, since the wheels have to be turned far."""
