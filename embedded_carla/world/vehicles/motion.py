"""The arrays that the compiled vehicle loops read and write, and what their steps hand to one another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import Float

NORMAL_N, FORWARD_N, RIGHT_N, SLIP_RATIO, SLIP_ANGLE, SPIN = range(6)
"""Columns of `Motion.wheels`: loads and forces in N, slip ratio, slip angle in rad, wheel speed in rad/s."""


class Motion(NamedTuple):
    """Arrays by slot, capacity N: the fleet's public attributes and everything else that a step reads and writes."""

    location: Float  # (N, 3) m
    rotation_deg: Float  # (N, 3) pitch, yaw, roll
    velocity: Float  # (N, 3)
    acceleration: Float  # (N, 3)
    angular_velocity_degps: Float  # (N, 3)
    angular_acceleration_degps2: Float  # (N, 3)
    steer_rad: Float
    wheel_phase_rad: Float
    friction: Float
    friction_scale: Float
    axle_friction: Float  # (N, 2) front, rear
    gravity: NDArray[np.bool_]
    inputs: Float  # (N, 6) throttle, brake, hand brake, steer, manual box, selected gear
    tilt_rate: Float  # (N, 2) pitch, roll rate, rad/s
    forward_accel: Float
    held: Float  # (N, 3) 1 where the velocity is held constant, then that velocity: forward, right
    engine_n: Float  # at the driven wheels, forward positive
    engine_drag_n: Float  # >= 0, opposes motion
    steer_curve: Float  # (N, C, 2) speed in m/s, share of the largest angle; speeds rise
    wheels: Float  # (N, 4, 6)


class Push(NamedTuple):
    """Forces on one vehicle during a step, constant over its sub-steps. Forces in N."""

    drive_front: float  # forward positive, within friction
    drive_rear: float
    brake_front: float  # >= 0, within friction
    brake_rear: float
    friction_front: float  # largest longitudinal tyre force, > 0
    friction_rear: float
    side_front: float  # largest lateral tyre force
    side_rear: float
    resistance_mps2: float  # rolling; opposes motion and holds at rest
    steer_target_rad: float
    hold_mps2: float  # largest sideways acceleration by friction; 0 in the air
    grade_forward_mps2: float
    grade_right_mps2: float
    steadied_radps2: float  # angular acceleration by one-sided braking, against the turn


class Plane(NamedTuple):
    """The ground plane under the wheels at the start of a step."""

    height_m: float  # z of the plane at the vehicle's origin
    forward: float  # rise over run
    right: float
    is_there: bool  # at least one wheel has a surface below it
    is_touched: bool  # the wheels carry the body


class Tyres(NamedTuple):
    """What the tyres of each axle did in a sub-step; forces on both wheels together."""

    along_front_n: float  # forward positive
    along_rear_n: float
    side_front_n: float  # right positive
    side_rear_n: float
    slip_front_rad: float
    slip_rear_rad: float


class Upright(NamedTuple):
    """Heave, pitch and roll of a vehicle."""

    z_m: float
    climb_mps: float
    pitch_rad: float
    roll_rad: float
    pitch_rate_radps: float
    roll_rate_radps: float
