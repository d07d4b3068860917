"""How fast a vehicle may drive on its way so that it can still stop behind whatever is on it."""

from __future__ import annotations

import math

from av_core.curve import Curve
from av_core.types import Pose2D
from scenarios.script.situation import Body, Situation

LOOK_M = 80.0
"""Bodies on the next so many metres of the way count."""

BRAKING_MPS2 = 5.0
GAP_M = 2.5
"""Distance that is left to a body on the way."""

HALF_LENGTH_M, HALF_WIDTH_M = 2.4, 1.0
"""Half the size of the vehicle itself: that of a car."""


def free_speed_mps(name: str, way: Curve, s_m: float, pose: Pose2D, now: Situation) -> float:
    """The speed of the car `name` that is `s_m` along `way`, at `pose`; inf where nothing is ahead."""
    others = [body for body in now.bodies if body.actor != name]
    part = way.part(way.rows_between(s_m, s_m + LOOK_M))
    return min((_behind_mps(part, s_m, body) for body in others if _is_near(body, pose)), default=math.inf)


def _is_near(body: Body, pose: Pose2D) -> bool:
    return math.hypot(body.pose.x_m - pose.x_m, body.pose.y_m - pose.y_m) < LOOK_M


def _behind_mps(part: Curve, s_m: float, body: Body) -> float:
    """The speed that allows to stop behind a body; inf where it is not on the way ahead."""
    here = part.project(body.pose.x_m, body.pose.y_m, follow_bend=False)
    turn = body.pose.yaw_rad - float(here.yaw_rad)
    cos, sin = math.cos(turn), math.sin(turn)
    half_along = 0.5 * (abs(cos) * body.length_m + abs(sin) * body.width_m)
    half_across = 0.5 * (abs(sin) * body.length_m + abs(cos) * body.width_m)
    ahead_m = float(here.s_m) - s_m
    if ahead_m <= 0.0 or abs(float(here.d_m)) > half_across + HALF_WIDTH_M:
        return math.inf
    room_m = max(ahead_m - half_along - HALF_LENGTH_M - GAP_M, 0.0)
    vx, vy = body.velocity_mps
    along_mps = max(vx * math.cos(float(here.yaw_rad)) + vy * math.sin(float(here.yaw_rad)), 0.0)
    return math.sqrt(along_mps**2 + 2.0 * BRAKING_MPS2 * room_m)
