"""The speed profile: the fastest motion that meets every constraint within acceleration and jerk limits.

`backward_pass` turns speed ceilings into a reference that can be braked for; `integrate_motion` integrates the motion
over time, taking the lowest acceleration that the reference, the stops and the leaders ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from av_core.types import Constraint, Float
from planning.config import SpeedConfig

_CREEPING_MPS = 1.0
"""A slower ego creeps."""


@dataclass(frozen=True, slots=True)
class StopTarget:
    """A place to stop: the origin of the vehicle frame stands at `s_m`."""

    s_m: float
    cause: Constraint


@dataclass(frozen=True, slots=True)
class Leader:
    """A road user ahead on the route; `origin_s_m` is where the ego's origin would be when touching it."""

    origin_s_m: float
    speed_mps: float
    cause: Constraint


@dataclass(frozen=True, slots=True)
class SpeedCeiling:
    """The speed limit (N,) at each arc length (N,), evenly spaced; `cause(row)` says what sets it."""

    s_m: Float
    speed_mps: Float
    cause: Callable[[int], Constraint]


@dataclass(frozen=True, slots=True)
class SpeedReference:
    """The speed reference after the backward pass: low enough everywhere to brake for every lower ceiling ahead.

    `binding` (N,) is the row of the ceiling that determines the speed at each point.
    """

    s_m: Float
    speed_mps: Float
    binding: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Motion:
    """The planned motion over time, all (N,): time from now, arc length, speed, acceleration.

    `constraint` is what limits it now, and `is_accelerating` says that the ego's own acceleration limits it more.
    """

    time_s: Float
    s_m: Float
    speed_mps: Float
    accel_mps2: Float
    constraint: Constraint
    is_accelerating: bool


def curve_speed(curvature_1pm: Float, config: SpeedConfig) -> Float:
    """Highest speed at which the lateral acceleration is within its limit."""
    speed: Float = np.sqrt(config.lateral_accel_max_mps2 / np.maximum(np.abs(curvature_1pm), 1e-5))
    return speed


def backward_pass(ceiling: SpeedCeiling, config: SpeedConfig) -> SpeedReference:
    """Lower `ceiling` so that comfortable braking meets it everywhere: one sweep with a running minimum.

    v(s)^2 = min over s' >= s of v_max(s')^2 + 2 b (s' - s), with b the comfortable deceleration.
    """
    slope = 2.0 * config.decel_comfort_mps2 * ceiling.s_m
    energy = (ceiling.speed_mps**2 + slope)[::-1]
    lowest = np.minimum.accumulate(energy)
    count = len(energy)
    at = np.maximum.accumulate(np.where(energy <= lowest, np.arange(count), 0))
    return SpeedReference(
        ceiling.s_m, np.sqrt(np.maximum(lowest[::-1] - slope, 0.0)), (count - 1 - at)[::-1].astype(np.int64)
    )


def forward_times(reference: SpeedReference, speed_mps: float, stop_s_m: float, config: SpeedConfig) -> Float:
    """When the ego reaches each point of `reference` if nobody is in its way (N,), s; inf beyond `stop_s_m`."""
    s = reference.s_m - reference.s_m[0]
    slope = 2.0 * config.accel_max_mps2 * s
    energy = reference.speed_mps**2 - slope
    energy[0] = min(energy[0], speed_mps**2)
    speed = np.sqrt(np.maximum(np.minimum.accumulate(energy) + slope, 0.0))
    mean = np.maximum(0.5 * (speed[1:] + speed[:-1]), 0.2)
    times = np.concatenate([[0.0], np.cumsum(np.diff(s) / mean)])
    # row 0 stays finite: the ego is there, even if that is beyond the stop
    times[1:][reference.s_m[1:] > stop_s_m + 0.5] = np.inf
    return times


def safe_speed(gap_m: float, ahead_mps: float, response_s: float, decel_mps2: float) -> float:
    """Gipps' safe speed: the ego can still stop behind a leader that brakes.

    Both brake with `decel_mps2`, the ego after `response_s`.

    Gipps (1981), "A behavioural car-following model for computer simulation".
    """
    lag = decel_mps2 * response_s
    return max(0.0, -lag + float(np.sqrt(max(0.0, lag * lag + ahead_mps**2 + 2.0 * decel_mps2 * gap_m))))


def integrate_motion(
    ceiling: SpeedCeiling,
    stops: Sequence[StopTarget],
    leaders: Sequence[Leader],
    start: tuple[float, float, float],
    config: SpeedConfig,
) -> Motion:
    """Integrate the motion forward in time from `start` = (arc length, speed, acceleration) under all constraints."""
    reference = backward_pass(ceiling, config)
    stop = min(stops, key=lambda target: target.s_m, default=None)
    binding = _ConstraintSelector(reference, ceiling, stop, leaders, config)
    s, v, a = start
    dt = config.step_s
    count = round(config.horizon_s / dt) + 1
    rows = np.zeros((count, 3))
    constraint, is_accelerating = binding.now(s, v)
    for i in range(count):
        rows[i] = s, v, a
        wanted, jerk, _ = binding.accel(s, v, i * dt)
        wanted = min(wanted, config.accel_max_mps2)
        a = min(max(wanted, a - jerk * dt), a + jerk * dt)
        if v + a * dt < 0.0:
            a = -v / dt
        s += v * dt + 0.5 * a * dt * dt
        v = max(0.0, v + a * dt)
    rows[0, 2] = (rows[1, 1] - rows[0, 1]) / dt
    return Motion(
        np.arange(count, dtype=np.float64) * dt, rows[:, 0], rows[:, 1], rows[:, 2], constraint, is_accelerating
    )


