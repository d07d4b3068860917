"""The planner: turns each `Scene` and its `Prediction` into a `Plan` (poses, speeds, times) along the route.

`Planner.plan` tracks the ego on the route, collects the constraints from signals (`signals`) and road users
(`behavior`), and rolls out the fastest motion that meets them all (`speed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from av_core.errors import RouteError
from av_core.types import (
    CameraModel,
    Constraint,
    ConstraintKind,
    EgoState,
    Float,
    Indicator,
    LaneGraph,
    Manoeuvre,
    Plan,
    Prediction,
    Scene,
    Trajectory,
    VehicleParameters,
)
from planning.backing_up import BackingUp, Where
from planning.config import PlanningConfig
from planning.indicators import Indication, indications, indicator_at
from planning.junctions.entry import junctions_of
from planning.local.blockers import FrontView
from planning.local.gap_rollout import ROOM_M
from planning.local.local_path import LocalPath
from planning.local.occupancy import Body, EgoOnRoad
from planning.local.path_planner import LocalPlanner
from planning.local.road_cells import room_to_pass_m
from planning.reference_path import Route
from planning.route_tracker import RouteProgress, RouteTracker
from planning.sight import Place, sight_limits
from planning.signals import Commitment, EgoOnRoute, SignalMemory, SpeedCap, signal_constraints
from planning.speed import (
    Leader,
    Motion,
    SpeedCeiling,
    StopTarget,
    backward_pass,
    curve_speed,
    forward_times,
    integrate_motion,
)
from planning.traffic.behavior import Constraints, TrafficBehavior
from planning.traffic.patience import Patience, assertive
from planning.traffic.speeding_up import SpeedingUp
from planning.unseen_light import observe_junction

_GRID_M = 0.5
"""Spacing of the speed profile along the route."""

_TURN_RADIUS_M, _STEER_SHARE = 6.5, 0.8
"""Radius of the tightest bend of a plan, and the share of the largest steer that it uses at most."""

_OUT_M, _TURNED_RAD = 0.5, 0.15
"""Offset from the route, and turn, from which on the ego is leaving its lane."""

_ROOM_MPS2 = (1.5, 3.0)
"""Braking for the sake of room behind an obstacle: for all of it, and for the least that the ego needs."""

_SEEMS_MPS, _NEAR_TO_HALT_MPS = 1.5, 8.0
"""Speed up to which an obstacle may seem to move; a faster ego than the second passes it without a stop, if it can."""

_SCHEDULE_SLACK_MPS = 0.5
"""Largest excess of the ego's speed over the speed that the search planned for a pass."""


