"""Slows a plan down when the cameras cannot be trusted: keeps its path, lowers its speeds.

`drive_cautiously`, `slow_down` and `safe_stop` are the answers to camera faults of growing severity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_core.types import Constraint, ConstraintKind, Plan

SLOW_MPS, SLOW_DECEL_MPS2 = 4.0, 2.0
"""Speed cap of `slow_down`, and the deceleration to reach a cap."""

CAUTIOUS_MPS = 8.0
"""Speed cap while a camera other than the front one has a fault; the front camera sees far enough for this speed."""

STOP_DECEL_MPS2 = 3.0
"""Deceleration of a safe stop."""


def slow_down(plan: Plan, speed_mps: float, reason: str) -> Plan:
    """The plan's path at `SLOW_MPS` at most, reached from the measured `speed_mps` by gentle braking."""
    return limit_speed(plan, speed_mps, SLOW_MPS, SLOW_DECEL_MPS2, reason)


def drive_cautiously(plan: Plan, speed_mps: float, reason: str) -> Plan:
    """The plan's path at `CAUTIOUS_MPS` at most, for when the front camera works but another camera does not."""
    return limit_speed(plan, speed_mps, CAUTIOUS_MPS, SLOW_DECEL_MPS2, reason)


def safe_stop(plan: Plan, speed_mps: float, reason: str) -> Plan:
    """The plan's path to a stop in the lane, with firm but not emergency braking."""
    return limit_speed(plan, speed_mps, 0.0, STOP_DECEL_MPS2, reason)


def limit_speed(plan: Plan, speed_mps: float, cap_mps: float, decel_mps2: float, reason: str) -> Plan:
    """Limit the speed of `plan` to `cap_mps`, which the ego reaches by braking with `decel_mps2` from `speed_mps`."""
    cap = np.maximum(cap_mps, speed_mps - decel_mps2 * plan.time_s)
    speed = np.minimum(plan.speed_mps, np.maximum(cap, 0.0))
    if np.array_equal(speed, plan.speed_mps):
        return plan
    step = np.hypot(np.diff(plan.x_m), np.diff(plan.y_m))
    way = np.concatenate([[0.0], np.cumsum(step)])
    dt = np.diff(plan.time_s)
    at = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2.0 * dt)])
    at = np.minimum(at, way[-1])
    return replace(
        plan,
        x_m=np.interp(at, way, plan.x_m),
        y_m=np.interp(at, way, plan.y_m),
        yaw_rad=np.interp(at, way, np.unwrap(plan.yaw_rad)),
        curvature_1pm=np.interp(at, way, plan.curvature_1pm),
        speed_mps=speed,
        accel_mps2=np.gradient(speed, plan.time_s) if len(speed) > 1 else plan.accel_mps2,
        constraint=reason,
        limited_by=Constraint(ConstraintKind.CAMERA),
    )
