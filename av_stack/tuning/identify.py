"""Measures the response of a server's car to steering and pedals, on open ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.errors import WorldError
from av_core.frames import wrap_angle
from av_core.types import ControlCommand, EgoState
from av_stack.world.carla.open_ground import OpenGround
from av_stack.world.spec import DEFAULT_STEP_S
from control.lateral import wheel_angle_limit

Float = NDArray[np.float64]
Tell = Callable[[str, float], None]
"""Function (name of the present measurement, share of the work that is done) that shows the progress."""

TURN_SPEEDS_MPS = (10.0, 15.0, 20.0, 25.0)
TURN_MPS2 = 2.0
"""Lateral acceleration of the steering tests, by the wheels' geometry."""

TURN_STEPS, STEADY_STEPS = 70, 20
ANSWER_SHARE = 0.05
"""Fraction of the steady yaw rate above which the car counts as turning."""

PEDAL_SPEEDS_MPS = (3.0, 5.0, 10.0, 20.0, 30.0)
PEDAL_STEPS = (6, 12)
"""First and last step after pressing a pedal between which the acceleration is measured.

The gear box has shifted before the first; the speed has hardly changed until the last."""

BRAKE = 0.2
THROTTLES = (0.4, 0.6, 0.9)
THROTTLE_FREE_MAX = 0.5
DRIVE_MPS2 = 1.0
"""Acceleration at which the throttle's table is exact."""

FORCE_MIN_MPS2 = 0.1


@dataclass(frozen=True, slots=True)
class Steering:
    """Understeer gradient and rear slip by lateral acceleration, and the time until the car begins to turn."""

    understeer_rad_per_mps2: float
    rear_slip_rad_per_mps2: float
    delay_s: float


@dataclass(frozen=True, slots=True)
class Pedals:
    """The pedals as `LongitudinalConfig` describes them; tables are (speed in m/s, acceleration of the full pedal)."""

    throttle_free: float
    throttle_accel_mps2: tuple[tuple[float, float], ...]
    brake_decel_mps2: tuple[tuple[float, float], ...]
    rolling_decel_mps2: float
    drag_per_m: float


def steering(ground: OpenGround, tell: Tell) -> Steering:
    """Turn the wheels to a fixed angle at several speeds. Raises WorldError where the car does not turn."""
    found = []
    for number, speed in enumerate(TURN_SPEEDS_MPS):
        tell("steering", number / len(TURN_SPEEDS_MPS))
        found.append(_turn(ground, speed))
    tell("steering", 1.0)
    understeer, slip, delay = np.mean(found, axis=0).tolist()
    return Steering(max(understeer, 0.0), max(slip, 0.0), delay)


def pedals(ground: OpenGround, tell: Tell) -> Pedals:
    """Press each pedal at several speeds. Raises WorldError where a pedal does nothing."""
    coasts, brakes, drives = [], [], []
    for number, speed in enumerate(PEDAL_SPEEDS_MPS):
        tell("pedals", number / len(PEDAL_SPEEDS_MPS))
        coasts.append(-_accel(ground, speed, ControlCommand(0.0, 0.0, 0.0)))
        brakes.append((-_accel(ground, speed, ControlCommand(0.0, BRAKE, 0.0)) - coasts[-1]) / BRAKE)
        drives.append([_accel(ground, speed, ControlCommand(throttle, 0.0, 0.0)) for throttle in THROTTLES])
    tell("pedals", 1.0)
    if min(brakes) < FORCE_MIN_MPS2 or min(each[-1] - each[0] for each in drives) < FORCE_MIN_MPS2:
        raise WorldError("the car does not answer its pedals on this server, so they cannot be measured")
    speeds, coast = np.array(PEDAL_SPEEDS_MPS), np.array(coasts)
    rolling, drag = _resistance(speeds, coast)
    free = float(
        np.clip(np.median([_free(each, -c) for each, c in zip(drives, coasts, strict=True)]), 0.0, THROTTLE_FREE_MAX)
    )
    full = []
    for speed, each in zip(PEDAL_SPEEDS_MPS, drives, strict=True):
        slope, offset = np.polyfit(THROTTLES[:2], each[:2], 1)
        throttle = (DRIVE_MPS2 - offset) / slope
        full.append((DRIVE_MPS2 + rolling + drag * speed**2) * (1.0 - free) / max(throttle - free, 0.05))
    return Pedals(free, _table(full), _table(brakes), rolling, drag)


def _turn(ground: OpenGround, speed_mps: float) -> tuple[float, float, float]:
    """(understeer, rear slip, delay) at one speed."""
    ego = ground.release(speed_mps)
    vehicle = ground.vehicle
    wheel = float(np.arctan(vehicle.wheelbase_m * TURN_MPS2 / speed_mps**2))
    steer = wheel / wheel_angle_limit(vehicle, speed_mps)
    states: list[EgoState] = []
    for _ in range(TURN_STEPS):
        throttle = min(max(0.4 + 0.3 * (speed_mps - ego.speed_mps), 0.0), 1.0)
        ego = ground.step(ControlCommand(throttle, 0.0, steer))
        states.append(ego)
    rates = np.array([state.yaw_rate_radps for state in states])
    rate = float(rates[-STEADY_STEPS:].mean())
    if rate * speed_mps < 0.2 * TURN_MPS2:
        raise WorldError("the car does not answer its steering on this server, so it cannot be measured")
    before, after = states[-STEADY_STEPS], states[-1]
    speed = float(np.mean([state.speed_mps for state in states[-STEADY_STEPS:]]))
    turned = float(wrap_angle(after.yaw_rad - before.yaw_rad))
    course = float(np.arctan2(after.y_m - before.y_m, after.x_m - before.x_m))
    slip = float(wrap_angle(before.yaw_rad + 0.5 * turned - course))
    angle = steer * wheel_angle_limit(vehicle, speed) - float(np.arctan(vehicle.wheelbase_m * rate / speed))
    first = int(np.argmax(rates > ANSWER_SHARE * rate))
    return angle / (speed * rate), slip / (speed * rate), first * DEFAULT_STEP_S


def _accel(ground: OpenGround, speed_mps: float, command: ControlCommand) -> float:
    ground.release(speed_mps)
    first, last = PEDAL_STEPS
    speeds = [ground.step(command).speed_mps for _ in range(last)]
    return (speeds[-1] - speeds[first - 1]) / ((last - first) * DEFAULT_STEP_S)


def _free(accels: list[float], coast_mps2: float) -> float:
    """The throttle at which a line through the two upper tests meets the acceleration without throttle."""
    slope = (accels[-1] - accels[0]) / (THROTTLES[-1] - THROTTLES[0])
    return THROTTLES[0] - (accels[0] - coast_mps2) / slope


def _resistance(speeds: Float, coast: Float) -> tuple[float, float]:
    """Rolling resistance and drag, neither negative, by least squares."""
    drag, rolling = np.polyfit(speeds**2, coast, 1)
    if drag < 0.0:
        return max(float(coast.mean()), 0.0), 0.0
    return max(float(rolling), 0.0), float(drag)


def _table(values: list[float]) -> tuple[tuple[float, float], ...]:
    return tuple((speed, round(float(value), 2)) for speed, value in zip(PEDAL_SPEEDS_MPS, values, strict=True))
