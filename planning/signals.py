"""What the signals along the route ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from av_stack.types import ConstraintKind, LightState, SignalKind, TrafficLightView
from planning.config import BehaviorConfig
from planning.reference_path import Route, RouteSignal
from planning.rules import LightMemory, StopMemory, decide_light, decide_stop_sign
from planning.sight import Place
from planning.speed import Cause, StopTarget

_SIGHT_SLACK_M, _STANDING_SLACK_M = 0.5, 2.0
_STANDING_MPS = 0.3
_CAP_BEFORE_M, _CAP_AFTER_M = 5.0, 3.0


@dataclass(frozen=True, slots=True)
class SpeedCap:
    """No faster than `speed_mps` between two arc lengths."""

    from_s_m: float
    to_s_m: float
    speed_mps: float
    cause: Cause


@dataclass(frozen=True, slots=True)
class SignalMemory:
    """What is remembered of each signal, by id and place on the route (a route may pass one twice)."""

    lights: Mapping[Place, LightMemory] = field(default_factory=dict)
    stops: Mapping[Place, StopMemory] = field(default_factory=dict)

    def taken_back(self, place: Place) -> SignalMemory:
        """The same without the commitment to the light at `place`."""
        light = replace(self.lights[place], committed=False)
        return replace(self, lights={**self.lights, place: light})


@dataclass(frozen=True, slots=True)
class Commitment:
    """To a light that turned yellow: the ego's origin has to be at `line_s_m`, its front on the line, within `left_s`,
    else it stands at `stop`, which it can reach by firm braking; None where it cannot, or would not see the light."""

    place: Place
    line_s_m: float
    left_s: float
    stop: StopTarget | None


@dataclass(frozen=True, slots=True)
class EgoOnRoute:
    """The ego's place on the route, its body before and behind the rear axle, and the time."""

    s_m: float
    speed_mps: float
    front_m: float
    rear_m: float
    time_s: float

    @property
    def front_s_m(self) -> float:
        return self.s_m + self.front_m


_LIGHT_CAUSES = {
    LightState.RED: (ConstraintKind.RED_LIGHT, "red light"),
    LightState.YELLOW: (ConstraintKind.RED_LIGHT, "yellow light"),
    LightState.UNKNOWN: (ConstraintKind.UNSEEN_LIGHT, "unseen light"),
}


def signal_constraints(
    route: Route,
    ego: EgoOnRoute,
    lights: Mapping[str, TrafficLightView],
    memory: SignalMemory,
    reach_m: float,
    config: BehaviorConfig,
    sights: Mapping[Place, float] | None = None,
) -> tuple[SignalMemory, list[StopTarget], list[SpeedCap], list[Commitment]]:
    """Stops, caps and commitments from the signals between the ego's front bumper and `reach_m` ahead.

    `sights` says how far the ego may go and still see the lights that it would lose before their line.
    """
    stops: list[StopTarget] = []
    caps: list[SpeedCap] = []
    commitments: list[Commitment] = []
    light_memory: dict[Place, LightMemory] = {}
    stop_memory: dict[Place, StopMemory] = {}
    for signal in route.signals:
        if not ego.s_m - _CAP_AFTER_M < signal.stop_s_m < ego.s_m + reach_m:
            continue
        if signal.stop_s_m <= ego.front_s_m:
            caps.extend(_passing(signal, lights, config))
            continue
        place = (signal.signal_id, round(signal.stop_s_m))
        target_s = stop_place(route, signal.stop_s_m, config) - ego.front_m
        distance = target_s - ego.s_m
        if signal.kind is SignalKind.TRAFFIC_LIGHT:
            sight_s = min((sights or {}).get(place, target_s), target_s)
            light_memory[place], decision = decide_light(
                memory.lights.get(place, LightMemory()),
                lights.get(signal.signal_id),
                sight_s - ego.s_m,
                ego.speed_mps,
                ego.time_s,
                config,
                is_out_of_view=sight_s < target_s and ego.s_m > sight_s - _SIGHT_SLACK_M,
            )
            if decision.stop:
                stand_s = sight_s if _can_stand(ego, sight_s, config) else target_s
                stops.append(StopTarget(stand_s, _light_cause(signal, decision.state)))
            elif light_memory[place].committed:
                left_s = light_memory[place].turned_at_s + config.yellow_s - ego.time_s
                instead = StopTarget(sight_s, _light_cause(signal, LightState.YELLOW))
                can_stand = _can_stand(ego, sight_s, config)
                line_s = signal.stop_s_m - ego.front_m
                commitments.append(Commitment(place, line_s, left_s, instead if can_stand else None))
            elif decision.cautious:
                caps.append(_careful_cap(signal, decision.state, config))
        elif signal.kind is SignalKind.STOP:
            before = memory.stops.get(place, StopMemory())
            stop_memory[place], must_stop = decide_stop_sign(before, distance, ego.speed_mps, ego.time_s, config)
            if must_stop:
                stops.append(StopTarget(target_s, _sign_cause(signal)))
        else:
            caps.append(_cap(signal, config.yield_speed_mps, _sign_cause(signal)))
    return SignalMemory(light_memory, stop_memory), stops, caps, commitments


