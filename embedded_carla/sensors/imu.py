"""The IMU: specific force, angular velocity and compass heading in the sensor's frame (CARLA's axes)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgpack
import numpy as np

from embedded_carla.types import Float, Transform, Vector3

GRAVITY_MPS2 = 9.81


@dataclass(frozen=True, slots=True)
class ImuNoise:
    """Noise per axis: m/s^2 for the accelerometer, rad/s for the gyroscope."""

    accel_stddev: Vector3 = (0.0, 0.0, 0.0)
    gyro_stddev: Vector3 = (0.0, 0.0, 0.0)
    gyro_bias: Vector3 = (0.0, 0.0, 0.0)

    @staticmethod
    def of(number: Callable[[str, float], float]) -> ImuNoise:
        """From a blueprint's attributes; `number(name, default)` reads one."""

        def axes(name: str) -> Vector3:
            return (number(f"{name}_x", 0.0), number(f"{name}_y", 0.0), number(f"{name}_z", 0.0))

        return ImuNoise(axes("noise_accel_stddev"), axes("noise_gyro_stddev"), axes("noise_gyro_bias"))


def acceleration_at(
    acceleration: Float, angular_velocity_degps: Float, angular_acceleration_degps2: Float, arm_m: Float
) -> Float:
    """Acceleration, m/s^2, world frame, of a rigid-body point `arm_m` from the point that has `acceleration`."""
    turn, change = np.radians(angular_velocity_degps), np.radians(angular_acceleration_degps2)
    moved: Float = acceleration + np.cross(change, arm_m) + np.cross(turn, np.cross(turn, arm_m))
    return moved


def compass_rad(pose: Transform) -> float:
    """Heading in [0, 2 pi): 0 is north (-y), pi/2 is east."""
    forward = pose.matrix()[:3, 0]
    return math.atan2(forward[0], -forward[1]) % (2 * math.pi)


def imu_body(
    pose: Transform,
    acceleration: Float,
    angular_velocity_degps: Float,
    noise: ImuNoise,
    rng: np.random.Generator,
    gravity_mps2: float = GRAVITY_MPS2,
) -> bytes:
    """The message body of an IMU at `pose` that moves with the given world-frame acceleration and angular velocity.

    At rest the accelerometer reads +`gravity_mps2` upwards. Draws six normal numbers from `rng`.
    """
    to_sensor = pose.matrix()[:3, :3].T
    accel = to_sensor @ np.add(acceleration, (0.0, 0.0, gravity_mps2))
    gyro = to_sensor @ np.radians(angular_velocity_degps)
    draws = rng.standard_normal(6)
    accel = accel + draws[:3] * noise.accel_stddev
    gyro = gyro + noise.gyro_bias + draws[3:] * noise.gyro_stddev
    body: bytes = msgpack.packb([accel.tolist(), gyro.tolist(), compass_rad(pose)])
    return body
