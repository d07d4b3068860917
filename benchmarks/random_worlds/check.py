"""What a plan must be, in any world: finite, within the limits of the car, and clear of what it was told about.

* **What stands**: the plan does not touch it, as far as the planner looks ahead, unless not even hard braking on the
  same path would avoid it. Then the plan has to brake as hard as it can.
* **What moves**: the plan does not use up the last chance. If hard braking from now on avoids a predicted collision,
  then so does the plan, or else hard braking after a step on the plan. If all plans are so, the ego never drives into
  anything that moves as predicted.

Some do not count: a road user that has to give way at a junction, or comes from behind the ego, since it sees the ego;
what touches the ego already; and what drives into an ego that stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, ObjectKind, Plan, PredictedMode, PredictedObject, Prediction, SignalKind
from benchmarks.random_worlds.world import CAR
from planning import PlanningConfig, Route

_CONFIG = PlanningConfig().speed

_MOST_MPS2, _JERK_MPS3 = _CONFIG.decel_emergency_mps2, _CONFIG.jerk_emergency_mps3
"""The hard braking that a plan is compared with: the hardest that the planner may ask for."""

_SLACK_MPS, _SLACK_MPS2 = 0.5, 0.05
"""By how much a speed may be above its limit, as the jerk is limited; and an acceleration, for rounding."""

_LATERAL_SHARE = 1.35
"""Largest lateral acceleration of a plan, as a share of the configured: the speed follows its limit with a delay."""

_BEFORE_JUNCTION_M, _CROSSING_SINE = 60.0, 0.6
"""Where the ego has a light, this far before it, those whose course is so much across its own have red."""

_STRETCH = 0.3
"""By how much a path beside the route may be longer or shorter than its stations say: on the inside of a bend."""

_STANDING_MPS = 0.3
"""An ego that is not faster stands."""

_SOON_S, _HARD_SHARE = 0.4, 0.9
"""A plan brakes hard if it does so after this time with this share of the hardest braking."""

STEP_S = 0.25
"""Time after which a plan is replaced by the next one."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How an ego may drive at the times of a plan: poses (N, 3) of its origin, and speeds (N,)."""

    poses: Float
    speed_mps: Float

    def until(self, count: int) -> _Way:
        return _Way(self.poses[:count], self.speed_mps[:count])


@dataclass(frozen=True, slots=True)
class _Touch:
    """When the ego and a road user touch, and whether the ego drives then."""

    time_s: float
    is_driving: bool


def faults(plan: Plan, prediction: Prediction, route: Route) -> Iterator[str]:
    """What is wrong with a plan, in words; nothing if it is right."""
    path, curve = plan.trajectory, plan.trajectory.curve
    columns = (curve.x_m, curve.y_m, curve.yaw_rad, curve.curvature_1pm, path.speed_mps, path.accel_mps2, path.time_s)
    if not all(np.isfinite(column).all() for column in columns):
        yield "a number is not finite"
        return
    yield from _beyond_limits(plan, route)
    yield from _collisions(plan, prediction, route)


def _collisions(plan: Plan, prediction: Prediction, route: Route) -> Iterator[str]:
    path, curve = plan.trajectory, plan.trajectory.curve
    start = np.array([curve.x_m[0], curve.y_m[0], curve.yaw_rad[0]])
    planned = _Way(np.column_stack([curve.x_m, curve.y_m, curve.yaw_rad]), path.speed_mps)
    seen = int(np.searchsorted(_front(curve.s_m), _look_ahead_m(float(path.speed_mps[0])))) + 1
    now, later = _braking_from(plan, 0.0), _braking_from(plan, STEP_S)
    for one in prediction.objects:
        if not one.modes:
            hit = _touch(planned.until(seen), path.time_s, one, None, prediction)
            if hit is None or _brakes_hard(plan):
                continue
            if _touch(now, path.time_s, one, None, prediction) is None:
                yield f"drives into {_name(one)} after {hit.time_s:.1f} s"
            else:
                yield f"does not brake hard before {_name(one)}"
        for mode in one.modes:
            if _is_behind(one, start) or _gives_way(mode, one, start, route):
                continue
            hit, late, last = (_touch(way, path.time_s, one, mode, prediction) for way in (planned, later, now))
            if last is None and hit is not None and hit.is_driving and late is not None and late.is_driving:
                yield f"drives into {_name(one)} after {hit.time_s:.1f} s, and cannot stop any more"


