"""Motion priors from the map: vehicles drive along lanes, near the expected free-flow speed.

`initial_velocities` gives the velocity prior of a vehicle seen for the first time. `lane_constraints` gives the
constraint that a moving vehicle hardly moves across its lane. The tracker applies both.
"""

from __future__ import annotations

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import Float
from perception.map_index import MapIndex

LATERAL_SIGMA_M = 1.0
"""Standard deviation of a vehicle's offset from the lane centre, m."""

REACH_M = 1.0
"""Distance along the lane up to which a centre point contributes, m."""

WEIGHT_MIN = 0.05
"""Minimum weight of the likeliest lane point; below it a vehicle is on no lane."""

INITIAL_SPEED_RATIO = 0.4
"""Mean of a new vehicle's speed along the lane, as a fraction of the speed limit: it may stand, crawl or drive."""

INITIAL_SPEED_SIGMA_RATIO = 0.25
"""Standard deviation of this speed, as a fraction of the speed limit."""

ACROSS_SIGMA_MPS = 1.0
"""Standard deviation of a new vehicle's velocity across the lane, m/s."""

FREE_FLOW_SPEED_RATIO = 0.65
"""Expected free-flow speed as a fraction of the speed limit: town traffic stays below it, especially before bends."""

COURSE_SIGMA_RAD, COURSE_MAX_RAD = 0.4, 0.8
"""Standard deviation and maximum, rad, of the angle between a vehicle's measured course and its lane's direction."""

DEVIATION_RAD = 0.12
"""Standard deviation of a vehicle's true course from its lane's direction, rad."""

DEVIATION_MPS = 0.3
"""Minimum standard deviation of a vehicle's speed across its lane, m/s."""

SPREAD_MAX_RAD = 0.35
"""Spread of the directions of nearby lanes, rad, above which no direction is assumed."""


def initial_velocities(index: MapIndex, places: Float) -> tuple[Float, Float, Float]:
    """Velocity prior of vehicles first seen at `places` (N, 2), map frame.

    Returns mean (N, 2), covariance (N, 2, 2) and expected free-flow speed (N,), m/s. Each lane point nearby is weighted
    by its distance; NaN off the lanes.
    """
    yaw, weights, limit = _weighted(index, places)
    weights = _normalised(weights)
    ways = np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    mean = INITIAL_SPEED_RATIO * np.einsum("nk,nki->ni", weights * limit, ways)
    along = (INITIAL_SPEED_RATIO**2 + INITIAL_SPEED_SIGMA_RATIO**2) * limit**2 - ACROSS_SIGMA_MPS**2
    spread = np.einsum("nk,nki,nkj->nij", weights * along, ways, ways) - mean[:, :, None] * mean[:, None, :]
    return mean, spread + ACROSS_SIGMA_MPS**2 * np.eye(2), FREE_FLOW_SPEED_RATIO * (weights * limit).sum(axis=1)


def lane_constraints(index: MapIndex, places: Float, velocities: Float) -> tuple[Float, Float, Float]:
    """Constraint that moving vehicles drive along their lanes.

    Returns unit vectors (N, 2) across the lanes, the standard deviation (N,), m/s, of the speed along these vectors
    (NaN where no lane or more than one direction fits), and the expected free-flow speed (N,), m/s (NaN where no lane
    fits).
    """
    heading = np.arctan2(velocities[:, 1], velocities[:, 0])
    yaw, weights, limit = _weighted(index, places)
    away = wrap_angle(yaw - heading[:, None])
    weights = weights * np.exp(-0.5 * (away / COURSE_SIGMA_RAD) ** 2) * (np.abs(away) <= COURSE_MAX_RAD)
    weights = _normalised(weights)
    turned = (weights * away).sum(axis=1)
    spread = np.sqrt((weights * (away - turned[:, None]) ** 2).sum(axis=1))
    spread[spread > SPREAD_MAX_RAD] = np.nan
    lane = heading + turned
    sigma = np.hypot(DEVIATION_MPS, np.hypot(spread, DEVIATION_RAD) * np.hypot(velocities[:, 0], velocities[:, 1]))
    return (
        np.stack([-np.sin(lane), np.cos(lane)], axis=-1),
        sigma,
        FREE_FLOW_SPEED_RATIO * (weights * limit).sum(axis=1),
    )


def _weighted(index: MapIndex, places: Float) -> tuple[Float, Float, Float]:
    """Lane points around each place: yaw (N, K), weight by distance (N, K), and speed limit (N, K), m/s."""
    yaw, along, beside, limit = index.points_at(places)
    return yaw, np.exp(-0.5 * ((along / REACH_M) ** 2 + (beside / LATERAL_SIGMA_M) ** 2)), limit


def _normalised(weights: Float) -> Float:
    """The weights with sum 1 in each row; NaN where all are below `WEIGHT_MIN`."""
    known = weights.max(axis=1, keepdims=True) >= WEIGHT_MIN
    return np.asarray(weights / np.where(known, weights.sum(axis=1, keepdims=True), np.nan))
