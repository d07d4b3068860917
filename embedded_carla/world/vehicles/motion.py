"""The arrays that the compiled vehicle loops read and write."""

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