class _ConstraintSelector:
    """Finds the constraint that asks for the lowest acceleration at a given place, speed and time."""

    def __init__(
        self,
        reference: SpeedReference,
        ceiling: SpeedCeiling,
        stop: StopTarget | None,
        leaders: Sequence[Leader],
        config: SpeedConfig,
    ) -> None:
        self._speed = reference.speed_mps.tolist()
        self._first = float(reference.s_m[0])
        self._step = float(reference.s_m[1] - reference.s_m[0])
        self._reference, self._ceiling = reference, ceiling
        self._stop, self._leaders, self._config = stop, leaders, config

    def now(self, s: float, v: float) -> tuple[Constraint, bool]:
        """What limits the speed at the start, and whether the ego's own acceleration limits it more."""
        wanted, _, binding = self.accel(s, v, 0.0)
        if isinstance(binding, StopTarget):
            cause, at_s = binding.cause, binding.s_m
        elif isinstance(binding, Leader):
            cause, at_s = binding.cause, binding.origin_s_m
        else:
            row = int(self._reference.binding[binding])
            cause, at_s = self._ceiling.cause(row), float(self._reference.s_m[row])
        return replace(cause, distance_m=max(at_s - s, 0.0)), wanted > self._config.accel_max_mps2

    def accel(self, s: float, v: float, t: float) -> tuple[float, float, int | StopTarget | Leader]:
        """(wanted acceleration, jerk limit, what asks for it: a row of the reference, a stop or a leader)."""
        config = self._config
        # Use the target speed one response time ahead if it is lower than here: slow down early, speed up late.
        here, row = self._reference_speed(s)
        there, row_there = self._reference_speed(s + v * config.response_s)
        target, row = (there, row_there) if there < here else (here, row)
        wanted = max((target - v) / config.response_s, -config.decel_firm_mps2)
        binding: int | StopTarget | Leader = row
        emergency = False
        if self._stop is not None:
            gap = self._stop.s_m - s
            brake, hard = self._accel_for_gap(
                gap, v, 0.0, (config.stop_response_s, config.response_s), config.emergency_room_m
            )
            if brake < wanted:
                wanted, emergency, binding = brake, hard, self._stop
        for leader in self._leaders:
            # A slow ego waits until one that almost touches it is away: the measured speed says too little.
            is_at_it = leader.origin_s_m - s < config.emergency_room_m and v < _CREEPING_MPS
            ahead_mps = 0.0 if is_at_it else leader.speed_mps
            gap = leader.origin_s_m + ahead_mps * t - s
            brake, hard = self._accel_for_gap(
                gap - config.standstill_gap_m,
                v,
                ahead_mps,
                (self._headway_s(ahead_mps), config.following_response_s),
                config.standstill_gap_m - config.emergency_room_m,
            )
            if brake < wanted:
                wanted, emergency, binding = brake, hard, leader
        jerk = config.jerk_emergency_mps3 if emergency else config.jerk_max_mps3
        return wanted, jerk, binding

    def _headway_s(self, ahead_mps: float) -> float:
        """Time headway: full behind a moving leader. A standing one cannot brake, so the response time is enough."""
        config = self._config
        share = min(ahead_mps / config.headway_full_mps, 1.0)
        return config.stop_response_s + share * (config.headway_s - config.stop_response_s)

    def _reference_speed(self, s: float) -> tuple[float, int]:
        place = (s - self._first) / self._step
        low = min(max(int(place), 0), len(self._speed) - 2)
        part = min(max(place - low, 0.0), 1.0)
        return self._speed[low] + part * (self._speed[low + 1] - self._speed[low]), low

    def _accel_for_gap(
        self, gap: float, v: float, ahead: float, times_s: tuple[float, float], room: float
    ) -> tuple[float, bool]:
        """(acceleration, whether it is an emergency) to keep `gap`; an emergency may use up `room` beyond it."""
        headway, response = times_s
        config = self._config
        safe = safe_speed(gap, ahead, headway, config.decel_comfort_mps2)
        closing = v - ahead
        # The rate at which the safe speed falls as the gap closes, plus feedback on the difference: this follows the
        # safe speed without lag. Feedback alone would overrun the stop by decel * response.
        slope = config.decel_comfort_mps2 / (safe + config.decel_comfort_mps2 * headway)
        wanted = -slope * closing + (safe - v) / response
        if v < 0.05 or closing <= 0.0:
            return max(wanted, -config.decel_firm_mps2), False
        # The deceleration to stop, or to match a leader's speed, if part of the gap to be kept may be used up.
        needed = closing**2 / (2.0 * max(gap + room, 0.02))
        if needed > config.decel_firm_mps2:
            return -min(needed * config.emergency_factor, config.decel_emergency_mps2), True
        return max(wanted, -config.decel_firm_mps2), False
