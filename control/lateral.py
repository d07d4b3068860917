"""Lateral control: the steering command that keeps the ego on the plan's path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.types import EgoState, Plan, VehicleParameters
from control.config import LateralConfig
from control.pid import Pid, PidGains


@dataclass(frozen=True, slots=True)
class PathError:
    """Path tracking error: lateral offset and heading error (left positive), and arc length of the nearest point."""

    cross_track_m: float
    heading_rad: float
    s_m: float


def wheel_angle_limit(vehicle: VehicleParameters, speed_mps: float) -> float:
    """Angle of the front wheels at full steer and this speed, rad."""
    speeds = [point[0] for point in vehicle.steer_curve]
    factors = [point[1] for point in vehicle.steer_curve]
    return vehicle.steer_max_rad * float(np.interp(speed_mps, speeds, factors))


def feed_forward_angle(curvature_1pm: float, speed_mps: float, wheelbase_m: float, understeer: float) -> float:
    """Steady-state wheel angle for a curvature: atan(L k) + K_us v^2 k (Rajamani, "Vehicle Dynamics", 3.3)."""
    return float(np.arctan(wheelbase_m * curvature_1pm)) + understeer * speed_mps**2 * curvature_1pm


class PlanPath:
    """The plan's poses as a path by arc length; its ends are extended with the curvature there."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        steps = np.hypot(np.diff(plan.x_m), np.diff(plan.y_m))
        self._s = np.concatenate([[0.0], np.cumsum(steps)])

    def error(self, x_m: float, y_m: float, yaw_rad: float) -> PathError:
        """Error of a pose against the nearest point of the path."""
        plan = self._plan
        nearest = int(np.argmin((plan.x_m - x_m) ** 2 + (plan.y_m - y_m) ** 2))
        yaw, curvature = float(plan.yaw_rad[nearest]), float(plan.curvature_1pm[nearest])
        dx, dy = x_m - float(plan.x_m[nearest]), y_m - float(plan.y_m[nearest])
        along = float(dx * np.cos(yaw) + dy * np.sin(yaw))
        cross = float(-dx * np.sin(yaw) + dy * np.cos(yaw)) - 0.5 * curvature * along**2
        heading = (yaw_rad - yaw - curvature * along + np.pi) % (2.0 * np.pi) - np.pi
        return PathError(cross, heading, float(self._s[nearest]) + along)

    def curvature(self, s_m: float) -> float:
        return float(np.interp(s_m, self._s, self._plan.curvature_1pm))


class LateralController:
    """PID on the error at a look-ahead distance, plus curvature feed-forward.

    The error is e + x_la * sin(heading error): the expected cross-track error at a distance x_la ahead. With the gain k
    = L (2 damping / x_la)^2 it decays critically damped (for damping 1) over about x_la / 2 metres at any speed; a
    larger x_la attenuates pose noise more. The pose is first extrapolated by `latency_s`, since a command acts one step
    later. Rossetter, Gerdes (2006), "Lyapunov based performance guarantees for the potential field lane-keeping".
    """

    def __init__(self, vehicle: VehicleParameters, config: LateralConfig, step_s: float) -> None:
        self._vehicle = vehicle
        self._config = config
        self._step_s = step_s
        limit = config.error_limit_m + config.integral_limit_m
        self._pid = Pid(-limit, limit, config.integral_limit_m, config.derivative_filter_s)
        self._steer = 0.0

    def step(self, plan: Plan, ego: EgoState) -> float:
        """Steering command in [-1, 1], positive to the left."""
        config, wheelbase = self._config, self._vehicle.wheelbase_m
        speed = max(ego.speed_mps, 0.0)
        path = PlanPath(plan)
        yaw = ego.yaw_rad + 0.5 * ego.yaw_rate_radps * config.latency_s
        travel = speed * config.latency_s
        error = path.error(
            ego.x_m + travel * float(np.cos(yaw)),
            ego.y_m + travel * float(np.sin(yaw)),
            ego.yaw_rad + ego.yaw_rate_radps * config.latency_s,
        )
        ahead = min(config.look_ahead_min_m + config.look_ahead_gain_s * speed, config.look_ahead_max_m)
        curvature = path.curvature(error.s_m)
        # In a steady turn the rear axle slides outwards, so the body points to the inside of the path by that slip
        # angle.
        heading = error.heading_rad - config.rear_slip_rad_per_mps2 * speed**2 * curvature
        look = error.cross_track_m + ahead * float(np.sin(heading))
        look = min(max(look, -config.error_limit_m), config.error_limit_m)
        gains = PidGains(1.0, config.integral_per_s if speed > 1.0 else 0.0, config.derivative_s)
        feedback = self._pid.step(-look, gains, self._step_s) * wheelbase * (2.0 * config.damping / ahead) ** 2
        preview = path.curvature(error.s_m + speed * config.preview_s)
        angle = feedback + feed_forward_angle(preview, speed, wheelbase, config.understeer_rad_per_mps2)
        wanted = angle / wheel_angle_limit(self._vehicle, speed)
        change = config.steer_rate_max_per_s * self._step_s
        wanted = min(max(wanted, self._steer - change), self._steer + change)
        self._steer = min(max(wanted, -1.0), 1.0)
        return self._steer
