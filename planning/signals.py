"""Applies the traffic lights, stop signs and yield signs along the route: stop targets and speed caps for the ego.

`signal_constraints` goes through the signals ahead; the decisions themselves are in `rules` and `unseen_light`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from av_core.types import Constraint, ConstraintKind, LightState, SignalKind, TrafficLightView
from planning.config import BehaviorConfig
from planning.reference_path import Route, RouteSignal
from planning.rules import FORBIDDING, LightDecision, LightMemory, StopMemory, decide_light, decide_stop_sign
from planning.sight import Place
from planning.speed import StopTarget
from planning.unseen_light import JunctionTraffic, UnseenLightMemory, decide_unseen_light, junction_end

_SIGHT_SLACK_M, _STANDING_SLACK_M = 0.5, 2.0
"""How far beyond the last place with a view of the light the ego may stop: while it drives, and if it stands."""

_SHORT_OF_SIGHT_M = 1.0
"""The ego aims this far before the last place with a view of the light: firm braking ends up to 1 m farther."""

_STANDING_MPS = 0.3
"""Speed below which the ego counts as standing."""

_STARTING_MPS2 = 0.5
"""Planned acceleration above which a standing ego begins to drive."""

_CAP_BEFORE_M, _CAP_AFTER_M = 5.0, 3.0
"""A speed cap at a stop line holds from this far before the line to this far behind it."""

_WATCH_M, _WAITING_M, _SHORT_OF_LINE_M = 12.0, 3.0, 0.5
"""Distances to the place to stand, and to the line.

Within `_WATCH_M` a light that is not seen is handled as unseen. Within `_WAITING_M` a standing ego counts as waiting
for it. `_SHORT_OF_LINE_M` is the gap to the line that the ego leaves after it has once started.
"""

_OVER_LINE_M, _HARD_MPS2 = 2.5, 5.0
"""How far over the line of a red or yellow light the ego may stay (farther on it would block others).

