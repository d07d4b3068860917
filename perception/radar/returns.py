"""Radar returns on the map: positions, and radial speeds over ground, without the ego's own motion.

Most returns come from objects at rest. Their range rates show the motion of each radar much more exactly than wheel
speed and gyro, which do not measure the slip at the rear axle (Kellner et al., "Instantaneous ego-motion estimation
using multiple Doppler radars", ICRA 2014).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import EgoState, Float, RadarSweep

MOTION_SIGMA = np.array([0.3, 0.3, 0.02])
"""Standard deviations of the ego's estimated speed ahead, m/s, speed to the left at the rear axle, m/s, and turn rate,
rad/s."""

RANGE_RATE_SIGMA_MPS = 0.1
"""Standard deviation of a range rate."""

STANDING_GATES_MPS = (2.0, 0.6, 0.3)
"""Largest residual of a return that counts as standing, m/s, in each round of the estimation."""

MOVING_MIN_MPS = 0.5
"""Radial speed over ground above which a return is moving, m/s."""


@dataclass(frozen=True, slots=True)
class RadarReturns:
    """Returns of all radars in one tick, N rows each, in the map frame.

    * `place_m` (N, 2) and `height_m` (N,): position, and height above the ground under the ego;
    * `radar_m` (N, 2): position of the radar that measured it; `sight` (N, 2): unit vector from there to the return;
    * `radial_mps` (N,): speed over ground along `sight`, positive away from the radar.
    """

    place_m: Float
    height_m: Float
    radar_m: Float
    sight: Float
    radial_mps: Float

    def __len__(self) -> int:
        return len(self.radial_mps)

    @property
    def is_moving(self) -> NDArray[np.bool_]:
        """Whether each return (N,) certainly comes from a moving object."""
        return np.abs(self.radial_mps) > MOVING_MIN_MPS

    def select(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> RadarReturns:
        """The returns that `which` selects, as a mask or as indices."""
        return RadarReturns(
            self.place_m[which], self.height_m[which], self.radar_m[which], self.sight[which], self.radial_mps[which]
        )


def locate_returns(sweeps: Iterable[RadarSweep], ego: EgoState) -> RadarReturns:
    """The returns of `sweeps`, which were taken at the stamp of `ego`; points that are not finite are left out."""
    points, mounts = _stacked(sweeps)
    distance, elevation = points[:, 0], points[:, 2]
    bearing = points[:, 1] + mounts[:, 3]  # in the vehicle frame
    level = np.cos(elevation)
    # range rates of objects at rest per unit of the ego's motion: m/s ahead, m/s to the left, rad/s
    ahead, left = level * np.cos(bearing), level * np.sin(bearing)
    own = -np.stack([ahead, left, left * mounts[:, 0] - ahead * mounts[:, 1]], axis=1)
    motion = _ego_motion(own, points[:, 3], np.array([ego.speed_mps, 0.0, ego.yaw_rate_radps]))
    course = bearing + ego.yaw_rad
    sight = np.stack([np.cos(course), np.sin(course)], axis=1)
    c, s = np.cos(ego.yaw_rad), np.sin(ego.yaw_rad)
    radar_m = np.array([ego.x_m, ego.y_m]) + mounts[:, :2] @ np.array([[c, s], [-s, c]])
    return RadarReturns(
        place_m=radar_m + (distance * level)[:, None] * sight,
        height_m=mounts[:, 2] + distance * np.sin(elevation),
        radar_m=radar_m,
        sight=sight,
        radial_mps=(points[:, 3] - own @ motion) / level,
    )


def _stacked(sweeps: Iterable[RadarSweep]) -> tuple[Float, Float]:
    """All finite points (N, 4), and x, y, z, yaw (N, 4) of the radar of each."""
    points, mounts = [np.zeros((0, 4))], [np.zeros((0, 4))]
    for sweep in sweeps:
        good = sweep.points[np.isfinite(sweep.points).all(axis=1)]
        radar = sweep.radar
        points.append(good)
        mounts.append(np.tile([radar.x_m, radar.y_m, radar.z_m, radar.yaw_rad], (len(good), 1)))
    return np.concatenate(points), np.concatenate(mounts)


def _ego_motion(own: Float, rates_mps: Float, prior: Float) -> Float:
    """The ego's motion (3,) that best explains the range rates of objects at rest, with the prior mean `prior` (3,)."""
    motion: Float = prior
    weight, weights = 1.0 / RANGE_RATE_SIGMA_MPS**2, np.diag(MOTION_SIGMA**-2.0)
    for gate_mps in STANDING_GATES_MPS:
        standing = np.abs(rates_mps - own @ motion) < gate_mps
        rows, rates = own[standing], rates_mps[standing]
        normal = weight * rows.T @ rows + weights
        motion = np.asarray(np.linalg.solve(normal, weight * rows.T @ rates + weights @ prior), dtype=np.float64)
    return motion
