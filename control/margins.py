"""Stability margins of the steering loop, which consists of a linear single-track model, the controller and a delay.

R. Rajamani, "Vehicle Dynamics and Control", 2.3; Astrom, Murray, "Feedback Systems", 9.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from control.config import LateralConfig

Complex = NDArray[np.complex128]

FREQUENCIES_RADPS = np.geomspace(0.05, 60.0, 6000)
SLIP_MIN_RAD_PER_MPS2 = 1e-6
"""Minimum slip angle per lateral acceleration; it limits the stiffness of the tyres in the model."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Stability margins of the loop.

    * `crossover_radps`: frequency at which the loop gain is 1.
    * `phase_deg`: additional phase lag at which the loop begins to oscillate.
    * `gain`: factor of the loop gain at which the loop begins to oscillate.
    """

    crossover_radps: float
    phase_deg: float
    gain: float


@dataclass(frozen=True, slots=True)
class Axles:
    """Lateral acceleration over slip angle of each axle, m/s^2 per rad; both axles carry the same load."""

    front: float
    rear: float

    @classmethod
    def of(cls, config: LateralConfig, softness: float = 1.0) -> Axles:
        """The axles of a configuration; `softness` above 1 describes softer tyres, as on a wet road."""
        rear = max(config.rear_slip_rad_per_mps2, SLIP_MIN_RAD_PER_MPS2) * softness
        return cls(1.0 / (rear + config.understeer_rad_per_mps2 * softness), 1.0 / rear)


def margins(
    config: LateralConfig, wheelbase_m: float, speed_mps: float, delay_s: float, axles: Axles | None = None
) -> Margins:
    """The margins at a speed; a loop whose gain is below 1 at all frequencies has the crossover 0 and infinite margins.

    `delay_s` is the time from the pose to the wheels, including half a step, because a command is held for one step.
    """
    loop = _loop(config, wheelbase_m, speed_mps, delay_s, axles or Axles.of(config))
    size, phase = np.abs(loop), np.unwrap(np.angle(loop))
    # With two or three integrators, the phase starts at -180 or -270 degrees.
    phase += np.round((_first_phase(config) - phase[0]) / (2.0 * np.pi)) * 2.0 * np.pi
    if (size < 1.0).all():
        return Margins(0.0, float("inf"), float("inf"))
    at = int(np.flatnonzero(size >= 1.0)[-1])
    beyond = np.flatnonzero((phase[:-1] > -np.pi) & (phase[1:] <= -np.pi) & (np.arange(len(phase) - 1) >= at))
    gain = 1.0 / float(size[beyond[0]]) if len(beyond) else float("inf")
    return Margins(float(FREQUENCIES_RADPS[at]), float(np.degrees(phase[at] + np.pi)), gain)


def _first_phase(config: LateralConfig) -> float:
    return -np.pi if config.integral_per_s == 0.0 else -1.5 * np.pi


def _loop(config: LateralConfig, wheelbase_m: float, speed_mps: float, delay_s: float, axles: Axles) -> Complex:
    """Open-loop frequency response from wheel angle to wheel angle, without the minus sign of the feedback."""
    s = 1j * FREQUENCIES_RADPS
    v, half = speed_mps, 0.5 * wheelbase_m
    front, rear = 0.5 * axles.front, 0.5 * axles.rear
    # Lateral velocity and yaw rate for a wheel angle of 1: the two equations of motion, solved by Cramer's rule. The
    # squared radius of gyration is half * half.
    side_side, side_turn = s + (front + rear) / v, (front - rear) * half / v + v
    turn_side, turn_turn = (front - rear) / (half * v), s + (front + rear) / v
    determinant = side_side * turn_turn - side_turn * turn_side
    lateral = (front * turn_turn - side_turn * front / half) / determinant
    turn = (side_side * front / half - turn_side * front) / determinant
    heading = turn / s
    error = (lateral - half * turn + v * heading) / s
    latency = config.latency_s
    ahead = min(config.look_ahead_min_m + config.look_ahead_gain_s * v, config.look_ahead_max_m)
    look = error + v * latency * (heading + 0.5 * latency * turn) + ahead * (heading + latency * turn)
    angle = wheelbase_m + config.understeer_rad_per_mps2 * v**2
    feedback = (2.0 * config.damping / ahead) ** 2 * (1.0 + config.integral_per_s / s)
    return np.asarray(look * feedback * angle * np.exp(-s * delay_s))
