"""What the map tells of how vehicles move: along its lanes."""

from __future__ import annotations

import numpy as np

from av_stack.types import Float
from perception.map_index import MapIndex

BESIDE_SIGMA_M, ALONG_SIGMA_M = 1.0, 1.0
"""How far beside a lane's middle vehicles drive that are where they were seen to be; how far a lane's points count."""

WEIGHT_MIN = 0.05
"""The weight of the likeliest lane below which something is no lane's."""

SPEED_MPS, SPEED_SIGMA_MPS, ACROSS_SIGMA_MPS = 5.0, 3.5, 1.0
"""What is known of a vehicle's velocity along its lane, and across it, when it comes into view."""

TURNED_SIGMA_RAD, TURNED_MAX_RAD = 0.4, 0.8
"""How far a vehicle's way is seen to differ from the direction of the lane that it drives in."""

AWAY_RAD, AWAY_MPS, SPREAD_MAX_RAD = 0.12, 0.3, 0.35
"""What it does differ by: an angle, and at least a speed across. Where lanes part by more nothing is told."""


def birth_velocities(index: MapIndex, places: Float) -> tuple[Float, Float]:
    """Mean (N, 2) and covariance (N, 2, 2) of the velocities of vehicles first seen at `places` (N, 2), map frame.

    Each lane that one may drive in counts by how near its middle is; NaN off the lanes.
    """
    yaw, weights = _weighted(index, places)
    weights = _normalised(weights)
    ways = np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    mean = SPEED_MPS * np.einsum("nk,nki->ni", weights, ways)
    along = SPEED_MPS**2 + SPEED_SIGMA_MPS**2 - ACROSS_SIGMA_MPS**2
    spread = along * np.einsum("nk,nki,nkj->nij", weights, ways, ways) - mean[:, :, None] * mean[:, None, :]
    return mean, spread + ACROSS_SIGMA_MPS**2 * np.eye(2)


def across_lanes(index: MapIndex, places: Float, velocities: Float) -> tuple[Float, Float]:
    """Unit vectors (N, 2) across the lanes in which vehicles drive that move so, and how fast (N,) m/s they may move
    along them (one sigma); NaN where no lane or more than one way fits."""
    heading = np.arctan2(velocities[:, 1], velocities[:, 0])
    yaw, weights = _weighted(index, places)
    away = (yaw - heading[:, None] + np.pi) % (2.0 * np.pi) - np.pi
    weights = weights * np.exp(-0.5 * (away / TURNED_SIGMA_RAD) ** 2) * (np.abs(away) <= TURNED_MAX_RAD)
    weights = _normalised(weights)
    turned = (weights * away).sum(axis=1)
    spread = np.sqrt((weights * (away - turned[:, None]) ** 2).sum(axis=1))
    spread[spread > SPREAD_MAX_RAD] = np.nan
    lane = heading + turned
    sigma = np.hypot(AWAY_MPS, np.hypot(spread, AWAY_RAD) * np.hypot(velocities[:, 0], velocities[:, 1]))
    return np.stack([-np.sin(lane), np.cos(lane)], axis=-1), sigma


def _weighted(index: MapIndex, places: Float) -> tuple[Float, Float]:
    """Yaw (N, K) of the lanes' points around each place, and how likely each is (N, K) to be of its lane."""
    yaw, along, beside = index.points_at(places)
    return yaw, np.exp(-0.5 * ((along / ALONG_SIGMA_M) ** 2 + (beside / BESIDE_SIGMA_M) ** 2))


def _normalised(weights: Float) -> Float:
    """The weights with sum 1 in each row; NaN where all are small."""
    known = weights.max(axis=1, keepdims=True) >= WEIGHT_MIN
    return np.asarray(weights / np.where(known, weights.sum(axis=1, keepdims=True), np.nan))
