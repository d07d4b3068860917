"""CARLA's published controller, written anew from its description: the peer that the study compares with.

`VehiclePIDController` with the gains and the choice of the target of `LocalPlanner`, CARLA 0.9.16
(PythonAPI/carla/agents/navigation). Lateral: PID on the angle between the car's heading and the direction to the target
waypoint. Longitudinal: PID on the speed error in km/h, positive on the throttle, negative on the brake. Integrals are
over the last ten errors.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from av_core.curve import Curve
from av_core.frames import wrap_angle
from av_core.types import ControlCommand, EgoState

LATERAL_GAINS = (1.95, 0.05, 0.2)
LONGITUDINAL_GAINS = (1.0, 0.05, 0.0)
"""Proportional, integral, derivative."""

STEP_S = 0.05
ERRORS_KEPT = 10
THROTTLE_MAX, BRAKE_MAX, STEER_MAX = 0.75, 0.3, 0.8
STEER_CHANGE_MAX = 0.1
WAYPOINT_SPACING_M = 2.0
LOOK_AHEAD_M, LOOK_AHEAD_S = 3.0, 0.5
"""A waypoint nearer than the sum, the latter times speed, is no target any more."""


class _WindowedPid:
    def __init__(self, gains: tuple[float, float, float]) -> None:
        self._gains = gains
        self._errors: deque[float] = deque(maxlen=ERRORS_KEPT)

    def step(self, error: float) -> float:
        self._errors.append(error)
        kept = self._errors
        slope, total = ((kept[-1] - kept[-2]) / STEP_S, sum(kept) * STEP_S) if len(kept) > 1 else (0.0, 0.0)
        proportional, integral, derivative = self._gains
        return min(max(proportional * error + derivative * slope + integral * total, -1.0), 1.0)


class PublishedPid:
    """Follows a path with the middle of the car, as CARLA's agents do; call `follow` first."""

    def __init__(self, rear_axle_to_centre_m: float) -> None:
        self._forward_m = rear_axle_to_centre_m
        self._lateral, self._longitudinal = _WindowedPid(LATERAL_GAINS), _WindowedPid(LONGITUDINAL_GAINS)
        self._steer = 0.0

    def follow(self, path: Curve, from_s_m: float) -> None:
        """Take the waypoints of this path from an arc length on."""
        x, y, _ = path.pose_at(np.arange(from_s_m, path.length_m, WAYPOINT_SPACING_M))
        self._waypoints = deque(zip(x.tolist(), y.tolist(), strict=True))

    def step(self, speed_mps: float, ego: EgoState) -> ControlCommand:
        """The command towards the next waypoint at this wanted speed."""
        x = ego.x_m + self._forward_m * float(np.cos(ego.yaw_rad))
        y = ego.y_m + self._forward_m * float(np.sin(ego.yaw_rad))
        near_m = LOOK_AHEAD_M + LOOK_AHEAD_S * ego.speed_mps
        while len(self._waypoints) > 1 and np.hypot(self._waypoints[0][0] - x, self._waypoints[0][1] - y) < near_m:
            self._waypoints.popleft()
        target_x, target_y = self._waypoints[0]
        angle = float(wrap_angle(np.arctan2(target_y - y, target_x - x) - ego.yaw_rad))
        pedal = self._longitudinal.step(3.6 * (speed_mps - ego.speed_mps))
        wanted = self._lateral.step(angle)
        wanted = min(max(wanted, self._steer - STEER_CHANGE_MAX), self._steer + STEER_CHANGE_MAX)
        self._steer = min(max(wanted, -STEER_MAX), STEER_MAX)
        return ControlCommand(min(max(pedal, 0.0), THROTTLE_MAX), min(max(-pedal, 0.0), BRAKE_MAX), self._steer)