def _beyond_limits(plan: Plan, route: Route) -> Iterator[str]:
    path, curve = plan.trajectory, plan.trajectory.curve
    speed, accel = path.speed_mps, path.accel_mps2
    if (speed < 0.0).any():
        yield "drives backwards"
    if accel.max() > _CONFIG.accel_max_mps2 + _SLACK_MPS2 or accel.min() < -_MOST_MPS2 - _SLACK_MPS2:
        yield f"accelerates by {accel.min():.1f} to {accel.max():.1f} m/s2"
    rows = route.curve.rows_at(plan.route_s_m + curve.s_m)
    limit = np.maximum(np.maximum.accumulate(route.speed_limit_mps[rows]), speed[0])
    if (speed > limit + _SLACK_MPS).any():
        yield f"drives {np.max(speed - limit):.1f} m/s faster than the limit"
    steer_rad = CAR.steer_max_rad * np.interp(speed, *np.array(CAR.steer_curve).T)
    most_1pm = np.tan(np.minimum(steer_rad, 1.5)) / CAR.wheelbase_m
    if (np.abs(curve.curvature_1pm) > most_1pm).any():
        yield f"turns with {np.abs(curve.curvature_1pm).max():.2f} 1/m"
    lateral = speed**2 * np.abs(curve.curvature_1pm)
    brakes = (accel < -0.7 * _CONFIG.decel_comfort_mps2) | (path.time_s < _SOON_S)
    came_too_fast = np.minimum.accumulate(brakes)
    is_seen = curve.s_m < _look_ahead_m(float(speed[0]))
    too_much = (lateral > _LATERAL_SHARE * _CONFIG.lateral_accel_max_mps2) & is_seen & ~came_too_fast
    if too_much.any():
        yield f"lateral acceleration of {lateral[too_much].max():.1f} m/s2"
    on_route = plan.route_s_m + curve.s_m[1:] < route.length_m - 1.0  # a plan too fast to stop there ends there
    gap = on_route * np.abs(np.diff(curve.s_m) - 0.5 * (speed[1:] + speed[:-1]) * np.diff(path.time_s))
    if gap.max() > 0.3 + _STRETCH * np.abs(np.diff(curve.s_m)).max():
        yield f"jumps by {gap.max():.1f} m"


def _look_ahead_m(speed_mps: float) -> float:
    """How far the planner looks ahead: as far as configured, or as it needs to stop with comfort."""
    stopping_m = speed_mps**2 / (2.0 * _CONFIG.decel_comfort_mps2) + 3.0 * speed_mps
    return max(PlanningConfig().behavior.look_ahead_m, stopping_m)


def _front(s_m: Float) -> Float:
    return s_m + CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m


def _brakes_hard(plan: Plan) -> bool:
    """Whether a plan brakes as hard as it may, as soon as the jerk allows."""
    path = plan.trajectory
    then = path.time_s >= _SOON_S
    return bool((path.accel_mps2[then] < -_HARD_SHARE * _MOST_MPS2)[0] or path.speed_mps[then][0] < _SLACK_MPS)


def _braking_from(plan: Plan, from_s: float) -> _Way:
    """The way of an ego that follows it for a time, then brakes as hard as it can."""
    path, curve = plan.trajectory, plan.trajectory.curve
    step_s = float(path.time_s[1] - path.time_s[0])
    first = int(np.searchsorted(path.time_s, from_s - 1e-9))
    brakes_s = path.time_s[first:] - path.time_s[first]
    accel = np.maximum(min(float(path.accel_mps2[first]), 0.0) - _JERK_MPS3 * brakes_s, -_MOST_MPS2)
    braked = np.maximum(path.speed_mps[first] + np.concatenate([[0.0], np.cumsum(accel[1:])]) * step_s, 0.0)
    speed = np.concatenate([path.speed_mps[:first], braked])
    s = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * step_s)])
    columns = (curve.x_m, curve.y_m, curve.yaw_rad)
    return _Way(np.column_stack([np.interp(s, curve.s_m, column) for column in columns]), speed)


