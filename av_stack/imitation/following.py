"""Follows the imitation network's output: smooths the path to a curve, and plans a motion to the target speed on it."""

from __future__ import annotations

import numpy as np

from av_core.types import ControlCommand, EgoState, Float, Plan, Stamp, Trajectory, VehicleParameters
from control import ControlConfig, Controller
from perception.imitation.samples import PATH_AHEAD_M, TARGET_S

_HORIZON_S, _STEP_S = 3.0, 0.1

_STOP_MPS = 0.5
"""Target speed below which the car stops."""

_STOP_DECEL_MPS2 = 2.0
"""Least deceleration of this stop."""

_ACCEL_MAX_MPS2 = 3.0
"""Largest acceleration of a plan."""

_SLACK_MPS = 0.15
"""Allowed difference between planned and measured speed at standstill."""

_SLACK_SHARE = 0.1
"""Growth of this difference with the measured speed, as a fraction of it."""

_SLACK_MAX_MPS = 0.8
"""Largest such difference."""

_AHEAD = np.array(PATH_AHEAD_M)
_MIDDLES = 0.5 * (_AHEAD[1:] + _AHEAD[:-1])
_GRID_M = 0.25
_GRID = np.arange(0.0, _AHEAD[-1] + 0.5 * _GRID_M, _GRID_M)


class PathFollower:
    """Computes commands from paths and target speeds with the stack's controllers; call `step` every `control.step_s`.

    Each plan starts from the speed that the last plan has for this moment, as the plans of `planning` do. So the
    controller can correct the difference to the measured speed, which a plan that started from the measured speed would
    hide.
    """

    def __init__(self, vehicle: VehicleParameters, control: ControlConfig) -> None:
        self._controller, self._step_s = Controller(vehicle, control), control.step_s
        self._planned_mps = 0.0

    def step(self, ego: EgoState, path_m: Float, target_mps: float) -> ControlCommand:
        """The command that follows `path_m` (points, 2), vehicle frame; only the motion of `ego` is used."""
        speed_mps = max(ego.speed_mps, 0.0)
        slack_mps = min(_SLACK_MPS + _SLACK_SHARE * speed_mps, _SLACK_MAX_MPS)
        start_mps = min(max(self._planned_mps, speed_mps - slack_mps), speed_mps + slack_mps)
        plan = plan_along(ego.stamp, path_m, start_mps, target_mps)
        self._planned_mps = plan.trajectory.at(self._step_s).speed_mps
        here = EgoState(ego.stamp, 0.0, 0.0, 0.0, ego.speed_mps, ego.accel_mps2, ego.yaw_rate_radps, np.zeros((4, 4)))
        return self._controller.step(plan, here)


def plan_along(stamp: Stamp, path_m: Float, speed_mps: float, target_mps: float) -> Plan:
    """The plan in the vehicle frame: along the points (points, 2), from `speed_mps` to `target_mps` in `TARGET_S`."""
    time_s = np.arange(0.0, _HORIZON_S + 0.5 * _STEP_S, _STEP_S)
    speed, accel = _motion(time_s, max(speed_mps, 0.0), target_mps)
    s = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * _STEP_S)])
    x, y, yaw, curvature = _smooth(path_m, np.minimum(s, _AHEAD[-1]))
    beyond = np.maximum(s - _AHEAD[-1], 0.0)
    poses = (x + beyond * np.cos(yaw), y + beyond * np.sin(yaw), np.unwrap(yaw))
    return Plan(stamp, Trajectory.through(poses, curvature, speed, accel, time_s), None)


def _motion(time_s: Float, speed_mps: float, target_mps: float) -> tuple[Float, Float]:
    """Speed and acceleration (N,) at the times: at a constant rate to the target, which is then held."""
    rate = min((target_mps - speed_mps) / TARGET_S, _ACCEL_MAX_MPS2)
    if target_mps < _STOP_MPS:
        target_mps, rate = 0.0, min(rate, -_STOP_DECEL_MPS2)
    change = rate * time_s
    reached = np.abs(change) >= abs(target_mps - speed_mps)
    return np.where(reached, target_mps, speed_mps + change), np.where(reached, 0.0, rate)


def _smooth(path_m: Float, s_m: Float) -> tuple[Float, Float, Float, Float]:
    """x, y, heading and curvature (N,) of the smoothed path at arc lengths (N,).

    Halfway between two points the path has the heading of the line through them, and in between the heading changes
    evenly. It begins at the first point. A polynomial or a spline would swing out before a bend, where the car is.
    """
    chords = np.diff(path_m, axis=0)
    headings = np.unwrap(np.arctan2(chords[:, 1], chords[:, 0]))
    bends = np.diff(headings) / np.diff(_MIDDLES)
    yaw = np.interp(_GRID, _MIDDLES, headings)
    yaw += bends[0] * np.minimum(_GRID - _MIDDLES[0], 0.0) + bends[-1] * np.maximum(_GRID - _MIDDLES[-1], 0.0)
    middle = 0.5 * (yaw[1:] + yaw[:-1])
    x = path_m[0, 0] + np.concatenate([[0.0], np.cumsum(np.cos(middle) * _GRID_M)])
    y = path_m[0, 1] + np.concatenate([[0.0], np.cumsum(np.sin(middle) * _GRID_M)])
    curvature = np.gradient(yaw, _GRID_M)
    at_x, at_y, at_yaw, bend = (np.interp(s_m, _GRID, column) for column in (x, y, yaw, curvature))
    return at_x, at_y, at_yaw, bend