class Planner:
    """Plans the motion of the next seconds along a route.

    Set the route once (`set_route`), then call `plan` with each scene and prediction in order of time. A
    plan starts from the speed and acceleration of the last plan, kept within a band around the measured speed, so that
    noise in the estimate does not become jerk. `cameras` are those that read the traffic lights: the ego waits at a red
    light where at least one of them still sees it.
    """

    def __init__(
        self,
        graph: LaneGraph,
        vehicle: VehicleParameters,
        config: PlanningConfig | None = None,
        cameras: Sequence[CameraModel] = (),
    ) -> None:
        self._graph = graph
        self._cameras = tuple(cameras)
        self._vehicle = vehicle
        self._config = config or PlanningConfig()
        self._behavior = TrafficBehavior(vehicle.width_m, self._config.behavior)
        self._route: Route | None = None
        self._tracker: RouteTracker | None = None
        self._progress: RouteProgress | None = None
        self._memory = SignalMemory()
        self._sights: dict[Place, float] = {}
        self._indications: tuple[Indication, ...] = ()
        self._local: LocalPlanner | None = None
        self._backing_up: BackingUp | None = None
        self._yielding: frozenset[int] = frozenset()
        self._last: tuple[float, Motion] | None = None
        self._patience = Patience()
        self._speeding_up = SpeedingUp()
        self._waits = False

    @property
    def _front_m(self) -> float:
        """Distance from the rear axle to the front bumper."""
        return self._vehicle.rear_axle_to_centre_m + 0.5 * self._vehicle.length_m

    @property
    def route(self) -> Route | None:
        return self._route

    @property
    def progress(self) -> RouteProgress | None:
        """Where the ego was on the route at the last `plan`."""
        return self._progress

    def set_route(self, route: Route) -> None:
        self._route = route
        self._tracker = RouteTracker(route)
        self._indications = indications(route, self._graph)
        junctions = junctions_of(route, self._graph, self._vehicle.width_m, self._config.behavior)
        self._behavior = TrafficBehavior(self._vehicle.width_m, self._config.behavior, junctions)
        self._memory = SignalMemory()
        if self._cameras:
            posts = {signal.signal_id: signal.place for signal in self._graph.signals if signal.place is not None}
            self._sights = sight_limits(route, posts, self._cameras, self._front_m)
        self._yielding = frozenset()
        self._last = None
        self._patience = Patience()
        self._speeding_up = SpeedingUp()
        self._waits = False
        rear_m = 0.5 * self._vehicle.length_m - self._vehicle.rear_axle_to_centre_m
        view = FrontView.of(self._cameras[0]) if self._cameras else None
        body = Body(self._front_m, rear_m, self._vehicle.width_m, _turn_radius_m(self._vehicle))
        self._local = LocalPlanner(route, self._graph, body, view)
        self._backing_up = BackingUp(body)

    def plan(self, scene: Scene, prediction: Prediction) -> Plan:
        """Plan the motion from now on; `prediction` is of `scene`. Raises `RouteError` when no route is set."""
        if self._route is None or self._tracker is None or self._local is None or self._backing_up is None:
            raise RouteError("no route is set: call set_route before plan")
        route, config = self._route, self._config
        self._progress = self._tracker.update(scene.ego)
        vehicle = self._vehicle
        speed_mps = max(0.0, scene.ego.speed_mps)
        impatience = self._patience.update(scene.stamp.time_s, speed_mps, self._waits)
        speed_config = assertive(config.speed) if impatience > 0.0 else config.speed
        planned_mps, planned_mps2 = self._start(scene.ego, scene.stamp.time_s)
        ego = EgoOnRoute(
            s_m=self._progress.s_m,
            speed_mps=speed_mps,
            front_m=self._front_m,
            rear_m=0.5 * vehicle.length_m - vehicle.rear_axle_to_centre_m,
            time_s=scene.stamp.time_s,
            impatience=impatience,
            accel_mps2=planned_mps2,
        )
        reach = max(
            config.behavior.look_ahead_m,
            ego.speed_mps**2 / (2.0 * config.speed.decel_comfort_mps2) + 3.0 * ego.speed_mps,
        )
        others_now = [one.item for one in prediction.objects]
        speeding_up = self._speeding_up.update(scene.stamp.time_s, others_now)
        self._memory, stops, caps, commitments = signal_constraints(
            route,
            ego,
            scene.lights,
            self._memory,
            reach,
            config.behavior,
            self._sights,
            lambda signal: observe_junction(route, signal, ego.front_s_m, self._graph, others_now),
        )
        unprotected = frozenset(signal_id for signal_id, _ in self._memory.unprotected)
        stops.append(StopTarget(route.length_m, Constraint(ConstraintKind.END_OF_ROUTE)))
        free = backward_pass(self._ceiling(route, ego.s_m, reach, caps), config.speed)
        first_stop_m = min(stop.s_m for stop in stops)
        at = self._progress
        on_road = EgoOnRoad(ego.s_m, at.cross_track_m, ego.speed_mps, impatience, turn_rad=at.heading_error_rad)
        local = self._local.plan(prediction, scene.lights, on_road, (free.s_m, free.speed_mps), first_stop_m)
        back = self._backing_up.update(scene.ego, scene.stamp, _where(local, at), prediction)
        if back is not None:
            self._last = None
            cause = _cause_of_pass(local)
            return Plan(scene.stamp, back, cause, ego.s_m, manoeuvre=Manoeuvre.BACK_UP, reverses=True)
        path = local.route
        if path is not route:
            free = backward_pass(self._ceiling(path, ego.s_m, reach, caps), config.speed)
        times = forward_times(free, ego.speed_mps, first_stop_m, speed_config)
        known = local.met | local.let_by | (local.passed & local.clear_of if local.is_passing else frozenset())
        unmet = _without(local.prediction, known)
        others = self._behavior.constraints(
            path, ego, unmet, free, times, self._yielding, unprotected, local.obstacles, speeding_up
        )
        limit_mps = float(route.speed_limit_mps[route.row_at(ego.s_m)])
        room_m = ROOM_M if local.is_about_to_pass else room_to_pass_m(limit_mps)
        gap_m, needs_all = config.speed.standstill_gap_m, self._local.is_beside_oncoming(ego.s_m)
        others = _with_room_to_pass(others, local.passed, ego, room_m, gap_m, needs_all=needs_all)
        stops += _wait_to_pass(local)
        caps = caps + others.caps + _slow_to_pass(local, ego.s_m) + _scheduled(local)
        self._yielding = others.yielding_to
        self._waits = bool(others.yielding_to) or local.waits_to_pass
        ceiling = self._ceiling(path, ego.s_m, reach, caps)
        start = (ego.s_m, planned_mps, planned_mps2)
        stops += others.stops
        motion = integrate_motion(ceiling, stops, others.leaders, start, speed_config)
        for commitment in commitments:
            if commitment.stop is not None and not _is_kept(commitment, motion):
                self._memory = self._memory.without_commitment(commitment.place)
                stops.append(commitment.stop)
                motion = integrate_motion(ceiling, stops, others.leaders, start, speed_config)
        self._last = (scene.stamp.time_s, motion)
        return self._to_plan(scene, local, motion, ego)

    def _start(self, ego: EgoState, time_s: float) -> tuple[float, float]:
        """Speed and acceleration that the new plan starts from."""
        measured = max(0.0, ego.speed_mps)
        if self._last is None:
            return measured, 0.0
        then, motion = self._last
        elapsed = time_s - then
        speed = float(np.interp(elapsed, motion.time_s, motion.speed_mps))
        if not 0.0 <= elapsed <= 0.5:
            return measured, float(np.clip(ego.accel_mps2, -self._config.speed.decel_firm_mps2, 0.0))
        slack = min(0.15 + 0.1 * measured, self._config.speed.reference_slack_mps)
        return float(np.clip(speed, measured - slack, measured + slack)), float(
            np.interp(elapsed, motion.time_s, motion.accel_mps2)
        )

    def _ceiling(self, route: Route, from_s_m: float, reach_m: float, caps: Sequence[SpeedCap]) -> SpeedCeiling:
        s = from_s_m + np.arange(int(reach_m / _GRID_M) + 1, dtype=np.float64) * _GRID_M
        config = self._config.speed
        rows = np.clip(np.searchsorted(route.s_m, s), 0, len(route.s_m) - 1)
        limit = route.speed_limit_mps[rows] * config.limit_factor
        curvature = route.curve.interpolate(s, route.curve.curvature_1pm)
        layers = [limit, curve_speed(curvature, config)]
        for cap in caps:
            layers.append(np.where((s >= cap.from_s_m) & (s <= cap.to_s_m), cap.speed_mps, np.inf))
        stack = np.stack(layers)
        return SpeedCeiling(s, stack.min(axis=0), _causes(stack, route.speed_limit_mps[rows], curvature, caps))

    def _to_plan(self, scene: Scene, local: LocalPath, motion: Motion, ego: EgoOnRoute) -> Plan:
        path = local.route
        poses = path.curve.pose_at(np.minimum(motion.s_m, path.length_m))
        curvature = path.curve.interpolate(motion.s_m, path.curve.curvature_1pm)
        indicator = indicator_at(self._indications, ego.s_m)
        if indicator is Indicator.OFF:
            indicator = local.indicator(ego.s_m, motion)
        return Plan(
            stamp=scene.stamp,
            trajectory=Trajectory.through(poses, curvature, motion.speed_mps, motion.accel_mps2, motion.time_s),
            constraint=motion.constraint,
            route_s_m=ego.s_m,
            is_accelerating=motion.is_accelerating,
            indicator=indicator,
            manoeuvre=local.manoeuvre,
            alternatives=local.alternatives,
        )


