"""Decides what to do at a traffic light that the ego cannot see: wait, watch other traffic, then go with caution.

The head may hang outside every camera's picture (in a bend), be hidden by something, or be too small or broken to
read. As a driver would, the ego stops at the line. Then

* a vehicle that drives over a line of the same light shows that it is green: the ego goes with it, slowly;
* an ego that saw the light turn yellow goes when the light should be green again: CARLA's lights at a junction take
  turns of equal length;
* otherwise the ego goes after `unseen_wait_s`.

It goes only once nobody has been in its way for `unseen_clear_s`, as at an all-way stop. It drives slowly and gives way
to everyone, since other traffic cannot be assumed to have red.

As soon as the light is seen, these rules end, and the ego stops for red and yellow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from av_core.curve import Curve
from av_core.frames import map_to_vehicle
from av_core.types import LaneGraph, ObjectKind, Pose2D, SignalKind, TrackedObject
from planning.config import BehaviorConfig
from planning.reference_path import Route, RouteSignal

_ENTERED_M = (-2.0, 8.0)
"""Positions along the lane, relative to the stop line (positive beyond it), of a vehicle that has just crossed it."""

_SAME_WAY_RAD = 0.6
"""Largest angle between a vehicle's course and the lane for the same direction of travel."""

_LANE_HALF_M = 1.75
"""Half the width of a lane."""

_ROLLING_MPS, _MOVING_MPS = 1.0, 0.3
"""Least speed of a vehicle that enters a junction, and of a road user that counts as moving."""

_LOOK_S, _LOOK_STEP_S = 4.0, 0.5
"""Horizon and time step of the prediction with constant velocity."""

_CLEAR_M = 2.0
"""Distance to the path of the ego's rear axle that must be free: half the ego's width, and a metre."""

_BEYOND_M = 5.0
"""How far behind the junction the ego's way is checked."""

_TURN_S, _GREEN_S = 15.0, 10.0
"""Time from one green of a junction to the next (green, 3 s yellow, 2 s all red), and of green: CARLA's defaults."""

_GO_AFTER_S, _GO_UNTIL_S, _GOING_UNTIL_S = 1.0, 5.0, 7.0
"""When after the expected green an ego sets off, and until when one that has set off goes on to the line."""


@dataclass(frozen=True, slots=True)
class JunctionTraffic:
    """What other road users do at a traffic light.

    `is_entered`: a vehicle has just driven over one of its lines. `is_busy`: a road user moves on the ego's way through
    the junction, or is about to enter it. `lights` is the number of lights that take turns at the junction; 0: unknown.
    """

    is_entered: bool = False
    is_busy: bool = False
    lights: int = 0


@dataclass(frozen=True, slots=True)
class UnseenLightMemory:
    """What is remembered of a light that is not seen.

    `waits_since_s`: when the ego first stood before it. `has_started`: whether the ego has gone since. `entered_at_s`
    and `busy_at_s`: the last time at which `JunctionTraffic` was entered, and was busy.
    """

    waits_since_s: float = float("inf")
    entered_at_s: float = float("-inf")
    busy_at_s: float = float("-inf")
    has_started: bool = False


def decide_unseen_light(
    memory: UnseenLightMemory,
    is_waiting: bool,
    traffic: JunctionTraffic,
    time_s: float,
    config: BehaviorConfig,
    yellow_at_s: float = float("-inf"),
) -> tuple[UnseenLightMemory, bool]:
    """New memory, and whether the ego may go although it does not see the light.

    `is_waiting` is True while the ego stands near the line. `yellow_at_s` is when the ego saw the light turn yellow,
    -inf if it did not.
    """
    since_s, had_started = memory.waits_since_s, memory.has_started
    memory = UnseenLightMemory(
        time_s if is_waiting and since_s > time_s else since_s,
        time_s if traffic.is_entered else memory.entered_at_s,
        time_s if traffic.is_busy else memory.busy_at_s,
    )
    goes_along = time_s - memory.entered_at_s <= config.unseen_follow_s
    waited_s = time_s - memory.waits_since_s
    if traffic.lights and np.isfinite(yellow_at_s) and waited_s < 2.0 * config.unseen_wait_s:
        has_waited = _is_green_again(time_s - yellow_at_s, traffic.lights, had_started)
    else:
        has_waited = waited_s >= config.unseen_wait_s
    is_clear = time_s - memory.busy_at_s >= config.unseen_clear_s
    return memory, goes_along or (has_waited and is_clear)