def _can_stand(ego: EgoOnRoute, sight_s_m: float, config: BehaviorConfig) -> bool:
    """Whether the ego can stop where it still sees the light; standing just behind that is as good."""
    slack = _STANDING_SLACK_M if ego.speed_mps < _STANDING_MPS else _SIGHT_SLACK_M
    room = sight_s_m + slack - ego.s_m
    return room > 0.0 and ego.speed_mps**2 <= 2.0 * config.sight_decel_mps2 * room


def stop_place(route: Route, line_s_m: float, config: BehaviorConfig) -> float:
    """Where the front bumper shall stand for a line: before it, and clear of the junction behind it.

    Maps that draw no stop lines have theirs at the junction's edge, where others who turn left cut the corner.
    """
    place = line_s_m - config.stop_line_gap_m
    low, high = np.searchsorted(route.s_m, [line_s_m - 1.0, line_s_m + config.junction_clearance_m])
    inside = np.flatnonzero(route.is_junction[low : high + 1])
    if len(inside) == 0:
        return place
    return min(place, float(route.s_m[low + inside[0]]) - config.junction_clearance_m)


def _passing(signal: RouteSignal, lights: Mapping[str, TrafficLightView], config: BehaviorConfig) -> list[SpeedCap]:
    """What still holds while the body is over the line."""
    view = lights.get(signal.signal_id)
    if signal.kind is SignalKind.YIELD:
        return [_cap(signal, config.yield_speed_mps, _sign_cause(signal))]
    if signal.kind is SignalKind.TRAFFIC_LIGHT and view is not None and view.state is LightState.OFF:
        return [_careful_cap(signal, view.state, config)]
    return []


def _careful_cap(signal: RouteSignal, state: LightState, config: BehaviorConfig) -> SpeedCap:
    """Slow over the line of a light that is off or out of view."""
    name = f"light {signal.signal_id}"
    if state is LightState.OFF:
        cause = Cause(ConstraintKind.OFF_LIGHT, f"{name} is off", signal.signal_id)
    else:
        cause = Cause(ConstraintKind.UNSEEN_LIGHT, f"{name} is out of view", signal.signal_id)
    return _cap(signal, config.off_light_speed_mps, cause)


def _cap(signal: RouteSignal, speed_mps: float, cause: Cause) -> SpeedCap:
    return SpeedCap(signal.stop_s_m - _CAP_BEFORE_M, signal.stop_s_m + _CAP_AFTER_M, speed_mps, cause)


def _light_cause(signal: RouteSignal, state: LightState) -> Cause:
    kind, words = _LIGHT_CAUSES[state]
    return Cause(kind, f"{words} {signal.signal_id}", signal.signal_id)


def _sign_cause(signal: RouteSignal) -> Cause:
    kind = ConstraintKind.STOP_SIGN if signal.kind is SignalKind.STOP else ConstraintKind.YIELD_SIGN
    return Cause(kind, f"{kind.value} {signal.signal_id}", signal.signal_id)