def _turn_radius_m(vehicle: VehicleParameters) -> float:
    """The radius of the tightest bend that plans use: with some steer in reserve for the control."""
    return max(_TURN_RADIUS_M, vehicle.wheelbase_m / math.tan(_STEER_SHARE * vehicle.steer_max_rad))


def _where(local: LocalPath, at: RouteProgress) -> Where:
    """Where the ego stands, for the decision to back up."""
    is_out = local.faces_oncoming and (abs(at.cross_track_m) > _OUT_M or abs(at.heading_error_rad) > _TURNED_RAD)
    wants_to_pass = bool(local.passed) and not local.pulls_out
    return Where(at.cross_track_m, at.heading_error_rad, local.room_m, is_out, wants_to_pass)


def _wait_to_pass(local: LocalPath) -> list[StopTarget]:
    """The stop at which the ego waits until it can pass."""
    if local.stop_s_m is None:
        return []
    return [StopTarget(local.stop_s_m, _cause_of_pass(local))]


def _slow_to_pass(local: LocalPath, s_m: float) -> list[SpeedCap]:
    """The lower speed with which the ego comes to what it passes, or makes room."""
    if local.slower_mps is None:
        return []
    cause = Constraint(ConstraintKind.OBSTACLE, _first(local.passed))
    if local.let_by:
        cause = Constraint(ConstraintKind.CROSSING_TRAFFIC, _first(local.let_by))
    return [SpeedCap(s_m + 0.5 * local.slower_mps, s_m + 2.0 * local.slower_mps, local.slower_mps, cause)]