def _is_green_again(since_yellow_s: float, lights: int, has_started: bool) -> bool:
    """Whether to go at a light that turned yellow `since_yellow_s` ago: it should have become green a moment ago.

    A yellow that was seen up to 3 s late still leads to a time of green.
    """
    in_cycle_s = (since_yellow_s + _GREEN_S) % (lights * _TURN_S)
    return _GO_AFTER_S <= in_cycle_s < (_GOING_UNTIL_S if has_started else _GO_UNTIL_S)


def observe_junction(
    route: Route, signal: RouteSignal, ego_front_s_m: float, graph: LaneGraph, objects: Sequence[TrackedObject]
) -> JunctionTraffic:
    """Observe what `objects` do at a traffic light ahead of the ego on its route."""
    lines = list(_stop_lines(graph, signal.signal_id))
    end_m = junction_end(route, signal.stop_s_m) + _BEYOND_M
    rows = slice(route.row_at(signal.stop_s_m), route.row_at(end_m) + 1, 2)
    way = route.curve.part(rows)
    return JunctionTraffic(
        any(_has_entered(item, lines) for item in objects),
        any(_crosses_path(item, way) and not _is_behind(item, route, ego_front_s_m) for item in objects),
        _lights_beside(graph, signal.signal_id),
    )


def junction_end(route: Route, line_s_m: float, reach_m: float = 15.0) -> float:
    """Arc length at which the route leaves the junction behind a line; the line's if none is within `reach_m`."""
    first, last = route.row_at(line_s_m), route.row_at(line_s_m + reach_m)
    inside = np.flatnonzero(route.is_junction[first : last + 1])
    if len(inside) == 0:
        return line_s_m
    outside = np.flatnonzero(~route.is_junction[first + inside[0] :])
    return float(route.s_m[first + inside[0] + outside[0]]) if len(outside) else route.length_m


def _lights_beside(graph: LaneGraph, signal_id: str) -> int:
    """The number of lights at the junction of a light, with itself; 0 if the map does not give its junction."""
    lights = [one for one in graph.signals if one.kind is SignalKind.TRAFFIC_LIGHT and one.lane in graph.lanes]
    of_light = {one.signal_id: graph.lanes[one.lane].junction_id for one in lights}
    junction_id = of_light.get(signal_id)
    return 0 if junction_id is None else sum(other == junction_id for other in of_light.values())


def _stop_lines(graph: LaneGraph, signal_id: str) -> Iterator[Pose2D]:
    """The middle of each stop line of the light, with the heading of its lane."""
    for signal in graph.signals:
        if signal.signal_id == signal_id and signal.kind is SignalKind.TRAFFIC_LIGHT and signal.lane in graph.lanes:
            yield Pose2D(*(float(value) for value in graph.lanes[signal.lane].curve.pose_at(signal.stop_s_m)))


def _has_entered(item: TrackedObject, lines: Sequence[Pose2D]) -> bool:
    """Whether a vehicle has just driven over one of the light's stop `lines`."""
    if item.kind is ObjectKind.PEDESTRIAN or item.speed_mps < _ROLLING_MPS:
        return False
    course = float(np.arctan2(item.velocity_mps[1], item.velocity_mps[0]))
    for line in lines:
        along, across = map_to_vehicle((item.x_m, item.y_m), line)
        same_way = np.cos(course - line.yaw_rad) > np.cos(_SAME_WAY_RAD)
        if same_way and _ENTERED_M[0] < along < _ENTERED_M[1] and abs(across) < _LANE_HALF_M:
            return True
    return False


def _crosses_path(item: TrackedObject, way: Curve) -> bool:
    """Whether a moving road user comes near a point of the ego's way within `_LOOK_S`, at its present velocity."""
    if item.speed_mps < _MOVING_MPS:
        return False
    times = np.arange(0.0, _LOOK_S + 1e-9, _LOOK_STEP_S)[:, None]
    along = item.length_m * np.array([-1.0, 0.0, 1.0]) / 3.0  # its front, middle and rear
    x = item.x_m + item.velocity_mps[0] * times + along * np.cos(item.yaw_rad)
    y = item.y_m + item.velocity_mps[1] * times + along * np.sin(item.yaw_rad)
    row = way.nearest(x, y)
    return float(np.hypot(x - way.x_m[row], y - way.y_m[row]).min()) < 0.5 * item.width_m + _CLEAR_M


def _is_behind(item: TrackedObject, route: Route, ego_front_s_m: float) -> bool:
    """Whether a road user is behind the ego's front, in the ego's lane."""
    at = route.curve.project(item.x_m, item.y_m, route.row_at(ego_front_s_m), follow_bend=False)
    return bool(at.s_m < route.s_m[at.row] and abs(at.d_m) < _LANE_HALF_M)