def _touch(
    ego: _Way, time_s: Float, one: PredictedObject, mode: PredictedMode | None, prediction: Prediction
) -> _Touch | None:
    """How an ego with a way at `time_s` first touches a road user; None if it does not, or if it does now."""
    item = one.item
    if mode is None:
        poses = np.tile([item.x_m, item.y_m, item.yaw_rad], (len(ego.poses), 1))
    else:
        ego = ego.until(int(np.searchsorted(time_s, prediction.horizon_s, side="right")))
        columns = (mode.x_m, mode.y_m, np.unwrap(mode.yaw_rad))
        now_s = time_s[: len(ego.poses)]
        poses = np.column_stack([np.interp(now_s, prediction.times_s, column) for column in columns])
    touches = overlaps(_centres(ego.poses), (CAR.length_m, CAR.width_m), poses, (item.length_m, item.width_m))
    first = int(np.argmax(touches))
    if not touches[first] or first == 0:
        return None
    return _Touch(float(time_s[first]), bool(ego.speed_mps[first] > _STANDING_MPS))


def _is_behind(one: PredictedObject, ego: Float) -> bool:
    """Whether the middle of a road user is behind that of the ego."""
    along = (one.item.x_m - ego[0]) * np.cos(ego[2]) + (one.item.y_m - ego[1]) * np.sin(ego[2])
    return bool(along < CAR.rear_axle_to_centre_m)


def _gives_way(mode: PredictedMode, one: PredictedObject, ego: Float, route: Route) -> bool:
    """Whether a road user is before a junction where it has a sign, or a red light as the ego has a light."""
    if not mode.on_approach:
        return False
    s_m = float(route.curve.project(*ego[:2]).s_m)
    has_light = any(
        signal.kind is SignalKind.TRAFFIC_LIGHT and -_BEFORE_JUNCTION_M < signal.stop_s_m - s_m < _BEFORE_JUNCTION_M
        for signal in route.signals
    )
    return mode.must_yield or (has_light and abs(float(np.sin(one.item.yaw_rad - ego[2]))) > _CROSSING_SINE)


def _centres(poses: Float) -> Float:
    along = CAR.rear_axle_to_centre_m
    return poses + along * np.column_stack([np.cos(poses[:, 2]), np.sin(poses[:, 2]), np.zeros(len(poses))])


def overlaps(a: Float, a_size_m: tuple[float, float], b: Float, b_size_m: tuple[float, float]) -> NDArray[np.bool_]:
    """(N,) Whether boxes with centres and headings `a` (N, 3) overlap boxes `b`: by the separating axis theorem."""
    away = b[:, :2] - a[:, :2]
    free = np.zeros(len(a), dtype=bool)
    for axis_yaw in (a[:, 2], b[:, 2]):
        for turn in (0.0, 0.5 * np.pi):
            axis = np.column_stack([np.cos(axis_yaw + turn), np.sin(axis_yaw + turn)])
            reach = np.zeros(len(a))
            for yaw, (length, width) in ((a[:, 2], a_size_m), (b[:, 2], b_size_m)):
                difference = axis_yaw + turn - yaw
                reach += 0.5 * (length * np.abs(np.cos(difference)) + width * np.abs(np.sin(difference)))
            free |= np.abs(np.sum(away * axis, axis=1)) > reach
    return np.asarray(~free)


def _name(one: PredictedObject) -> str:
    item = one.item
    motion = "moving" if one.modes else "standing"
    return f"a {motion} {ObjectKind(item.kind).value} ({item.length_m:.1f} x {item.width_m:.1f} m)"
