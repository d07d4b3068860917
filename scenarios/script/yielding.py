"""The speed at which a vehicle can still stop behind any road user on its path."""

from __future__ import annotations

import math

from av_core.curve import Curve
from av_core.types import Pose2D
from scenarios.script.situation import Body, Situation

LOOK_M = 80.0
"""Distance ahead within which road users on the path count."""

BRAKING_MPS2 = 5.0
GAP_M = 2.5
"""Distance that a stopped vehicle leaves to the road user ahead."""

HALF_LENGTH_M, HALF_WIDTH_M = 2.4, 1.0
"""Half the length and width that the vehicle itself is assumed to have: those of a car."""


def free_speed_mps(name: str, way: Curve, s_m: float, pose: Pose2D, now: Situation) -> float:
    """The highest speed, m/s, at which the car `name` can still stop behind all road users on its path `way`.

    The car is at `pose`, `s_m` along the path. The speed is inf if nothing is ahead.
    """
    others = [body for body in now.bodies if body.actor != name]
    part = way.part(way.rows_between(s_m, s_m + LOOK_M))
    return min((_behind_mps(part, s_m, body) for body in others if _is_near(body, pose)), default=math.inf)


def _is_near(body: Body, pose: Pose2D) -> bool:
    return math.hypot(body.pose.x_m - pose.x_m, body.pose.y_m - pose.y_m) < LOOK_M


def _behind_mps(part: Curve, s_m: float, body: Body) -> float:
    """The highest speed, m/s, at which the car can still stop behind `body`; inf if the body is not on the path."""
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
