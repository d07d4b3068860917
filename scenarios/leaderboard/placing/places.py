"""Places in the form that route files have: CARLA's frame, rounded to centimetres."""

from __future__ import annotations

import numpy as np

from av_core.curve import Curve
from av_core.frames import map_to_carla_points
from av_core.types import Float
from scenarios.leaderboard.routes import Location


def location(curve: Curve, points: Float, s_m: float) -> Location:
    """The place at an arc length of a lane, whose points are (N, 3)."""
    x, y, _ = curve.pose_at(s_m)
    z = float(np.interp(s_m, curve.s_m, points[:, 2]))
    carla_x, carla_y = (round(float(value), 2) for value in map_to_carla_points((float(x), float(y))))
    return Location(carla_x, carla_y, round(z, 2))
