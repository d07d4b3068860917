"""Compiled kernels of `speed`: the motion step by step, under a speed reference, a stop and leaders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64

from av_core.compiled import compiled, inner, records

LIMIT_NAMES = (
    "accel_max_mps2", "decel_comfort_mps2", "decel_firm_mps2", "decel_emergency_mps2", "jerk_max_mps3",
    "jerk_emergency_mps3", "response_s", "stop_response_s", "headway_s", "headway_full_mps", "following_response_s",
    "standstill_gap_m", "emergency_factor", "emergency_room_m", "step_s",
)  # fmt: skip
"""The fields of `SpeedConfig` that the kernels read."""

LIMIT = np.dtype([(name, np.float64) for name in LIMIT_NAMES])
LEADER = np.dtype([("origin_s_m", np.float64), ("speed_mps", np.float64)])

STOP = -1
"""The stop asks for the acceleration; `FIRST_LEADER` and lower numbers stand for the leaders, others for a row."""

FIRST_LEADER = -2

_CREEPING_MPS = 1.0
"""A slower ego creeps."""

_OPENING_MPS = 0.3
"""A gap opens if the leader is faster than the ego by more than this; measured speeds scatter by 0.3 m/s."""


@compiled("float64(float64, float64, float64, float64)")
def safe_speed(gap_m: float, ahead_mps: float, response_s: float, decel_mps2: float) -> float:
    """Gipps' safe speed: the ego can still stop behind a leader that brakes.

    Both brake with `decel_mps2`, the ego after `response_s`.

    Gipps (1981), "A behavioural car-following model for computer simulation".
    """
    lag = decel_mps2 * response_s
    root: float = np.sqrt(max(0.0, lag * lag + ahead_mps * ahead_mps + 2.0 * decel_mps2 * gap_m))
    return max(0.0, -lag + root)


@inner
def _reference_speed(speed_mps: Any, place: float) -> tuple[float, int]:
    """The reference at a place in steps from its first row, and the row at or before it."""
    low = min(max(int(place), 0), len(speed_mps) - 2)
    part = min(max(place - low, 0.0), 1.0)
    return speed_mps[low] + part * (speed_mps[low + 1] - speed_mps[low]), low


@inner
def _headway_s(ahead_mps: float, limit: Any) -> float:
    """Time headway: full behind a moving leader. A standing one cannot brake, so the response time is enough."""
    share = min(ahead_mps / limit.headway_full_mps, 1.0)
    headway: float = limit.stop_response_s + share * (limit.headway_s - limit.stop_response_s)
    return headway


@inner
def _accel_for_gap(
    gap: float, v: float, ahead: float, headway: float, response: float, room: float, limit: Any
) -> tuple[float, bool]:
    """(acceleration, whether it is an emergency) to keep `gap`; an emergency may use up `room` beyond it."""
    safe = safe_speed(gap, ahead, headway, limit.decel_comfort_mps2)
    closing = v - ahead
    # The rate at which the safe speed falls as the gap closes, plus feedback on the difference: this follows the
    # safe speed without lag. Feedback alone would overrun the stop by decel * response.
    slope = limit.decel_comfort_mps2 / (safe + limit.decel_comfort_mps2 * headway)
    wanted = -slope * closing + (safe - v) / response
    stops_at = safe_speed(gap + room, ahead, limit.stop_response_s, limit.decel_firm_mps2)
    if v < limit.headway_full_mps and closing < -_OPENING_MPS and v <= stops_at:
        # A short gap opens by itself. A slow ego that braked for it would stand in the way of those behind.
        return max(wanted, 0.0), False
    if v < 0.05 or closing <= 0.0:
        return max(wanted, -limit.decel_firm_mps2), False
    # The deceleration to stop, or to match a leader's speed, if part of the gap to be kept may be used up.
    needed = closing * closing / (2.0 * max(gap + room, 0.02))
    if needed > limit.decel_firm_mps2:
        return -min(needed * limit.emergency_factor, limit.decel_emergency_mps2), True
    return max(wanted, -limit.decel_firm_mps2), False


@inner
def _accel(
    speed_mps: Any, first_s_m: float, step_m: float, stop_s_m: float, leaders: Any, limit: Any, s: float, v: float,
    t: float,
) -> tuple[float, float, int]:  # fmt: skip
    """(wanted acceleration, jerk limit, what asks for it: a row of the reference, `STOP` or a leader)."""
    # Use the target speed one response time ahead if it is lower than here: slow down early, speed up late.
    here, row = _reference_speed(speed_mps, (s - first_s_m) / step_m)
    there, row_there = _reference_speed(speed_mps, (s + v * limit.response_s - first_s_m) / step_m)
    target, binding = (there, row_there) if there < here else (here, row)
    wanted = max((target - v) / limit.response_s, -limit.decel_firm_mps2)
    emergency = False
    if stop_s_m < np.inf:
        brake, hard = _accel_for_gap(
            stop_s_m - s, v, 0.0, limit.stop_response_s, limit.response_s, limit.emergency_room_m, limit
        )
        if brake < wanted:
            wanted, emergency, binding = brake, hard, STOP
    for number in range(len(leaders)):
        leader = leaders[number]
        # A slow ego waits until one that almost touches it is away: the measured speed says too little.
        is_at_it = leader.origin_s_m - s < limit.emergency_room_m and v < _CREEPING_MPS
        ahead_mps = 0.0 if is_at_it else leader.speed_mps
        gap = leader.origin_s_m + ahead_mps * t - s
        room = limit.standstill_gap_m - limit.emergency_room_m
        brake, hard = _accel_for_gap(
            gap - limit.standstill_gap_m, v, ahead_mps, _headway_s(ahead_mps, limit), limit.following_response_s, room,
            limit,
        )  # fmt: skip
        if brake < wanted:
            wanted, emergency, binding = brake, hard, FIRST_LEADER - number
    return wanted, limit.jerk_emergency_mps3 if emergency else limit.jerk_max_mps3, binding


@compiled((
    float64[::1], float64, float64, float64, records(LEADER), records(LIMIT), float64, float64, float64,
    float64[:, ::1],
))  # fmt: skip
def integrate(
    speed_mps: Any, first_s_m: float, step_m: float, stop_s_m: float, leaders: Any, limits: Any, s: float, v: float,
    a: float, rows: Any,
) -> Any:  # fmt: skip
    """Fill `rows` (N, 3) with arc length, speed and acceleration, one row for each time step from now on.

    `speed_mps` is the reference, every `step_m` from `first_s_m` on; `stop_s_m` is inf where there is no stop. Returns
    the acceleration wanted now, and what asks for it, as `_accel` does.
    """
    limit = limits[0]
    dt = limit.step_s
    wanted_now, _, binding_now = _accel(speed_mps, first_s_m, step_m, stop_s_m, leaders, limit, s, v, 0.0)
    for i in range(len(rows)):
        rows[i, 0], rows[i, 1], rows[i, 2] = s, v, a
        wanted, jerk, _ = _accel(speed_mps, first_s_m, step_m, stop_s_m, leaders, limit, s, v, i * dt)
        wanted = min(wanted, limit.accel_max_mps2)
        a = min(max(wanted, a - jerk * dt), a + jerk * dt)
        if v + a * dt < 0.0:
            a = -v / dt
        s += v * dt + 0.5 * a * dt * dt
        v = max(0.0, v + a * dt)
    return wanted_now, binding_now
