"""The study's manoeuvres as reference motions: a path, and a speed over time, scaled to what the road allows.

Each starts with `RUN_UP_S` straight ahead, which is not measured, and ends with `TAIL_S` straight ahead, in which an
oscillation would show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve

Float = NDArray[np.float64]

GRAVITY_MPS2 = 9.81
START_X_M = 19.57
RUN_UP_S, TAIL_S = 3.0, 6.0
SPACING_M = 0.25
STEP_S = 0.05
LATERAL_MAX_MPS2 = 0.3 * GRAVITY_MPS2
STEP_M = 1.0
LANE_M = 3.5
SINE_PERIOD_S = 5.0
ISO_CHANGE_M, ISO_HOLD_M, ISO_RETURN_M = 30.0, 25.0, 25.0
"""ISO 3888-1: lengths of the change to the other lane, of the way in it, and of the change back; kept in proportion."""

QUINTIC_PEAK = 10.0 / np.sqrt(3.0)
"""Peak lateral acceleration of a lane change by a quintic polynomial, over width / duration^2."""

RAMP_S = 1.0
ARC_S = 8.0
ROUND_S = 0.6
TURN_MAX_RAD = 3.0
"""The bend ends earlier where it would turn farther, so that no path crosses itself."""

NOISE = (0.05, 0.05, 0.003)
"""Standard deviations of the noise of the pose in `straight`: m, m, rad."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What is to be driven. The path is `before` in the run-up, then `path`; `speed_mps` is sampled every `STEP_S`."""

    name: str
    before: Curve
    path: Curve
    speed_mps: Float
    noise: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def steps(self) -> int:
        return len(self.speed_mps)

    def path_at(self, time_s: float) -> Curve:
        return self.before if time_s < RUN_UP_S else self.path

    def speed_at(self, time_s: Float | float) -> Float:
        return np.asarray(np.interp(time_s, STEP_S * np.arange(self.steps), self.speed_mps))


def straight(speed_mps: float, accel_mps2: float) -> Reference:
    """Straight ahead at one speed, with a noisy pose."""
    line = _line(speed_mps, 20.0)
    return Reference("straight", line, line, _steady(speed_mps, 20.0), NOISE)


def step(speed_mps: float, accel_mps2: float) -> Reference:
    """The path jumps 1 m to the left."""
    return Reference(
        "step", _line(speed_mps, 16.0), _line(speed_mps, 16.0, STEP_M), _steady(speed_mps, RUN_UP_S + 10.0)
    )


def lane_change(speed_mps: float, accel_mps2: float) -> Reference:
    """One lane to the left."""
    lasts_s = _change_s(accel_mps2)
    return _lateral("lane change", speed_mps, lasts_s, lambda t: LANE_M * _quintic(t / lasts_s))


def double_lane_change(speed_mps: float, accel_mps2: float) -> Reference:
    """One lane to the left and back, in ISO 3888-1's proportions; the sharper change back takes all of the limit."""
    back_s = _change_s(accel_mps2)
    out_s, hold_s = back_s * ISO_CHANGE_M / ISO_RETURN_M, back_s * ISO_HOLD_M / ISO_RETURN_M

    def aside(t: Float) -> Float:
        return LANE_M * (_quintic(t / out_s) - _quintic((t - out_s - hold_s) / back_s))

    return _lateral("double lane change", speed_mps, out_s + hold_s + back_s, aside)


def sine(speed_mps: float, accel_mps2: float) -> Reference:
    """Four periods of a sine, of which the first and the last grow and fade."""
    rate, lasts_s = 2.0 * np.pi / SINE_PERIOD_S, 4.0 * SINE_PERIOD_S

    def shape(t: Float) -> Float:
        window = _quintic(t / SINE_PERIOD_S) - _quintic((t - lasts_s + SINE_PERIOD_S) / SINE_PERIOD_S)
        return np.asarray(window * np.sin(rate * t))

    times = np.arange(0.0, lasts_s, STEP_S)
    peak = float(np.abs(np.gradient(np.gradient(shape(times), STEP_S), STEP_S)).max())
    return _lateral("sine", speed_mps, lasts_s, lambda t: accel_mps2 / peak * shape(t))


