"""The speed profile: the fastest motion that meets every constraint within acceleration and jerk limits.

`backward_pass` turns speed ceilings into a reference that can be braked for; `integrate_motion` integrates the motion
over time, taking the lowest acceleration that the reference, the stops and the leaders ask for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from av_core.types import Constraint, Float
from planning.config import SpeedConfig
from planning.speed_kernel import FIRST_LEADER, LEADER, LIMIT, LIMIT_NAMES, STOP, integrate


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
    limits = np.array([tuple(getattr(config, name) for name in LIMIT_NAMES)], dtype=LIMIT)
    ahead = np.array([(leader.origin_s_m, leader.speed_mps) for leader in leaders], dtype=LEADER)
    first, step = float(reference.s_m[0]), float(reference.s_m[1] - reference.s_m[0])
    rows = np.empty((round(config.horizon_s / config.step_s) + 1, 3))
    if not all(map(math.isfinite, start)):
        raise ValueError(f"no motion starts from (arc length, speed, acceleration) = {start}")
    wanted, binding = integrate(
        reference.speed_mps, first, step, np.inf if stop is None else stop.s_m, ahead, limits, *start, rows
    )
    if binding == STOP:
        assert stop is not None
        cause, at_s = stop.cause, stop.s_m
    elif binding < STOP:
        leader = leaders[FIRST_LEADER - binding]
        cause, at_s = leader.cause, leader.origin_s_m
    else:
        row = int(reference.binding[binding])
        cause, at_s = ceiling.cause(row), float(reference.s_m[row])
    rows[0, 2] = (rows[1, 1] - rows[0, 1]) / config.step_s
    time_s = np.arange(len(rows), dtype=np.float64) * config.step_s
    constraint = replace(cause, distance_m=max(at_s - start[0], 0.0))
    return Motion(time_s, rows[:, 0], rows[:, 1], rows[:, 2], constraint, wanted > config.accel_max_mps2)
