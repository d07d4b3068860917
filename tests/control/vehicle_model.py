"""Single-track (bicycle) model of a vehicle, for tests that drive with planner and controller in a closed loop.

`VehicleModel.step` takes a state and a `ControlCommand` and returns the next state. The model is kinematic at walking
pace; above, it is dynamic with saturating tyres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from av_core.types import ControlCommand, VehicleParameters

_BLEND_MPS = (2.0, 4.0)
"""Speed range in which the kinematic model is blended into the dynamic one."""

_GRAVITY_MPS2 = 9.81


@dataclass(frozen=True, slots=True)
class VehicleState:
    """State of the vehicle frame's origin (rear axle) in the map frame, and of the actuators.

    `slip_mps` is the lateral velocity of the rear axle.
    """

    x_m: float
    y_m: float
    yaw_rad: float
    speed_mps: float = 0.0
    accel_mps2: float = 0.0
    yaw_rate_radps: float = 0.0
    slip_mps: float = 0.0
    wheel_rad: float = 0.0
    drive_mps2: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """Parameters that `VehicleParameters` does not hold. Cornering stiffness is per axle, relative to the axle's load.

    `brake_decel_mps2` is (speed in m/s, deceleration of the full brake). Throttle below `throttle_free` does not drive
    the car.
    """

    front_stiffness_per_rad: float = 11.0
    rear_stiffness_per_rad: float = 13.0
    front_load: float = 0.5
    friction: float = 0.9
    steer_lag_s: float = 0.08
    drive_lag_s: float = 0.12
    throttle_accel_mps2: float = 6.5
    throttle_free: float = 0.3
    power_wpkg: float = 70.0
    brake_decel_mps2: tuple[tuple[float, float], ...] = (
        (0.0, 20.5),
        (5.0, 18.5),
        (7.2, 11.7),
        (10.0, 7.0),
        (30.0, 7.0),
    )
    drag_per_m: float = 0.0004
    rolling_mps2: float = 0.15


class VehicleModel:
    """Integrates the single-track equations with sub-steps (Rajamani, "Vehicle Dynamics and Control", ch. 2)."""

    def __init__(
        self, vehicle: VehicleParameters, parameters: ModelParameters | None = None, substeps: int = 10
    ) -> None:
        self._vehicle = vehicle
        self._parameters = parameters or ModelParameters()
        self._substeps = substeps

    def step(self, state: VehicleState, command: ControlCommand, dt_s: float) -> VehicleState:
        """The state after `command` was held for `dt_s`."""
        for _ in range(self._substeps):
            state = self._substep(state, command, dt_s / self._substeps)
        return state

    def _substep(self, state: VehicleState, command: ControlCommand, dt: float) -> VehicleState:
        p, vehicle = self._parameters, self._vehicle
        speeds, factors = zip(*vehicle.steer_curve, strict=True)
        limit = vehicle.steer_max_rad * float(np.interp(state.speed_mps, speeds, factors))
        wheel = state.wheel_rad + (command.steer * limit - state.wheel_rad) * dt / p.steer_lag_s
        gear = -1.0 if command.reverse else 1.0
        v = gear * state.speed_mps  # along the gear
        throttle = max(command.throttle - p.throttle_free, 0.0) / (1.0 - p.throttle_free)
        pull = min(p.throttle_accel_mps2, p.power_wpkg / max(v, 1.0)) * throttle
        speeds, decels = zip(*p.brake_decel_mps2, strict=True)
        braked = float(np.interp(v, speeds, decels)) * command.brake
        drive = state.drive_mps2 + (pull - braked - state.drive_mps2) * dt / p.drive_lag_s
        accel = drive - (p.drag_per_m * v * v + p.rolling_mps2 if v > 0.0 else 0.0)
        accel = min(max(accel, -p.friction * _GRAVITY_MPS2), p.friction * _GRAVITY_MPS2)
        v_next = max(0.0, v + accel * dt)
        yaw_rate, slip = self._yaw_and_slip(state, wheel, dt)
        yaw = state.yaw_rad + yaw_rate * dt
        middle = 0.5 * (state.yaw_rad + yaw)
        vm = 0.5 * gear * (v + v_next)
        return replace(
            state,
            x_m=state.x_m + (vm * np.cos(middle) - slip * np.sin(middle)) * dt,
            y_m=state.y_m + (vm * np.sin(middle) + slip * np.cos(middle)) * dt,
            yaw_rad=yaw,
            speed_mps=gear * v_next,
            accel_mps2=(v_next - v) / dt,
            yaw_rate_radps=yaw_rate,
            slip_mps=slip,
            wheel_rad=wheel,
            drive_mps2=drive,
        )

    def _yaw_and_slip(self, state: VehicleState, wheel: float, dt: float) -> tuple[float, float]:
        """Yaw rate and lateral velocity of the rear axle after `dt`."""
        p, length, v = self._parameters, self._vehicle.wheelbase_m, state.speed_mps
        kinematic = v * float(np.tan(wheel)) / length
        share = min(max((v - _BLEND_MPS[0]) / (_BLEND_MPS[1] - _BLEND_MPS[0]), 0.0), 1.0)
        if share == 0.0:
            return kinematic, 0.0
        # About the centre of mass, at a behind the front axle and b before the rear axle; per unit mass, with a*b for
        # the squared radius of gyration.
        b, a = p.front_load * length, (1.0 - p.front_load) * length
        vy = state.slip_mps + b * state.yaw_rate_radps
        front_load, rear_load = p.front_load * _GRAVITY_MPS2, (1.0 - p.front_load) * _GRAVITY_MPS2
        front = wheel - float(np.arctan2(vy + a * state.yaw_rate_radps, v))
        rear = -float(np.arctan2(vy - b * state.yaw_rate_radps, v))
        force_f = front_load * p.friction * float(np.tanh(p.front_stiffness_per_rad * front / p.friction))
        force_r = rear_load * p.friction * float(np.tanh(p.rear_stiffness_per_rad * rear / p.friction))
        vy += (force_f * float(np.cos(wheel)) + force_r - v * state.yaw_rate_radps) * dt
        rate = state.yaw_rate_radps + (a * force_f * float(np.cos(wheel)) - b * force_r) / (a * b) * dt
        slip = vy - b * rate
        return share * rate + (1.0 - share) * kinematic, share * slip
