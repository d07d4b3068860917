"""What the map tells of how vehicles move: along its lanes."""

from __future__ import annotations

import numpy as np

from av_stack.types import Float
from perception.map_index import MapIndex

BESIDE_SIGMA_M, ALONG_SIGMA_M = 1.0, 1.0
"""How far beside a lane's middle vehicles drive that are where they were seen to be; how far a lane's points count."""

WEIGHT_MIN = 0.05
"""The weight of the likeliest lane below which something is no lane's."""

SEEN_SHARE, SEEN_SIGMA_SHARE, ACROSS_SIGMA_MPS = 0.4, 0.25, 1.0
"""What is known of a vehicle's velocity along its lane, as shares of the speed limit, and across it, when it comes into
view: it may stand, crawl in a queue or drive."""

FREE_SHARE = 0.65
"""Of the limit, the speed to which who drives comes: town traffic stays below it, before bends above all."""

TURNED_SIGMA_RAD, TURNED_MAX_RAD = 0.4, 0.8
"""How far a vehicle's way is seen to differ from the direction of the lane that it drives in."""

AWAY_RAD, AWAY_MPS, SPREAD_MAX_RAD = 0.12, 0.3, 0.35
"""What it does differ by: an angle, and at least a speed across. Where lanes part by more nothing is told."""


def birth_velocities(index: MapIndex, places: Float) -> tuple[Float, Float, Float]:
    """Mean (N, 2) and covariance (N, 2, 2) of the velocities of vehicles first seen at `places` (N, 2), map frame, and
    the speeds (N,) m/s to which they come there if they drive.

    Each lane that one may drive in counts by how near its middle is; NaN off the lanes.
    """
    yaw, weights, limit = _weighted(index, places)
    weights = _normalised(weights)
    ways = np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    mean = SEEN_SHARE * np.einsum("nk,nki->ni", weights * limit, ways)
    along = (SEEN_SHARE**2 + SEEN_SIGMA_SHARE**2) * limit**2 - ACROSS_SIGMA_MPS**2
    spread = np.einsum("nk,nki,nkj->nij", weights * along, ways, ways) - mean[:, :, None] * mean[:, None, :]
    return mean, spread + ACROSS_SIGMA_MPS**2 * np.eye(2), FREE_SHARE * (weights * limit).sum(axis=1)


def across_lanes(index: MapIndex, places: Float, velocities: Float) -> tuple[Float, Float, Float]:
    """Unit vectors (N, 2) across the lanes in which vehicles drive that move so, and how fast (N,) m/s they may move
    along them (one sigma), NaN where no lane or more than one way fits; the speeds (N,) m/s to which they come, NaN
    where no lane fits."""
    heading = np.arctan2(velocities[:, 1], velocities[:, 0])
    yaw, weights, limit = _weighted(index, places)
    away = (yaw - heading[:, None] + np.pi) % (2.0 * np.pi) - np.pi
    weights = weights * np.exp(-0.5 * (away / TURNED_SIGMA_RAD) ** 2) * (np.abs(away) <= TURNED_MAX_RAD)
    weights = _normalised(weights)
    turned = (weights * away).sum(axis=1)
    spread = np.sqrt((weights * (away - turned[:, None]) ** 2).sum(axis=1))
    spread[spread > SPREAD_MAX_RAD] = np.nan
    lane = heading + turned
    sigma = np.hypot(AWAY_MPS, np.hypot(spread, AWAY_RAD) * np.hypot(velocities[:, 0], velocities[:, 1]))
    return np.stack([-np.sin(lane), np.cos(lane)], axis=-1), sigma, FREE_SHARE * (weights * limit).sum(axis=1)


def _weighted(index: MapIndex, places: Float) -> tuple[Float, Float, Float]:
    """Yaw (N, K) of the lanes' points around each place, how likely each is (N, K) to be of its lane, and the speed
    limit (N, K) m/s there."""
    yaw, along, beside, limit = index.points_at(places)
    return yaw, np.exp(-0.5 * ((along / ALONG_SIGMA_M) ** 2 + (beside / BESIDE_SIGMA_M) ** 2)), limit


def _normalised(weights: Float) -> Float:
    """The weights with sum 1 in each row; NaN where all are small."""
    known = weights.max(axis=1, keepdims=True) >= WEIGHT_MIN
    return np.asarray(weights / np.where(known, weights.sum(axis=1, keepdims=True), np.nan))
