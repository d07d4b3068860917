"""Speed-limit signs along a road."""

from __future__ import annotations

import math

from embedded_carla.maps.generator.builder import TownBuilder
from embedded_carla.maps.generator.model import Road, Signal


def speed_sign(
    town: TownBuilder, road: Road, s_m: float, edge_m: float, kmh: float, lanes: int, *, left: bool = False
) -> None:
    """Add a speed limit sign outside `edge_m`, type 274 as in CARLA.

    It is for the right lanes or, if `left`, for the left ones.
    """
    ids = (1, lanes) if left else (-lanes, -1)
    t = edge_m + 0.9
    road.signals.append(
        Signal(
            town.new_id(), f"Speed_{kmh:.0f}", s_m, t if left else -t, 2.4, math.pi if left else 0.0,
            "+" if left else "-", False, "274", f"{kmh:.0f}", kmh, "km/h", ids,
        )
    )  # fmt: skip
