"""Prediction, planner, controller and the single-track vehicle in a loop, with road users that move by rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from av_core.types import (
    CameraModel,
    ControlCommand,
    EgoState,
    LaneEstimate,
    LaneGraph,
    Plan,
    Pose2D,
    Scene,
    Stamp,
    TrackedObject,
    TrafficLightView,
    VehicleParameters,
)
from control import Controller
from planning import Planner, PlanningConfig, Predictor, Route, find_route
from planning.route_tracker import RouteProgress
from tests.control.vehicle_model import VehicleModel, VehicleState

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

ARRIVED_M, ARRIVED_MPS = 1.5, 0.1
"""The ego has arrived if it stands this near the end of the route."""


class ScenePlanner:
    """Prediction and planner for `CAR` in a row, as the pipeline runs them."""

    def __init__(
        self, graph: LaneGraph, config: PlanningConfig | None = None, cameras: Sequence[CameraModel] = ()
    ) -> None:
        self._graph, self._config = graph, config or PlanningConfig()
        self._predictor = Predictor(graph, self._config.prediction)
        self._planner = Planner(graph, CAR, self._config, cameras)

    @property
    def route(self) -> Route | None:
        return self._planner.route

    @property
    def progress(self) -> RouteProgress | None:
        return self._planner.progress

    def navigate(self, start: Pose2D, goal: Pose2D) -> Route:
        route = find_route(self._graph, start, goal, (), self._config.route)
        self._planner.set_route(route)
        return route

    def plan(self, scene: Scene) -> Plan:
        return self._planner.plan(scene, self._predictor.predict(scene))


@dataclass
class Log:
    rows: list[tuple[float, ...]] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    commands: list[ControlCommand] = field(default_factory=list)
    states: list[VehicleState] = field(default_factory=list)
    has_arrived: bool = False

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
    planner: ScenePlanner,
    seconds: float,
    speed_mps: float = 0.0,
    objects: Callable[[float], tuple[TrackedObject, ...]] = lambda _: (),
    lights: Callable[[float], Mapping[str, TrafficLightView]] = lambda _: {},
    offset_m: float = 0.0,
    noise: Callable[[], np.ndarray] | None = None,
    stop_at_end: bool = True,
    watch: Callable[[VehicleState], None] = lambda _: None,
) -> Log:
    """Drive the planner's route from its start; a command acts one step after the frame it was computed from.

    `watch` is told the ego's state before `objects` is asked, for road users that react to the ego.
    """
    route = planner.route
    assert route is not None
    x_m, y_m, yaw_rad = (float(value) for value in route.curve.pose_at(0.0, offset_m))
    state = VehicleState(x_m, y_m, yaw_rad, speed_mps)
    model, controller, log = VehicleModel(CAR), Controller(CAR), Log()
    pending = ControlCommand(0.0, 0.0, 0.0)
    for frame in range(int(seconds / DT_S)):
        stamp = Stamp(frame, frame * DT_S)
        ego = ego_state(state, stamp, noise() if noise else None)
        watch(state)
        plan = planner.plan(scene_of(ego, objects(stamp.time_s), lights(stamp.time_s)))
        command = controller.step(plan, ego)
        log.rows.append((stamp.time_s, *true_error(planner, state), state.speed_mps, state.accel_mps2))
        log.plans.append(plan)
        log.commands.append(command)
        log.states.append(state)
        log.has_arrived = route.length_m - plan.route_s_m <= ARRIVED_M and ego.speed_mps < ARRIVED_MPS
        if log.has_arrived and stop_at_end:
            break
        state = model.step(state, pending, DT_S)
        pending = command
    return log


def follow_mps2(
    speed_mps: np.ndarray,
    free_mps: float,
    gap_m: np.ndarray | float,
    ahead_mps: np.ndarray | float,
    most_mps2: float = 1.5,
) -> np.ndarray:
    """The acceleration of drivers who keep their distance: the Intelligent Driver Model, braking with 3 m/s2.

    Treiber, Hennecke, Helbing (2000), "Congested traffic states in empirical observations and microscopic simulations".
    """
    closing_mps = speed_mps - ahead_mps
    wanted_m = 2.0 + speed_mps + speed_mps * closing_mps / (2.0 * np.sqrt(most_mps2 * 3.0))
    near = np.maximum(wanted_m, 0.0) / np.maximum(gap_m, 0.1)
    return np.asarray(most_mps2 * (1.0 - (speed_mps / free_mps) ** 4 - near**2))


def true_error(planner: ScenePlanner, state: VehicleState) -> tuple[float, float]:
    """Arc length and cross-track error of the true state, near where the planner believes it to be."""
    route, progress = planner.route, planner.progress
    assert route is not None
    assert progress is not None
    rows = np.flatnonzero(np.abs(route.s_m - progress.s_m) < 5.0)
    nearest = rows[np.argmin(np.hypot(route.curve.x_m[rows] - state.x_m, route.curve.y_m[rows] - state.y_m))]
    at = route.curve.project(state.x_m, state.y_m, nearest)
    return float(at.s_m), float(at.d_m)
