"""Height, pitch and roll: bodies that stand on the ground with their wheels, fall, land and settle.

The suspension is a critically damped spring per degree of freedom, advanced by its closed-form solution, so any step
length is stable. Wheels do not pull: the body never accelerates downwards faster than gravity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import Float
from embedded_carla.world.vehicles_planar import GRAVITY_MPS2, PlanarBank

STIFFNESS_RADPS = 12.0  # natural frequency of heave, pitch and roll
DROOP_M = 0.12  # wheels that hang down this far still touch the ground
BUMP_M = 0.15  # the body sinks no deeper than this into its springs
SLOPE_MAX = 0.7

_FORE = np.array([0, 0, 1, 1])  # axle of each wheel: front left, front right, rear left, rear right
_SIDE = np.array([-1.0, 1.0, -1.0, 1.0])[:, None]


@dataclass(slots=True)
class VerticalState:
    """(N,) each; `climb_mps` is the velocity upwards. Written in place by `settle`."""

    z_m: Float
    climb_mps: Float
    pitch_rad: Float
    roll_rad: Float
    pitch_rate_radps: Float
    roll_rate_radps: Float


@dataclass(frozen=True, slots=True)
class Footing:
    """The plane under the wheels at the start of a step.

    `height_m` is below the origin; `slope_forward`, `slope_right` are rise over run in the body frame; `has_ground`
    says whether any wheel has a surface below it and `is_touching` whether wheels carry the body.
    """

    height_m: Float
    slope_forward: Float
    slope_right: Float
    has_ground: NDArray[np.bool_]
    is_touching: NDArray[np.bool_]


def wheel_points(location: Float, yaw_rad: Float, pitch_rad: Float, bank: PlanarBank) -> Float:
    """(5, N, 3): below the four wheels, then the origin; where `footing` wants to know the ground."""
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    ahead, aside = bank.axle_x_m[_FORE], _SIDE * bank.half_track_m
    points = np.empty((5, *location.shape))
    points[:] = location
    points[:4, :, 0] += ahead * cos - aside * sin
    points[:4, :, 1] += ahead * sin + aside * cos
    points[:4, :, 2] += ahead * np.sin(pitch_rad)
    return points


def footing(wheel_z: Float, state: VerticalState, bank: PlanarBank) -> Footing:
    """Fit the plane to `wheel_z` (4, N), NaN where a wheel has nothing below it."""
    missing = np.isnan(wheel_z)
    has_ground: NDArray[np.bool_] = np.ones(state.z_m.shape, dtype=np.bool_)
    if missing.any():
        has_ground = np.logical_not(np.logical_and.reduce(missing, axis=0))
        count = np.maximum((~missing).sum(axis=0), 1)
        mean = np.where(missing, 0.0, wheel_z).sum(axis=0) / count
        wheel_z = np.where(missing, np.where(has_ground, mean, state.z_m), wheel_z)
    front, rear = (wheel_z[0] + wheel_z[1]) / 2, (wheel_z[2] + wheel_z[3]) / 2
    height = front * bank.load_share[0] + rear * bank.load_share[1]
    forward = np.minimum(np.maximum((front - rear) / bank.wheelbase_m, -SLOPE_MAX), SLOPE_MAX)
    right = (wheel_z[1] - wheel_z[0] + wheel_z[3] - wheel_z[2]) / (4 * bank.half_track_m)
    right = np.minimum(np.maximum(right, -SLOPE_MAX), SLOPE_MAX)
    return Footing(height, forward, right, has_ground, has_ground & (state.z_m - height <= DROOP_M))


def _damped(error: Float, rate: Float, dt_s: float) -> tuple[Float, Float]:
    """Critically damped return to zero after `dt_s`: (error, rate)."""
    decay = np.exp(-STIFFNESS_RADPS * dt_s)
    push = rate + STIFFNESS_RADPS * error
    return (error + push * dt_s) * decay, (rate - STIFFNESS_RADPS * dt_s * push) * decay


def settle(state: VerticalState, foot: Footing, forward_m: Float, right_m: Float, gravity: Float, dt_s: float) -> None:
    """Advance by `dt_s`, in which the body moved `forward_m` and `right_m` over the plane `foot`.

    `gravity` (N,) is 1 or 0 and switches weight.
    """
    rise = foot.slope_forward * forward_m + foot.slope_right * right_m
    rise_rate = rise / dt_s
    ground = foot.height_m + rise
    error, rate = _damped(state.z_m - foot.height_m, state.climb_mps - rise_rate, dt_s)
    fall_rate = state.climb_mps - gravity * (GRAVITY_MPS2 * dt_s)
    carried = foot.is_touching & (rise_rate + rate >= fall_rate)
    fallen = state.z_m + (state.climb_mps + fall_rate) / 2 * dt_s
    z, climb = np.where(carried, ground + error, fallen), np.where(carried, rise_rate + rate, fall_rate)
    sunk = foot.has_ground & (z < ground - BUMP_M)
    state.z_m = np.where(sunk, ground - BUMP_M, z)
    state.climb_mps = np.where(sunk, np.maximum(climb, rise_rate), climb)

    touching = foot.is_touching
    pitch_target, roll_target = np.arctan(foot.slope_forward), -np.arctan(foot.slope_right)
    pitch, pitch_rate = _damped(state.pitch_rad - pitch_target, state.pitch_rate_radps, dt_s)
    roll, roll_rate = _damped(state.roll_rad - roll_target, state.roll_rate_radps, dt_s)
    state.pitch_rad = np.where(touching, pitch + pitch_target, state.pitch_rad)
    state.roll_rad = np.where(touching, roll + roll_target, state.roll_rad)
    state.pitch_rate_radps = np.where(touching, pitch_rate, 0.0)
    state.roll_rate_radps = np.where(touching, roll_rate, 0.0)