def _scheduled(local: LocalPath) -> list[SpeedCap]:
    """Speed limits that keep the planned times of a pass, with a slack for the controller."""
    if local.schedule is None or not local.met:
        return []
    s_m, speed_mps = local.schedule
    cause = _cause_of_pass(local)
    most = np.maximum(speed_mps[1:], speed_mps[:-1]) + _SCHEDULE_SLACK_MPS
    spans = zip(s_m[:-1].tolist(), s_m[1:].tolist(), most.tolist(), strict=True)
    return [SpeedCap(low, high, speed, cause) for low, high, speed in spans if high > low]


def _cause_of_pass(local: LocalPath) -> Constraint:
    """The constraint of a pass: the road user that the ego passes; for an ego that pulls out, the one that it lets
    pass."""
    if local.pulls_out:
        return Constraint(ConstraintKind.CROSSING_TRAFFIC, _first(local.met))
    return Constraint(ConstraintKind.OBSTACLE, _first(local.passed))


def _without(prediction: Prediction, ids: frozenset[int]) -> Prediction:
    """`prediction` without some road users."""
    return replace(prediction, objects=tuple(one for one in prediction.objects if one.item.track_id not in ids))


def _first(ids: frozenset[int]) -> str:
    return str(min(ids)) if ids else ""


def _with_room_to_pass(
    others: Constraints, passed: frozenset[int], ego: EgoOnRoute, room_m: float, standstill_m: float, *, needs_all: bool
) -> Constraints:
    """`others` with a larger gap behind an obstacle that can be passed, since the ego has to steer around it.

    It brakes no harder than is comfortable for more room than it needs at least. Beside an oncoming lane it `needs_all`
    of it, since it starts from a stand there.
    """
    ids = {str(number) for number in passed}
    gently_m, firmly_m = (ego.speed_mps**2 / (2.0 * brakes) for brakes in _ROOM_MPS2)

    def gets_room(one: Leader) -> bool:
        stands = one.cause.kind is ConstraintKind.OBSTACLE
        seems_to_move = one.speed_mps < _SEEMS_MPS and ego.speed_mps < _NEAR_TO_HALT_MPS
        return one.cause.object_id in ids and (stands or seems_to_move)

    def shift_m(one: Leader) -> float:
        if needs_all:
            return room_m - standstill_m
        left_m = one.origin_s_m - ego.s_m - standstill_m
        least_m = min(min(room_m, room_to_pass_m(0.0)) - standstill_m, left_m - firmly_m)
        return max(min(room_m - standstill_m, left_m - gently_m), least_m, 0.0)

    leaders = [
        replace(one, origin_s_m=one.origin_s_m - shift_m(one)) if gets_room(one) else one for one in others.leaders
    ]
    return replace(others, leaders=leaders)


def _is_kept(commitment: Commitment, motion: Motion) -> bool:
    """Whether `motion` crosses the stop line in time: an ego that brakes for other traffic may meet the red."""
    reached = np.flatnonzero(motion.s_m >= commitment.line_s_m)
    return len(reached) > 0 and float(motion.time_s[reached[0]]) <= commitment.left_s


def _causes(
    layers: Float, limit_mps: Float, curvature_1pm: Float, caps: Sequence[SpeedCap]
) -> Callable[[int], Constraint]:
    def cause(row: int) -> Constraint:
        layer = int(np.argmin(layers[:, row]))
        if layer == 0:
            return Constraint(ConstraintKind.SPEED_LIMIT, value=float(limit_mps[row]))
        if layer == 1:
            return Constraint(ConstraintKind.CURVE, value=float(curvature_1pm[row]))
        return caps[layer - 2].cause

    return cause
