"""Lateral control: the steering command that keeps the ego on the plan's path, by PID and curvature feed-forward."""

from __future__ import annotations

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import EgoState, Plan, VehicleParameters
from control.config import LateralConfig
from control.pid import Pid, PidGains
from control.slip import TyreSoftness


def wheel_angle_limit(vehicle: VehicleParameters, speed_mps: float) -> float:
    """Angle of the front wheels at full steering and this speed, rad."""
    speeds = [point[0] for point in vehicle.steer_curve]
    factors = [point[1] for point in vehicle.steer_curve]
    return vehicle.steer_max_rad * float(np.interp(speed_mps, speeds, factors))


def wheel_angle(curvature_1pm: float, speed_mps: float, wheelbase_m: float, understeer: float) -> float:
    """Steady-state wheel angle for a curvature: atan(L k) + K_us v^2 k (Rajamani, "Vehicle Dynamics", 3.3)."""
    return float(np.arctan(wheelbase_m * curvature_1pm)) + understeer * speed_mps**2 * curvature_1pm


class LateralController:
    """PID on the error at a look-ahead distance, plus curvature feed-forward.

    The error is e + x_la * sin(heading error): the expected cross-track error at a distance x_la ahead. With the gain
    k = L (2 damping / x_la)^2 it decays over about x_la / 2 metres at any speed, critically damped for damping 1. A
    larger x_la attenuates pose noise more. The pose is first extrapolated by `latency_s`, because a command takes
    effect one step later. Rossetter, Gerdes (2006), "Lyapunov based performance guarantees for the potential field
    lane-keeping".
    """

    def __init__(self, vehicle: VehicleParameters, config: LateralConfig, step_s: float) -> None:
        self._vehicle = vehicle
        self._config = config
        self._step_s = step_s
        limit = config.error_limit_m + config.integral_limit_m
        self._pid = Pid(-limit, limit, config.integral_limit_m, config.derivative_filter_s)
        self._softness = TyreSoftness(vehicle.wheelbase_m, config.understeer_rad_per_mps2, step_s)
        self._steer = 0.0

    def step(self, plan: Plan, ego: EgoState) -> float:
        """Steering command in [-1, 1], positive to the left."""
        config, wheelbase = self._config, self._vehicle.wheelbase_m
        speed = max(ego.speed_mps, 0.0)
        limit_rad = wheel_angle_limit(self._vehicle, speed)
        softness = self._softness.step(self._steer * limit_rad, ego.yaw_rate_radps, speed)
        yaw = ego.yaw_rad + 0.5 * ego.yaw_rate_radps * config.latency_s
        travel = speed * config.latency_s
        at = plan.trajectory.curve.project(ego.x_m + travel * float(np.cos(yaw)), ego.y_m + travel * float(np.sin(yaw)))
        s, cross_track = float(at.s_m), float(at.d_m)
        error = float(wrap_angle(ego.yaw_rad + ego.yaw_rate_radps * config.latency_s - at.yaw_rad))
        ahead = min(config.look_ahead_min_m + config.look_ahead_gain_s * speed, config.look_ahead_max_m)
        curvature = plan.trajectory.at_distance(s).curvature_1pm
        # In a steady turn the rear axle slides outwards, so the body points inwards, off the path by the slip angle.
        heading = error - softness * config.rear_slip_rad_per_mps2 * speed**2 * curvature
        look = cross_track + ahead * float(np.sin(heading))
        look = min(max(look, -config.error_limit_m), config.error_limit_m)
        gains = PidGains(1.0, config.integral_per_s if speed > 1.0 else 0.0, config.derivative_s)
        feedback = self._pid.step(-look, gains, self._step_s) * (2.0 * config.damping / ahead) ** 2
        most = config.feedback_accel_max_mps2 / max(speed, 1.0) ** 2
        feedback = min(max(feedback, -most), most)
        preview = plan.trajectory.at_distance(s + speed * config.preview_s).curvature_1pm
        angle = wheel_angle(preview + feedback, speed, wheelbase, softness * config.understeer_rad_per_mps2)
        wanted = angle / limit_rad
        change = config.steer_rate_max_per_s * self._step_s
        wanted = min(max(wanted, self._steer - change), self._steer + change)
        self._steer = min(max(wanted, -1.0), 1.0)
        return self._steer