def curve(speed_mps: float, accel_mps2: float) -> Reference:
    """A bend of constant radius, into and out of which the curvature grows over a second."""
    turn_radps = accel_mps2 / speed_mps
    lasts_s = min(ARC_S, TURN_MAX_RAD / turn_radps - RAMP_S) + 2.0 * RAMP_S
    total_s = RUN_UP_S + lasts_s + TAIL_S
    s = np.arange(0.0, START_X_M + speed_mps * (total_s + 8.0), SPACING_M)
    t = (s - START_X_M) / speed_mps - RUN_UP_S
    curvature = accel_mps2 / speed_mps**2 * np.interp(t, [0.0, RAMP_S, lasts_s - RAMP_S, lasts_s], [0.0, 1.0, 1.0, 0.0])
    yaw = np.concatenate([[0.0], np.cumsum(0.5 * SPACING_M * (curvature[1:] + curvature[:-1]))])
    middle = 0.5 * (yaw[1:] + yaw[:-1])
    x = np.concatenate([[0.0], np.cumsum(SPACING_M * np.cos(middle))])
    y = np.concatenate([[0.0], np.cumsum(SPACING_M * np.sin(middle))])
    path = Curve(s, x, y, yaw, curvature)
    return Reference("curve", path, path, _steady(speed_mps, total_s))


def speed_steps(speed_mps: float, accel_mps2: float) -> Reference:
    """Straight ahead, 3 m/s slower and back, at up to 2 and 1 m/s^2, which come and go within `ROUND_S`."""
    brake, drive = min(2.0, 0.7 * accel_mps2), min(1.0, 0.35 * accel_mps2)
    slower = speed_mps - 3.0
    times = np.cumsum([0.0, RUN_UP_S + 1.0, 3.0 / brake, 4.0, 3.0 / drive, 6.0])
    t = np.arange(0.0, times[-1], STEP_S)
    corners = np.interp(t, times, [speed_mps, speed_mps, slower, slower, speed_mps, speed_mps])
    count = round(ROUND_S / STEP_S)
    padded = np.concatenate([np.full(count - count // 2 - 1, speed_mps), corners, np.full(count // 2, speed_mps)])
    line = _line(speed_mps, times[-1])
    return Reference("speed", line, line, np.convolve(padded, np.full(count, 1.0 / count), "valid"))


MANOEUVRES: tuple[Callable[[float, float], Reference], ...] = (
    straight, step, lane_change, double_lane_change, sine, curve, speed_steps,
)  # fmt: skip
"""Each makes the reference for a speed in m/s and a lateral acceleration in m/s^2."""


def _change_s(accel_mps2: float) -> float:
    return float(np.sqrt(QUINTIC_PEAK * LANE_M / accel_mps2))


def _quintic(share: Float) -> Float:
    """From 0 to 1 with zero slope and curvature at both ends."""
    u = np.clip(share, 0.0, 1.0)
    return np.asarray(u**3 * (10.0 - 15.0 * u + 6.0 * u**2))


def _lateral(name: str, speed_mps: float, lasts_s: float, aside: Callable[[Float], Float]) -> Reference:
    """A path with an offset over time, as driven at this speed along x."""
    total_s = RUN_UP_S + lasts_s + TAIL_S
    x = np.arange(0.0, START_X_M + speed_mps * (total_s + 8.0), SPACING_M)
    y = aside((x - START_X_M) / speed_mps - RUN_UP_S)
    path = Curve.through(x, y)
    return Reference(name, path, path, _steady(speed_mps, total_s))


def _line(speed_mps: float, lasts_s: float, y_m: float = 0.0) -> Curve:
    x = np.arange(0.0, START_X_M + speed_mps * (lasts_s + 8.0), SPACING_M)
    return Curve.through(x, np.full_like(x, y_m))


def _steady(speed_mps: float, lasts_s: float) -> Float:
    return np.full(round(lasts_s / STEP_S), speed_mps)
