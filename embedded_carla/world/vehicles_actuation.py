"""From pedals and steering wheel to forces at the axles and an angle of the front wheels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import Float
from embedded_carla.world.vehicles_planar import GRAVITY_MPS2, PlanarBank, PlanarInput, PlanarState, limited
from embedded_carla.world.vehicles_vertical import Footing

DRY_FRICTION = 1.0
WET_LOSS = 0.35  # share of the friction that a fully wet road takes away
ABS_EFFICIENCY = 0.95  # share of the longitudinal friction that braking with ABS makes use of
ROLLING_RESISTANCE = 0.012
DRIVE_EFFICIENCY = 0.85  # share of the engine's power that reaches the wheels
ENGINE_BRAKE_MPS2 = 0.35
ENGINE_BRAKE_FULL_MPS = 5.0
REVERSE_FORCE, REVERSE_TOP_MPS = 0.5, 8.0
HAND_BRAKE_SHARE = 0.5  # of the largest braking force, at the rear axle
# Stability control: where the steering asks for more than the tyres can give, it takes the throttle and then brakes.
STABILITY_BEGIN, STABILITY_FULL = 0.75, 1.0  # demanded over possible lateral acceleration
STABILITY_BRAKE = 0.4  # friction number
STEER_RATE_RADPS = math.radians(120.0)
STEER_CURVE_KMH = np.array([0.0, 20.0, 60.0, 120.0])  # CARLA's default steering curve
STEER_CURVE = np.array([1.0, 0.9, 0.8, 0.7])


@dataclass(frozen=True, slots=True)
class Pedals:
    """(N,) each: throttle signed by the gear, brake, hand brake and `coasting` in [0, 1], steer in [-1, 1]."""

    throttle: Float
    brake: Float
    hand_brake: Float
    steer: Float
    coasting: Float


def actuate(
    pedals: Pedals,
    bank: PlanarBank,
    state: PlanarState,
    foot: Footing,
    friction: Float,
    gravity: NDArray[np.bool_],
    wetness: float,
) -> PlanarInput:
    """What acts on the vehicles in the coming step.

    The load moves between the axles with the last step's acceleration: the springs' delay. `friction` (N,) is a factor
    per vehicle, `wetness` in percent.
    """
    speed = np.abs(state.forward_mps)
    weight = bank.mass_kg * (GRAVITY_MPS2 * gravity)
    grip = DRY_FRICTION * (1.0 - WET_LOSS * min(max(wetness / 100.0, 0.0), 1.0)) * friction * foot.is_touching
    load = np.maximum(bank.load_share * weight + bank.transfer_kg * state.forward_accel_mps2, 0.0)
    limit = grip * load
    excess = _lateral_excess(bank, state, grip)
    throttle = pedals.throttle * (1.0 - np.minimum(excess, 1.0))
    pushed = pedals.brake * bank.brake_force_max_n / (bank.mass_kg * GRAVITY_MPS2)
    brake = (pushed + STABILITY_BRAKE * np.minimum(np.maximum(excess - 1.0, 0.0), 1.0)) * load
    brake[1] += pedals.hand_brake * HAND_BRAKE_SHARE * bank.brake_force_max_n
    engine = ENGINE_BRAKE_MPS2 * pedals.coasting * np.minimum(speed / ENGINE_BRAKE_FULL_MPS, 1.0)
    pull = foot.is_touching * (-GRAVITY_MPS2 * gravity)
    return PlanarInput(
        drive_n=limited(bank.load_share * _engine_force(throttle, bank, state.forward_mps, speed), limit),
        brake_n=np.minimum(brake, ABS_EFFICIENCY * limit),
        friction_n=limit + 1e-3,
        side_n=bank.lateral_share * limit,
        resistance_mps2=(ROLLING_RESISTANCE * GRAVITY_MPS2 + engine) * foot.is_touching,
        steer_target_rad=pedals.steer * bank.steer_max_rad * steer_share(speed),
        steer_rate_radps=STEER_RATE_RADPS,
        hold=grip * GRAVITY_MPS2 * bank.rolling_grip,
        grade_forward_mps2=pull * foot.slope_forward / (1.0 + foot.slope_forward * foot.slope_forward),
        grade_right_mps2=pull * foot.slope_right / (1.0 + foot.slope_right * foot.slope_right),
    )


def steer_share(speed_mps: Float | float) -> Float:
    """Share of the largest steering angle that a full turn of the wheel gives at this speed (>= 0)."""
    share: Float = np.interp(np.asarray(speed_mps) * 3.6, STEER_CURVE_KMH, STEER_CURVE)
    return share


def _lateral_excess(bank: PlanarBank, state: PlanarState, grip: Float) -> Float:
    """(N,) 0 while the bend that is steered for is within friction, 1 where it takes all of it, more beyond."""
    wanted = np.abs(np.tan(state.steer_rad)) * state.forward_mps * state.forward_mps / bank.wheelbase_m
    share = wanted / (grip * bank.lateral_share[0] * GRAVITY_MPS2 + 1e-3)
    excess: Float = np.maximum((share - STABILITY_BEGIN) / (STABILITY_FULL - STABILITY_BEGIN), 0.0)
    return excess


def _engine_force(throttle: Float, bank: PlanarBank, forward_mps: Float, speed: Float) -> Float:
    """(N,) N: limited by force, by power and by the top speed; weaker and slower in reverse."""
    backwards = throttle < 0
    throttle = np.where(backwards, REVERSE_FORCE * throttle, throttle)
    top = np.where(backwards, REVERSE_TOP_MPS, bank.top_speed_mps)
    pulls = (speed < top) | (throttle * forward_mps < 0)
    force: Float = (
        throttle * pulls * np.minimum(bank.force_max_n, DRIVE_EFFICIENCY * bank.power_w / np.maximum(speed, 1.0))
    )
    return force
