"""State machines for traffic lights and stop signs: pure functions that decide whether to stop.

Each takes a memory and an observation and returns the new memory and a decision. `signals` applies them to the signals
along the route.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from av_core.types import LightState, TrafficLightView
from planning.config import BehaviorConfig

FORBIDDING = (LightState.RED, LightState.YELLOW)
"""Light states at which the ego must not cross the stop line."""


@dataclass(frozen=True, slots=True)
class LightMemory:
    """What is remembered of the traffic light ahead.

    `committed`: the light turned yellow at `turned_at_s`, when the ego was too near to stop, so it drives through.
    `seen_at_s` is when `state` was last observed, `forbade_at_s` when the light was last seen red or yellow, `red_at_s`
    when it was last seen red.
    """

    state: LightState = LightState.UNKNOWN
    seen_at_s: float = float("-inf")
    committed: bool = False
    forbade_at_s: float = float("-inf")
    turned_at_s: float = float("-inf")
    red_at_s: float = float("-inf")


@dataclass(frozen=True, slots=True)
class LightDecision:
    """What to do at a traffic light.

    `stop`: stop at the line. `state`: the light state that the decision is based on. `cautious`: go slowly, because the
    light is off or not seen.
    """

    stop: bool
    state: LightState
    cautious: bool = False


def decide_light(
    memory: LightMemory,
    view: TrafficLightView | None,
    distance_m: float,
    speed_mps: float,
    time_s: float,
    config: BehaviorConfig,
    is_out_of_view: bool = False,
) -> tuple[LightMemory, LightDecision]:
    """Decide whether to stop for a traffic light whose stop place is `distance_m` ahead of the ego.

    * Red: stop.
    * Yellow: stop if braking with `yellow_decel_mps2` is enough. Otherwise commit to going, for as long as that is not
      enough: an ego that was slowed down since can stop after all.
    * Doubtful yellow (its confidence is low, or no other state was seen before it: near red lamps look orange): commit
      only if `sight_decel_mps2` is not enough either.
    * Red that seems to turn yellow, directly or less than `light_green_min_s` after the red: still red, since no light
      does that.
    * Unknown: the state seen in the last `light_memory_s` holds; a red or yellow holds for longer. Without such a state
      the light counts as red within `light_view_range_m` and is ignored beyond.
    * Out of view (`is_out_of_view`: the ego is too near to have the light in view): the green that let the ego come
      holds; after `light_blind_s` the ego goes on with caution.
    * Off: go with caution, unless the light was red or yellow in the last `light_broken_s`.

    Gazis, Herman, Maradudin (1960) on the dilemma zone.
    """
    seen = view.state if view is not None else LightState.UNKNOWN
    is_broken = seen is LightState.OFF and time_s - memory.forbade_at_s > config.light_broken_s
    state = memory.state if seen is LightState.OFF and not is_broken else seen
    seen_at = time_s
    if state is LightState.UNKNOWN:
        seen_at = memory.seen_at_s
        if is_out_of_view and memory.state is LightState.GREEN:
            return memory, LightDecision(False, LightState.GREEN, time_s - seen_at > config.light_blind_s)
        state = _remembered_state(memory, time_s - seen_at, config)
    if state not in FORBIDDING:
        stop = state is LightState.UNKNOWN and distance_m < config.light_view_range_m
        memory = LightMemory(state, seen_at, forbade_at_s=memory.forbade_at_s, red_at_s=memory.red_at_s)
        return memory, LightDecision(stop, state, state is LightState.OFF)
    was_red = memory.state is LightState.RED or time_s - memory.red_at_s < config.light_green_min_s
    if state is LightState.YELLOW and was_red and not memory.committed:
        state = LightState.RED
    turned = state is LightState.YELLOW and memory.state not in FORBIDDING
    decel_mps2 = config.sight_decel_mps2 if _is_doubtful(memory, view, turned, config) else config.yellow_decel_mps2
    able = speed_mps**2 <= 2.0 * decel_mps2 * max(distance_m, 0.0) + 0.25
    committed = (turned or memory.committed) and not able
    memory = LightMemory(
        state,
        seen_at,
        committed,
        forbade_at_s=time_s if seen in FORBIDDING else memory.forbade_at_s,
        turned_at_s=time_s if turned else memory.turned_at_s,
        red_at_s=time_s if seen is LightState.RED else memory.red_at_s,
    )
    return memory, LightDecision(not committed, state)


def _remembered_state(memory: LightMemory, unseen_s: float, config: BehaviorConfig) -> LightState:
    """The last state of a light that has not been seen for `unseen_s`; unknown if that was too long ago."""
    recent = unseen_s <= config.light_memory_s
    return memory.state if recent or memory.state in FORBIDDING else LightState.UNKNOWN


def _is_doubtful(memory: LightMemory, view: TrafficLightView | None, turned: bool, config: BehaviorConfig) -> bool:
    """Whether a yellow may be a red: its confidence is low, or no other state was seen before it `turned`."""
    is_weak = view is not None and view.state is LightState.YELLOW and view.confidence < config.yellow_sure
    return is_weak or (turned and memory.state is LightState.UNKNOWN)


class StopPhase(Enum):
    """Phases at a stop sign: drive up to the line, stand there, go."""

    APPROACH = "approach"
    WAIT = "wait"
    GO = "go"


@dataclass(frozen=True, slots=True)
class StopMemory:
    """The phase at a stop sign, and when it began."""

    phase: StopPhase = StopPhase.APPROACH
    since_s: float = 0.0


def decide_stop_sign(
    memory: StopMemory, distance_m: float, speed_mps: float, time_s: float, config: BehaviorConfig
) -> tuple[StopMemory, bool]:
    """Decide whether to stop for a stop sign whose stop place is `distance_m` ahead.

    The ego stands for `stop_sign_wait_s` within `stop_sign_zone_m` of that place, then goes.
    """
    if memory.phase is StopPhase.APPROACH and speed_mps < 0.1 and distance_m < config.stop_sign_zone_m:
        memory = StopMemory(StopPhase.WAIT, time_s)
    if memory.phase is StopPhase.WAIT and time_s - memory.since_s >= config.stop_sign_wait_s:
        memory = StopMemory(StopPhase.GO, time_s)
    return memory, memory.phase is not StopPhase.GO
