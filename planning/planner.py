"""The planner: turns each `Scene` and its `Prediction` into a `Plan` (poses, speeds, times) along the route.

One step of `Planner.plan`:

1. track the ego on the route (`route_tracker`);
2. collect the constraints from lights and signs (`signals`);
3. choose a path (`local.path_planner`);
4. collect the constraints from road users (`traffic.behavior`);
5. decide what the ego does (`behaviour`);
6. roll out the fastest motion that meets all constraints (`speed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from av_core.errors import RouteError
from av_core.types import (
    Behaviour,
    CameraModel,
    Constraint,
    ConstraintKind,
    Decision,
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
from planning.behaviour import decide
from planning.config import PlanningConfig, SpeedConfig
from planning.demands import RouteDemands, caps_on, cause_of_backing_up, stops_on, with_demands, with_room_to_pass
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
    Motion,
    SpeedCeiling,
    SpeedReference,
    StopTarget,
    backward_pass,
    curve_speed,
    forward_times,
    integrate_motion,
)
from planning.traffic.behavior import Constraints, TrafficBehavior
from planning.traffic.patience import Patience, counted_on, driven_with
from planning.traffic.speeding_up import SpeedingUp
from planning.unseen_light import observe_junction

_GRID_M = 0.5
"""Spacing of the speed profile along the route."""

_TURN_RADIUS_M, _STEER_SHARE = 6.5, 0.8
"""Radius of the tightest bend of a plan, and the share of the largest steer that it uses at most."""

_OUT_M, _TURNED_RAD = 0.5, 0.15
"""Offset from the route, and turn, from which on the ego is leaving its lane."""


@dataclass(frozen=True, slots=True)
class _OnRoute:
    """What belongs to one route."""

    route: Route
    tracker: RouteTracker
    local: LocalPlanner
    backing_up: BackingUp


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
        self._on: _OnRoute | None = None
        self._progress: RouteProgress | None = None
        self._memory = SignalMemory()
        self._sights: dict[Place, float] = {}
        self._indications: tuple[Indication, ...] = ()
        self._now = Behaviour.FOLLOW_LANE
        self._yielding: frozenset[int] = frozenset()
        self._last: tuple[float, Motion] | None = None
        self._patience = Patience()
        self._speeding_up = SpeedingUp()
        self._waits = False
        self._run_up_m = math.inf

    @property
    def _front_m(self) -> float:
        """Distance from the rear axle to the front bumper."""
        return self._vehicle.rear_axle_to_centre_m + 0.5 * self._vehicle.length_m

    @property
    def route(self) -> Route | None:
        return None if self._on is None else self._on.route

    @property
    def progress(self) -> RouteProgress | None:
        """Where the ego was on the route at the last `plan`."""
        return self._progress

    def set_route(self, route: Route) -> None:
        self._indications = indications(route, self._graph)
        junctions = junctions_of(route, self._graph, self._vehicle.width_m, self._config.behavior)
        self._behavior = TrafficBehavior(self._vehicle.width_m, self._config.behavior, junctions)
        self._memory = SignalMemory()
        if self._cameras:
            posts = {signal.signal_id: signal.place for signal in self._graph.signals if signal.place is not None}
            self._sights = sight_limits(route, posts, self._cameras, self._front_m)
        self._now = Behaviour.FOLLOW_LANE
        self._yielding = frozenset()
        self._last = None
        self._patience = Patience()
        self._speeding_up = SpeedingUp()
        self._waits = False
        self._run_up_m = math.inf
        rear_m = 0.5 * self._vehicle.length_m - self._vehicle.rear_axle_to_centre_m
        view = FrontView.of(self._cameras[0]) if self._cameras else None
        body = Body(self._front_m, rear_m, self._vehicle.width_m, _turn_radius_m(self._vehicle))
        local = LocalPlanner(route, self._graph, body, view)
        self._on = _OnRoute(route, RouteTracker(route), local, BackingUp(body))

    def plan(self, scene: Scene, prediction: Prediction) -> Plan:
        """Plan the motion from now on; `prediction` is of `scene`. Raises `RouteError` when no route is set."""
        if self._on is None:
            raise RouteError("no route is set: call set_route before plan")
        route, at = self._on.route, self._on.tracker.update(scene.ego)
        self._progress = at
        planned_mps, planned_mps2 = self._start(scene.ego, scene.stamp.time_s)
        ego = self._ego_on_route(scene, at, planned_mps2)
        reach_m = max(
            self._config.behavior.look_ahead_m,
            ego.speed_mps**2 / (2.0 * self._config.speed.decel_comfort_mps2) + 3.0 * ego.speed_mps,
        )
        speeding_up = self._speeding_up.update(ego.time_s, [one.item for one in prediction.objects])
        demands = self._signals(route, ego, scene, prediction, reach_m)
        counted = self._counted_on(ego)
        free = backward_pass(self._ceiling(route, ego, reach_m, demands.caps, counted), self._config.speed)
        on_road = EgoOnRoad(
            ego.s_m,
            at.cross_track_m,
            ego.speed_mps,
            ego.impatience,
            turn_rad=at.heading_error_rad,
            accel_mps2=ego.accel_mps2,
        )
        top_speed = free.s_m, free.speed_mps
        local = self._on.local.plan(prediction, scene.lights, on_road, top_speed, demands.first_stop_m, self._now)
        back = self._on.backing_up.update(scene.ego, scene.stamp, _where(local, at, self._run_up_m), prediction)
        situation = replace(local.situation, backs_up=back is not None)
        decision = decide(self._now, situation)
        if back is not None and decision.behaviour is Behaviour.BACK_UP:
            self._now, self._last = decision.behaviour, None
            return _back_up(scene, local, back, ego, decision, self._yielding)
        if local.route is not route:
            free = backward_pass(self._ceiling(local.route, ego, reach_m, demands.caps, counted), self._config.speed)
        others = self._traffic(local, ego, free, demands.first_stop_m, speeding_up)
        decision = decide(self._now, with_demands(situation, ego, others, demands))
        motion = self._motion(self._on.local, local, ego, planned_mps, reach_m, others, demands)
        self._now, self._last = decision.behaviour, (ego.time_s, motion)
        self._yielding = others.yielding_to
        self._waits = bool(others.yielding_to) or local.waits_to_pass
        self._run_up_m = others.run_up_m
        return self._drive(scene, local, motion, ego, decision)

    def _ego_on_route(self, scene: Scene, at: RouteProgress, planned_mps2: float) -> EgoOnRoute:
        vehicle, time_s, speed_mps = self._vehicle, scene.stamp.time_s, max(0.0, scene.ego.speed_mps)
        return EgoOnRoute(
            s_m=at.s_m,
            speed_mps=speed_mps,
            front_m=self._front_m,
            rear_m=0.5 * vehicle.length_m - vehicle.rear_axle_to_centre_m,
            time_s=time_s,
            impatience=self._patience.update(time_s, speed_mps, self._waits),
            accel_mps2=planned_mps2,
        )

    def _signals(
        self, route: Route, ego: EgoOnRoute, scene: Scene, prediction: Prediction, reach_m: float
    ) -> RouteDemands:
        """What the signals and the end of the route demand of the speed."""
        others_now = [one.item for one in prediction.objects]
        self._memory, stops, caps, commitments = signal_constraints(
            route,
            ego,
            scene.lights,
            self._memory,
            reach_m,
            self._config.behavior,
            self._sights,
            lambda signal: observe_junction(route, signal, ego.front_s_m, self._graph, others_now),
        )
        stops.append(StopTarget(route.length_m, Constraint(ConstraintKind.END_OF_ROUTE)))
        return RouteDemands(stops, caps, commitments)

    def _traffic(
        self, local: LocalPath, ego: EgoOnRoute, free: SpeedReference, first_stop_m: float, speeding_up: frozenset[int]
    ) -> Constraints:
        """What others demand of the speed, but for those that the local path takes into account already."""
        times = forward_times(free, ego.speed_mps, first_stop_m, self._counted_on(ego))
        known = local.met | local.let_by | (local.passed & local.clear_of if local.is_passing else frozenset())
        unprotected = frozenset(signal_id for signal_id, _ in self._memory.unprotected)
        return self._behavior.constraints(
            local.route,
            ego,
            _without(local.prediction, known),
            free,
            times,
            self._yielding,
            unprotected,
            local.obstacles,
            speeding_up,
        )

    def _motion(
        self,
        local_planner: LocalPlanner,
        local: LocalPath,
        ego: EgoOnRoute,
        planned_mps: float,
        reach_m: float,
        others: Constraints,
        demands: RouteDemands,
    ) -> Motion:
        """The fastest motion along the local path that meets all demands. No behaviour switches one of them off."""
        route, config = local_planner.route, self._driven_with(ego)
        limit_mps = float(route.speed_limit_mps[route.row_at(ego.s_m)])
        room_m = ROOM_M if local.is_about_to_pass else room_to_pass_m(limit_mps)
        needs_all = local_planner.is_beside_oncoming(ego.s_m)
        others = with_room_to_pass(
            others, local.passed, ego, room_m, self._config.speed.standstill_gap_m, needs_all=needs_all
        )
        caps = demands.caps + others.caps + caps_on(local, ego.s_m)
        ceiling = self._ceiling(local.route, ego, reach_m, caps, config)
        stops = demands.stops + stops_on(local) + others.stops
        start = (ego.s_m, planned_mps, ego.accel_mps2)
        motion = integrate_motion(ceiling, stops, others.leaders, start, config)
        for commitment in demands.commitments:
            if commitment.stop is not None and not _is_kept(commitment, motion):
                self._memory = self._memory.without_commitment(commitment.place)
                stops.append(commitment.stop)
                motion = integrate_motion(ceiling, stops, others.leaders, start, config)
        return motion

    def _counted_on(self, ego: EgoOnRoute) -> SpeedConfig:
        """The limits of the speed profile that the ego expects to drive with."""
        return counted_on(self._config.speed) if ego.impatience > 0.0 else self._config.speed

    def _driven_with(self, ego: EgoOnRoute) -> SpeedConfig:
        """The limits of the speed profile of the plan."""
        return driven_with(self._config.speed) if ego.impatience > 0.0 else self._config.speed

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

    def _ceiling(
        self, route: Route, ego: EgoOnRoute, reach_m: float, caps: Sequence[SpeedCap], config: SpeedConfig
    ) -> SpeedCeiling:
        s = ego.s_m + np.arange(int(reach_m / _GRID_M) + 1, dtype=np.float64) * _GRID_M
        rows = np.clip(np.searchsorted(route.s_m, s), 0, len(route.s_m) - 1)
        limit = route.speed_limit_mps[rows] * config.limit_factor
        curvature = route.curve.interpolate(s, route.curve.curvature_1pm)
        layers = [limit, curve_speed(curvature, config)]
        for cap in caps:
            layers.append(np.where((s >= cap.from_s_m) & (s <= cap.to_s_m), cap.speed_mps, np.inf))
        stack = np.stack(layers)
        return SpeedCeiling(s, stack.min(axis=0), _causes(stack, route.speed_limit_mps[rows], curvature, caps))

    def _drive(self, scene: Scene, local: LocalPath, motion: Motion, ego: EgoOnRoute, decision: Decision) -> Plan:
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
            decision=decision,
        )


def _back_up(
    scene: Scene, local: LocalPath, back: Trajectory, ego: EgoOnRoute, decision: Decision, yielding_to: frozenset[int]
) -> Plan:
    return Plan(
        stamp=scene.stamp,
        trajectory=back,
        constraint=cause_of_backing_up(local, yielding_to),
        route_s_m=ego.s_m,
        manoeuvre=Manoeuvre.BACK_UP,
        reverses=True,
        decision=decision,
    )


def _turn_radius_m(vehicle: VehicleParameters) -> float:
    """The radius of the tightest bend that plans use: with some steer in reserve for the control."""
    return max(_TURN_RADIUS_M, vehicle.wheelbase_m / math.tan(_STEER_SHARE * vehicle.steer_max_rad))


def _where(local: LocalPath, at: RouteProgress, run_up_m: float) -> Where:
    """Where the ego stands, for the decision to back up."""
    is_out = local.faces_oncoming and (abs(at.cross_track_m) > _OUT_M or abs(at.heading_error_rad) > _TURNED_RAD)
    wants_to_pass = bool(local.passed) and not local.pulls_out
    return Where(at.cross_track_m, at.heading_error_rad, local.room_m, is_out, wants_to_pass, run_up_m)


def _without(prediction: Prediction, ids: frozenset[int]) -> Prediction:
    """`prediction` without some road users."""
    return replace(prediction, objects=tuple(one for one in prediction.objects if one.item.track_id not in ids))


def _is_kept(commitment: Commitment, motion: Motion) -> bool:
    """Whether `motion` clears the stop line in time: an ego that brakes for a bend or for others may meet the red."""
    reached_s = float(np.interp(commitment.clear_s_m, motion.s_m, motion.time_s, right=np.inf))
    return reached_s <= commitment.left_s


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
