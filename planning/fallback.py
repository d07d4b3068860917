"""Slows a plan down when the cameras cannot be trusted: keeps its path, lowers its speeds.

`drive_cautiously`, `slow_down` and `safe_stop` are the reactions to camera faults of growing severity. Each takes a
plan, the ego's speed and a description of the fault, and returns the slower plan.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_core.types import Constraint, ConstraintKind, Plan, Trajectory

SLOW_MPS, SLOW_DECEL_MPS2 = 4.0, 2.0
"""Speed cap of `slow_down`, and the deceleration to reach a cap."""

CAUTIOUS_MPS = 8.0
"""Speed cap while a camera other than the front one has a fault; the front camera sees far enough for this speed."""

STOP_DECEL_MPS2 = 3.0
"""Deceleration of a safe stop."""


def slow_down(plan: Plan, speed_mps: float, fault: str) -> Plan:
    """The plan's path at `SLOW_MPS` at most, reached from the measured `speed_mps` by gentle braking."""
    constraint = Constraint(ConstraintKind.CAMERA_SLOW, name=fault)
    return limit_speed(plan, speed_mps, SLOW_MPS, SLOW_DECEL_MPS2, constraint)


def drive_cautiously(plan: Plan, speed_mps: float, fault: str) -> Plan:
    """The plan's path at `CAUTIOUS_MPS` at most, for when the front camera works but another camera does not."""
    constraint = Constraint(ConstraintKind.CAMERA_CAUTION, name=fault)
    return limit_speed(plan, speed_mps, CAUTIOUS_MPS, SLOW_DECEL_MPS2, constraint)


def safe_stop(plan: Plan, speed_mps: float, fault: str) -> Plan:
    """The plan's path to a stop in the lane, with firm but not emergency braking."""
    constraint = Constraint(ConstraintKind.CAMERA_STOP, name=fault)
    return limit_speed(plan, speed_mps, 0.0, STOP_DECEL_MPS2, constraint)


def stop_lost(plan: Plan, speed_mps: float, why: str) -> Plan:
    """As `safe_stop`, where the ego's position is no longer known well enough."""
    constraint = Constraint(ConstraintKind.POSITION_STOP, name=why)
    return limit_speed(plan, speed_mps, 0.0, STOP_DECEL_MPS2, constraint)


def stop_on_request(plan: Plan, speed_mps: float, why: str) -> Plan:
    """As `safe_stop`, where a person who watches the drive asked for the stop."""
    constraint = Constraint(ConstraintKind.REQUESTED_STOP, name=why)
    return limit_speed(plan, speed_mps, 0.0, STOP_DECEL_MPS2, constraint)


def limit_speed(plan: Plan, speed_mps: float, cap_mps: float, decel_mps2: float, constraint: Constraint) -> Plan:
    """Limit the speed of `plan` to `cap_mps`, which the ego reaches by braking with `decel_mps2` from `speed_mps`."""
    planned = plan.trajectory
    path, time = planned.curve, planned.time_s
    cap = np.maximum(cap_mps, speed_mps - decel_mps2 * time)
    speed = np.minimum(planned.speed_mps, np.maximum(cap, 0.0))
    if np.array_equal(speed, planned.speed_mps):
        return plan
    dt = np.diff(time)
    at = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2.0 * dt)])
    at = np.minimum(at, path.length_m)
    accel = np.gradient(speed, time) if len(speed) > 1 else planned.accel_mps2
    curvature = path.interpolate(at, path.curvature_1pm)
    return replace(
        plan,
        trajectory=Trajectory.through(path.pose_at(at), curvature, speed, accel, time),
        constraint=constraint,
        is_accelerating=False,
    )
