"""Drives a reference with a controller in the closed loop, and measures how well it was followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve
from av_core.types import ControlCommand, EgoState, Plan, Trajectory, VehicleParameters
from av_stack.world.carla.open_ground import OpenGround
from benchmarks.control.manoeuvres import RUN_UP_S, STEP_S, Reference
from benchmarks.control.peer import PublishedPid
from control import ControlConfig, Controller

Float = NDArray[np.float64]
Driver = Callable[[float, EgoState], ControlCommand]

HORIZON_S, PLAN_STEP_S = 6.0, 0.1
LOST_M = 15.0
"""Lateral error at which a drive is given up."""

SETTLED_M = 0.1
SWING_M = 0.05
"""An error counts as a swing to the other side from this size on."""

CONSTANT_MIN_S = 3.0
SHAKE_HZ = 0.5


@dataclass(frozen=True, slots=True)
class Trace:
    """A drive after the run-up, one row for each step; the lateral error is positive to the left of the path."""

    time_s: Float
    lateral_m: Float
    speed_error_mps: Float
    steer: Float
    curvature_1pm: Float
    x_m: Float
    y_m: Float
    is_lost: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """How well a reference was followed; `swings` counts changes of side where the path's curvature is constant."""

    lateral_rms_m: float
    lateral_max_m: float
    speed_rms_mps: float
    overshoot_m: float
    settling_s: float | None
    swings: int
    steer_shake: float
    is_lost: bool

    def as_row(self) -> dict[str, Any]:
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(self).items()}


def plan_of(reference: Reference, time_s: float, ego: EgoState) -> Plan:
    """The reference from the ego's place on the path on, as the planner would hand it over."""
    path = reference.path_at(time_s)
    t = np.arange(0.0, HORIZON_S + 1e-9, PLAN_STEP_S)
    v = reference.speed_at(time_s + t)
    from_s = float(path.project(ego.x_m, ego.y_m).s_m)
    s = from_s + np.concatenate([[0.0], np.cumsum(0.5 * PLAN_STEP_S * (v[1:] + v[:-1]))])
    x, y, yaw = path.pose_at(s)
    curvature = path.interpolate(s, path.curvature_1pm)
    return Plan(ego.stamp, Trajectory.through((x, y, yaw), curvature, v, np.gradient(v, PLAN_STEP_S), t), None, from_s)


def ours(reference: Reference, vehicle: VehicleParameters, config: ControlConfig) -> Driver:
    controller = Controller(vehicle, config)
    return lambda time_s, ego: controller.step(plan_of(reference, time_s, ego), ego)


def published(reference: Reference, vehicle: VehicleParameters) -> Driver:
    controller = PublishedPid(vehicle.rear_axle_to_centre_m)
    followed: list[Curve] = []

    def step(time_s: float, ego: EgoState) -> ControlCommand:
        path = reference.path_at(time_s)
        if not followed or followed[-1] is not path:
            followed.append(path)
            controller.follow(path, float(path.project(ego.x_m, ego.y_m).s_m))
        return controller.step(float(reference.speed_at(time_s)), ego)

    return step


def drive(ground: OpenGround, reference: Reference, make: Callable[[], Driver]) -> Trace:
    """Drive it; the lateral error is that of the middle of the car, which the peer steers, while we steer the rear
    axle.
    """
    rng = np.random.default_rng(0)
    ego = ground.release(float(reference.speed_mps[0]))
    driver, aim_m = make(), ground.vehicle.rear_axle_to_centre_m
    rows: list[tuple[float, ...]] = []
    is_lost = False
    for k in range(reference.steps):
        time_s = k * STEP_S
        path = reference.path_at(time_s)
        x, y = ego.x_m + aim_m * float(np.cos(ego.yaw_rad)), ego.y_m + aim_m * float(np.sin(ego.yaw_rad))
        at = path.project(x, y)
        dx, dy, turned = rng.normal(0.0, 1.0, 3) * reference.noise
        command = driver(time_s, replace(ego, x_m=ego.x_m + dx, y_m=ego.y_m + dy, yaw_rad=ego.yaw_rad + turned))
        if time_s >= RUN_UP_S - 1e-9:
            curvature = float(path.interpolate(float(at.s_m), path.curvature_1pm))
            error = float(reference.speed_at(time_s)) - ego.speed_mps
            rows.append((time_s - RUN_UP_S, float(at.d_m), error, command.steer, curvature, x, y))
        if abs(float(at.d_m)) > LOST_M or path.length_m - float(at.s_m) < 1.0:
            is_lost = True
            break
        ego = ground.step(command)
    columns = np.array(rows or [(0.0, LOST_M, 0.0, 0.0, 0.0, 0.0, 0.0)]).T
    time, lateral, speed_error, steer, curvature, x_m, y_m = columns
    return Trace(time, lateral, speed_error, steer, curvature, x_m, y_m, is_lost)


def figures_of(trace: Trace) -> Figures:
    error = trace.lateral_m
    start = error[0]
    outside = np.flatnonzero(np.abs(error) > SETTLED_M)
    last = int(outside[-1]) + 1 if len(outside) else 0
    return Figures(
        lateral_rms_m=float(np.sqrt(np.mean(error**2))),
        lateral_max_m=float(np.abs(error).max()),
        speed_rms_mps=float(np.sqrt(np.mean(trace.speed_error_mps**2))),
        overshoot_m=float(max((-np.sign(start) * error).max(), 0.0)),
        settling_s=None if last >= len(error) or trace.is_lost else last * STEP_S,
        swings=swings_of(trace),
        steer_shake=_above(trace.steer, SHAKE_HZ),
        is_lost=trace.is_lost,
    )


def swings_of(trace: Trace) -> int:
    """Changes of side of the lateral error by `SWING_M` or more, in the worst stretch of constant curvature.

    In a stretch the error is taken from its mean in the second half, since an error that stays is no oscillation.
    """
    changes = np.flatnonzero(np.abs(np.diff(trace.curvature_1pm)) > 1e-5) + 1
    stretches = np.split(trace.lateral_m, changes)
    return max((_swings(part) for part in stretches if len(part) * STEP_S >= CONSTANT_MIN_S), default=0)


def _swings(error: Float) -> int:
    centred = error - error[len(error) // 2 :].mean()
    sides = np.sign(centred[np.abs(centred) >= SWING_M])
    return int(np.count_nonzero(np.diff(sides)))


def _above(values: Float, frequency_hz: float) -> float:
    """Root mean square of the part of a signal above a frequency."""
    spectrum = np.fft.rfft(values - values.mean())
    spectrum[np.fft.rfftfreq(len(values), STEP_S) < frequency_hz] = 0.0
    return float(np.sqrt(np.mean(np.fft.irfft(spectrum, len(values)) ** 2)))
