"""Planner, controller and the single-track vehicle in a loop, with road users that move by rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from av_core.types import (
    ControlCommand,
    EgoState,
    LaneEstimate,
    Plan,
    Scene,
    Stamp,
    TrackedObject,
    TrafficLightView,
    VehicleParameters,
)
from control import Controller
from control.vehicle_model import VehicleModel, VehicleState
from planning import Planner

CAR = VehicleParameters(
    length_m=4.8,
    width_m=1.9,
    height_m=1.5,
    wheelbase_m=2.9,
    rear_axle_to_centre_m=1.4,
    steer_max_rad=1.22,
    mass_kg=1800.0,
    steer_curve=((0.0, 1.0), (8.0, 0.9), (30.0, 0.7)),
)
DT_S = 0.05


@dataclass
class Log:
    rows: list[tuple[float, ...]] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    commands: list[ControlCommand] = field(default_factory=list)
    states: list[VehicleState] = field(default_factory=list)

    def column(self, number: int) -> np.ndarray:
        """0 time, 1 s, 2 cross-track, 3 speed, 4 acceleration."""
        return np.array([row[number] for row in self.rows])


def ego_state(state: VehicleState, stamp: Stamp, noise: np.ndarray | None = None) -> EgoState:
    dx, dy, dyaw, dv = noise if noise is not None else (0.0, 0.0, 0.0, 0.0)
    return EgoState(
        stamp=stamp,
        x_m=state.x_m + dx,
        y_m=state.y_m + dy,
        yaw_rad=state.yaw_rad + dyaw,
        speed_mps=state.speed_mps + dv,
        accel_mps2=state.accel_mps2,
        yaw_rate_radps=state.yaw_rate_radps,
        covariance=np.eye(4) * 0.01,
    )


def scene_of(ego: EgoState, objects: tuple[TrackedObject, ...], lights: Mapping[str, TrafficLightView]) -> Scene:
    return Scene(ego.stamp, ego, LaneEstimate(ego.stamp, None, None), objects, lights)


def drive(
    planner: Planner,
    seconds: float,
    speed_mps: float = 0.0,
    objects: Callable[[float], tuple[TrackedObject, ...]] = lambda _: (),
    lights: Callable[[float], Mapping[str, TrafficLightView]] = lambda _: {},
    offset_m: float = 0.0,
    noise: Callable[[], np.ndarray] | None = None,
    stop_at_end: bool = True,
) -> Log:
    """Drive the planner's route from its start; a command acts one step after the frame it was computed from."""
    route = planner.route
    assert route is not None
    yaw = float(route.yaw_rad[0])
    state = VehicleState(
        float(route.x_m[0]) - offset_m * np.sin(yaw), float(route.y_m[0]) + offset_m * np.cos(yaw), yaw, speed_mps
    )
    model, controller, log = VehicleModel(CAR), Controller(CAR), Log()
    pending = ControlCommand(0.0, 0.0, 0.0)
    for frame in range(int(seconds / DT_S)):
        stamp = Stamp(frame, frame * DT_S)
        ego = ego_state(state, stamp, noise() if noise else None)
        plan = planner.plan(scene_of(ego, objects(stamp.time_s), lights(stamp.time_s)))
        command = controller.step(plan, ego)
        log.rows.append((stamp.time_s, *true_error(planner, state), state.speed_mps, state.accel_mps2))
        log.plans.append(plan)
        log.commands.append(command)
        log.states.append(state)
        if plan.is_finished and stop_at_end:
            break
        state = model.step(state, pending, DT_S)
        pending = command
    return log


def true_error(planner: Planner, state: VehicleState) -> tuple[float, float]:
    """Arc length and cross-track error of the true state, near where the planner believes it to be."""
    route, progress = planner.route, planner.progress
    assert route is not None
    assert progress is not None
    rows = np.flatnonzero(np.abs(route.s_m - progress.s_m) < 5.0)
    nearest = rows[np.argmin(np.hypot(route.x_m[rows] - state.x_m, route.y_m[rows] - state.y_m))]
    yaw = route.yaw_rad[nearest]
    dx, dy = state.x_m - route.x_m[nearest], state.y_m - route.y_m[nearest]
    along = float(dx * np.cos(yaw) + dy * np.sin(yaw))
    cross = float(-dx * np.sin(yaw) + dy * np.cos(yaw)) - 0.5 * float(route.curvature_1pm[nearest]) * along**2
    return float(route.s_m[nearest]) + along, cross
