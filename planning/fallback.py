"""A plan made slower: the answer to senses that cannot be trusted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_stack.types import Constraint, ConstraintKind, Plan

SLOW_MPS, SLOW_DECEL_MPS2 = 4.0, 2.0
WARY_MPS = 8.0
"""The camera that looks ahead sees far enough for it."""

STOP_DECEL_MPS2 = 3.0


def slow_down(plan: Plan, speed_mps: float, reason: str) -> Plan:
    """The same way at `SLOW_MPS` at most, reached from the measured `speed_mps` without haste."""
    return limited(plan, speed_mps, SLOW_MPS, SLOW_DECEL_MPS2, reason)


def be_wary(plan: Plan, speed_mps: float, reason: str) -> Plan:
    """The same way at `WARY_MPS` at most, where the camera ahead sees but another does not."""
    return limited(plan, speed_mps, WARY_MPS, SLOW_DECEL_MPS2, reason)


def safe_stop(plan: Plan, speed_mps: float, reason: str) -> Plan:
    """The same way to a stand in the lane, firmly but not as in an emergency."""
    return limited(plan, speed_mps, 0.0, STOP_DECEL_MPS2, reason)


def limited(plan: Plan, speed_mps: float, cap_mps: float, decel_mps2: float, reason: str) -> Plan:
    """`plan` with its speed at most `cap_mps`, or what braking with `decel_mps2` from `speed_mps` leaves of it."""
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