`_HARD_MPS2` is the deceleration for that, and the most with which the ego gives up driving through a yellow.
"""

_TAIL_M = 1.0
"""How far the ego's rear bumper has to be over the line before the light turns red: a tail that is nearer counts as
running it (CARLA's RunningRedLightTest)."""

ObserveJunction = Callable[[RouteSignal], JunctionTraffic]
"""Function that observes what other road users do at a traffic light."""


@dataclass(frozen=True, slots=True)
class SpeedCap:
    """A speed limit between two arc lengths of the route."""

    from_s_m: float
    to_s_m: float
    speed_mps: float
    cause: Constraint


@dataclass(frozen=True, slots=True)
class SignalMemory:
    """What is remembered of each signal, by id and place on the route (a route may pass a signal twice).

    `unprotected` are the lights at which the ego goes without having seen green, so that other traffic may have green
    too.
    """

    lights: Mapping[Place, LightMemory] = field(default_factory=dict)
    stops: Mapping[Place, StopMemory] = field(default_factory=dict)
    unseen: Mapping[Place, UnseenLightMemory] = field(default_factory=dict)
    unprotected: frozenset[Place] = frozenset()

    def without_commitment(self, place: Place) -> SignalMemory:
        """This memory without the commitment to the light at `place`."""
        light = replace(self.lights[place], committed=False)
        return replace(self, lights={**self.lights, place: light})


@dataclass(frozen=True, slots=True)
class Commitment:
    """The decision to drive through a light that turned yellow, and its alternative.

    It holds if the ego's origin is at `clear_s_m` (its tail over the line) within `left_s`. Otherwise the ego stops at
    `stop`: where it sees the light, or before the line. None where even hard braking is not enough.
    """

    place: Place
    clear_s_m: float
    left_s: float
    stop: StopTarget | None


@dataclass(frozen=True, slots=True)
class EgoOnRoute:
    """The ego's position and speed on the route, its extent before and behind the rear axle, and the time.

    `impatience` is from 0 to 1 (`patience`), and `accel_mps2` the acceleration that the last plan has for this moment.
    """

    s_m: float
    speed_mps: float
    front_m: float
    rear_m: float
    time_s: float
    impatience: float = 0.0
    accel_mps2: float = 0.0

    @property
    def front_s_m(self) -> float:
        return self.s_m + self.front_m

    @property
    def stands(self) -> bool:
        """Whether it stands, but for the noise of its measured speed."""
        return self.speed_mps < _STANDING_MPS

    @property
    def has_started(self) -> bool:
        """Whether it drives, or just begins to."""
        return self.speed_mps > _STANDING_MPS or self.accel_mps2 > _STARTING_MPS2

    @property
    def looks_closely(self) -> bool:
        """Whether it needs the places and times of conflicts exactly, because it wants to use small gaps."""
        return self.impatience > 0.0

    def deceleration_to_mps2(self, stop_s_m: float) -> float:
        """Deceleration needed to stop at an arc length; zero for an ego that already stands."""
        if self.stands:
            return 0.0
        return self.speed_mps**2 / (2.0 * max(stop_s_m - self.s_m, 0.01))

    def braked_s_m(self, decel_mps2: float) -> float:
        """Arc length at which it stands if it brakes with `decel_mps2` from now on."""
        return self.s_m + self.speed_mps**2 / (2.0 * decel_mps2)


_LIGHT_KINDS = {
    LightState.RED: ConstraintKind.RED_LIGHT,
    LightState.YELLOW: ConstraintKind.YELLOW_LIGHT,
    LightState.UNKNOWN: ConstraintKind.UNSEEN_LIGHT,
}


@dataclass(frozen=True, slots=True)
class _SignalInputs:
    """The inputs that are common to all signals; fields as in `signal_constraints`."""

    route: Route
    ego: EgoOnRoute
    lights: Mapping[str, TrafficLightView]
    memory: SignalMemory
    config: BehaviorConfig
    sights: Mapping[Place, float]
    observe: ObserveJunction


@dataclass(slots=True)
class _SignalConstraints:
    """The constraints from the signals, collected one by one, and the new memory of them."""

    stops: list[StopTarget] = field(default_factory=list)
    caps: list[SpeedCap] = field(default_factory=list)
    commitments: list[Commitment] = field(default_factory=list)
    lights: dict[Place, LightMemory] = field(default_factory=dict)
    signs: dict[Place, StopMemory] = field(default_factory=dict)
    unseen: dict[Place, UnseenLightMemory] = field(default_factory=dict)
    unprotected: set[Place] = field(default_factory=set)


def signal_constraints(
    route: Route,
    ego: EgoOnRoute,
    lights: Mapping[str, TrafficLightView],
    memory: SignalMemory,
    reach_m: float,
    config: BehaviorConfig,
    sights: Mapping[Place, float] | None = None,
    observe: ObserveJunction = lambda _: JunctionTraffic(),
) -> tuple[SignalMemory, list[StopTarget], list[SpeedCap], list[Commitment]]:
    """New memory, stops, speed caps and commitments from the signals ahead of the ego, up to `reach_m`.

    Some lights go out of view before their line: `sights` (from `sight_limits`) is the arc length up to which the ego
    still sees them. `observe` is called for lights that are not seen. A cap still holds while the body crosses the
    line.
    """
    inputs = _SignalInputs(route, ego, lights, memory, config, sights or {}, observe)
    result = _SignalConstraints()
    for signal in route.signals:
        place = _place(signal)
        if place in memory.unprotected and _is_in_junction(route, signal, ego):
            result.unprotected.add(place)
            if place in memory.unseen:
                result.unseen[place] = memory.unseen[place]
                result.caps.append(_unseen_cap(route, signal, config))
        if not ego.s_m - _CAP_AFTER_M < signal.stop_s_m < ego.s_m + reach_m:
            continue
        if signal.stop_s_m <= ego.front_s_m:
            result.caps.extend(_caps_over_line(signal, lights, config))
            if signal.kind is SignalKind.TRAFFIC_LIGHT:
                _hold_over_line(inputs, signal, result)
        elif signal.kind is SignalKind.TRAFFIC_LIGHT:
            _add_light(inputs, signal, result)
        else:
            _add_sign(inputs, signal, result)
    remembered = SignalMemory(result.lights, result.signs, result.unseen, frozenset(result.unprotected))
    return remembered, result.stops, result.caps, result.commitments


def _place(signal: RouteSignal) -> Place:
    return signal.signal_id, round(signal.stop_s_m)


def _add_light(inputs: _SignalInputs, signal: RouteSignal, result: _SignalConstraints) -> None:
    place, ego, config, view = _place(signal), inputs.ego, inputs.config, inputs.lights.get(signal.signal_id)
    target_s = stop_position_m(inputs.route, signal.stop_s_m, config) - ego.front_m
    sight_s = min(inputs.sights.get(place, target_s), target_s)
    light, decision = decide_light(
        inputs.memory.lights.get(place, LightMemory()),
        view,
        sight_s - ego.s_m,
        ego.speed_mps,
        ego.time_s,
        config,
        is_out_of_view=sight_s < target_s and ego.s_m > sight_s - _SIGHT_SLACK_M,
    )
    result.lights[place] = light
    can_stand = _can_wait_in_sight(ego, sight_s, config)
    watch_s = sight_s - _SHORT_OF_SIGHT_M if sight_s < target_s else target_s
    stand_s = watch_s if can_stand else target_s
    if decision.stop and _is_unseen(ego, stand_s, view, light, config):
        last = inputs.memory.unseen.get(place, UnseenLightMemory())
        result.unseen[place], may_go, stand_s = _decide_at_unseen_light(
            signal, inputs, stand_s, last, light.turned_at_s
        )
        decision = LightDecision(not may_go, LightState.UNKNOWN, may_go)
    if decision.cautious:
        result.unprotected.add(place)
    if decision.state is LightState.YELLOW:  # better just over the line than through it on red
        stand_s = max(stand_s, min(ego.braked_s_m(_HARD_MPS2), signal.stop_s_m - ego.front_m + _OVER_LINE_M))
    if decision.stop:
        result.stops.append(StopTarget(stand_s, _light_cause(signal, decision.state)))
    elif light.committed:
        can_stop = can_stand or ego.braked_s_m(_HARD_MPS2) <= stand_s
        result.commitments.append(_commitment(inputs, signal, light, stand_s if can_stop else None))
    elif place in result.unseen:
        result.caps.append(_unseen_cap(inputs.route, signal, config))
    elif decision.cautious:
        result.caps.append(_cautious_cap(signal, decision.state, config))


def _commitment(inputs: _SignalInputs, signal: RouteSignal, light: LightMemory, stop_s_m: float | None) -> Commitment:
    """To drive through a light that turned yellow, or to stop at `stop_s_m` instead (None: it cannot stop)."""
    left_s = light.turned_at_s + inputs.config.yellow_s - inputs.ego.time_s
    clear_s = signal.stop_s_m + inputs.ego.rear_m + _TAIL_M
    instead = None if stop_s_m is None else StopTarget(stop_s_m, _light_cause(signal, LightState.YELLOW))
    return Commitment(_place(signal), clear_s, left_s, instead)


def _hold_over_line(inputs: _SignalInputs, signal: RouteSignal, result: _SignalConstraints) -> None:
    """Stop an ego that is just over the line, if its tail would pass the line on red.

    That is the case if the light was red or yellow when the ego came to the line, or if it turns yellow now and the
    tail does not pass the line in time. The ego goes when it sees another state, or when it has not seen the light for
    `unseen_wait_s`.
    """
    place, ego, view = _place(signal), inputs.ego, inputs.lights.get(signal.signal_id)
    light = inputs.memory.lights.get(place)
    if light is None or place in inputs.memory.unprotected:
        return
    stop_s = ego.braked_s_m(_HARD_MPS2)
    if stop_s + ego.front_m - signal.stop_s_m > _OVER_LINE_M:
        return
    seen = view.state if view is not None else LightState.UNKNOWN
    if seen is LightState.UNKNOWN:
        if ego.time_s - light.seen_at_s > inputs.config.unseen_wait_s:
            return
    elif (light.state, seen) == (LightState.RED, LightState.YELLOW):  # no light does that
        light = replace(light, seen_at_s=ego.time_s)
    else:
        turned = seen is LightState.YELLOW and light.state not in FORBIDDING
        committed = turned or (light.committed and seen is LightState.YELLOW)
        turned_at_s = ego.time_s if turned else light.turned_at_s
        light = replace(light, state=seen, seen_at_s=ego.time_s, committed=committed, turned_at_s=turned_at_s)
    result.lights[place] = light
    if light.committed:
        result.commitments.append(_commitment(inputs, signal, light, stop_s))
    elif light.state in FORBIDDING:
        result.stops.append(StopTarget(stop_s, _light_cause(signal, light.state)))


def _add_sign(inputs: _SignalInputs, signal: RouteSignal, result: _SignalConstraints) -> None:
    if signal.kind is SignalKind.YIELD:
        result.caps.append(_cap(signal, inputs.config.yield_speed_mps, _sign_cause(signal)))
        return
    place, ego = _place(signal), inputs.ego
    clearance_m = inputs.config.stop_sign_clearance_m
    target_s = stop_position_m(inputs.route, signal.stop_s_m, inputs.config, clearance_m) - ego.front_m
    before = inputs.memory.stops.get(place, StopMemory())
    result.signs[place], must_stop = decide_stop_sign(
        before, target_s - ego.s_m, ego.speed_mps, ego.time_s, inputs.config
    )
    if must_stop:
        result.stops.append(StopTarget(target_s, _sign_cause(signal)))


def _is_in_junction(route: Route, signal: RouteSignal, ego: EgoOnRoute) -> bool:
    """Whether the ego is in the junction behind the line: its front past the line, its origin still in the junction."""
    return signal.stop_s_m <= ego.front_s_m and ego.s_m < junction_end(route, signal.stop_s_m)


def _decide_at_unseen_light(
    signal: RouteSignal, inputs: _SignalInputs, stand_s_m: float, last: UnseenLightMemory, yellow_at_s: float
) -> tuple[UnseenLightMemory, bool, float]:
    """Decide about a light that is not seen: (memory, whether to go, where to stand otherwise).

    An ego that has once started waits right before the line, and goes on if it can no longer stop there.
    """
    ego, config = inputs.ego, inputs.config
    is_waiting = ego.stands and stand_s_m - ego.s_m < _WAITING_M
    traffic = inputs.observe(signal)
    memory, may_go = decide_unseen_light(last, is_waiting, traffic, ego.time_s, config, yellow_at_s)
    if last.has_started:
        stand_s_m = max(stand_s_m, signal.stop_s_m - ego.front_m - _SHORT_OF_LINE_M)
        may_go = may_go or ego.braked_s_m(config.yellow_decel_mps2) > stand_s_m + _SHORT_OF_LINE_M
    return replace(memory, has_started=last.has_started or may_go), may_go, stand_s_m


def _is_unseen(
    ego: EgoOnRoute, stand_s_m: float, view: TrafficLightView | None, light: LightMemory, config: BehaviorConfig
) -> bool:
    """Whether the ego is near the place to stand and has not seen the light for `unseen_after_s`."""
    told = view is not None and view.state is not LightState.UNKNOWN
    is_near = stand_s_m - ego.s_m < _WATCH_M
    return not told and is_near and ego.time_s - light.seen_at_s >= config.unseen_after_s


def _can_wait_in_sight(ego: EgoOnRoute, sight_s_m: float, config: BehaviorConfig) -> bool:
    """Whether the ego can stop where it still sees the light; an ego that stands slightly beyond that stays there."""
    slack = _STANDING_SLACK_M if ego.stands else _SIGHT_SLACK_M
    room = sight_s_m + slack - ego.s_m
    return room > 0.0 and ego.speed_mps**2 <= 2.0 * config.sight_decel_mps2 * room


def stop_position_m(route: Route, line_s_m: float, config: BehaviorConfig, clearance_m: float | None = None) -> float:
    """Arc length at which the front bumper stops for a line: before the line, and clear of the junction behind it.

    On maps without drawn stop lines the line is at the edge of the junction, where left-turning traffic cuts the
    corner. `clearance_m` is the distance from that edge, and at most that from the line; None means
    `junction_clearance_m`.
    """
    clearance_m = config.junction_clearance_m if clearance_m is None else clearance_m
    place = line_s_m - min(config.stop_line_gap_m, clearance_m)
    low, high = np.searchsorted(route.s_m, [line_s_m - 1.0, line_s_m + clearance_m])
    inside = np.flatnonzero(route.is_junction[low : high + 1])
    if len(inside) == 0:
        return place
    return min(place, float(route.s_m[low + inside[0]]) - clearance_m)


def _caps_over_line(
    signal: RouteSignal, lights: Mapping[str, TrafficLightView], config: BehaviorConfig
) -> list[SpeedCap]:
    """Speed caps that still hold while the ego's body is over the line."""
    view = lights.get(signal.signal_id)
    if signal.kind is SignalKind.YIELD:
        return [_cap(signal, config.yield_speed_mps, _sign_cause(signal))]
    if signal.kind is SignalKind.TRAFFIC_LIGHT and view is not None and view.state is LightState.OFF:
        return [_cautious_cap(signal, view.state, config)]
    return []


def _cautious_cap(signal: RouteSignal, state: LightState, config: BehaviorConfig) -> SpeedCap:
    """Speed cap over the line of a light that is off or out of view."""
    kind = ConstraintKind.OFF_LIGHT if state is LightState.OFF else ConstraintKind.LIGHT_OUT_OF_VIEW
    return _cap(signal, config.off_light_speed_mps, Constraint(kind, signal.signal_id))


def _unseen_cap(route: Route, signal: RouteSignal, config: BehaviorConfig) -> SpeedCap:
    """Speed cap over the line and through the junction, for a light that was not seen."""
    end_m = max(junction_end(route, signal.stop_s_m), signal.stop_s_m + _CAP_AFTER_M)
    cause = Constraint(ConstraintKind.LIGHT_NOT_SEEN, signal.signal_id)
    return SpeedCap(signal.stop_s_m - _CAP_BEFORE_M, end_m, config.off_light_speed_mps, cause)


def _cap(signal: RouteSignal, speed_mps: float, cause: Constraint) -> SpeedCap:
    return SpeedCap(signal.stop_s_m - _CAP_BEFORE_M, signal.stop_s_m + _CAP_AFTER_M, speed_mps, cause)


def _light_cause(signal: RouteSignal, state: LightState) -> Constraint:
    return Constraint(_LIGHT_KINDS[state], signal.signal_id)


def _sign_cause(signal: RouteSignal) -> Constraint:
    kind = ConstraintKind.STOP_SIGN if signal.kind is SignalKind.STOP else ConstraintKind.YIELD_SIGN
    return Constraint(kind, signal.signal_id)
