"""Measurement model of the radar: the position of a road user's centre, given the returns from its body.

A road user is a box with a heading. A return lies on one of the sides that the radar sees. It measures the box's
position exactly across this side, but along the side only to the side's length. The returns on a side are spread evenly
over it, so the midpoint of the outermost returns estimates the side's midpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float
from perception.radar.returns import RadarReturns
from perception.tracking.track_rows import Rows

SIDE_SIGMA_M = 0.35
"""Standard deviation, m, of a return across the side of a box: bodies are round, and their true size is not known."""

ALONG_SIGMA_MIN_M = 0.4
"""Smallest standard deviation, m, of a box's position along a side that shows many returns."""

GRAZING_RATIO = 0.15
"""Ratio of the apparent widths of two sides below which no return comes from the narrower side."""

HEADING_SIGMA_MAX_RAD = 0.4
"""Largest standard deviation of a heading at which a road user is measured as a box; above it, as a disc."""

ROUND_SIGMA_M = 1.2
"""Standard deviation of the centre of a disc, m."""


@dataclass(frozen=True, slots=True)
class PositionMeasurement:
    """Measured position (2,) of a track's centre, with its covariance (2, 2), in the map frame."""

    place_m: Float
    noise_m2: Float


def in_boxes(tracks: Rows, places: Float) -> Float:
    """Places (N, 2) of the map in the axes of each track's box (T): (T, N, 2), m ahead and left of its centre."""
    away = places[None] - tracks["state"][:, None, :2]
    c, s = np.cos(tracks["yaw_rad"])[:, None], np.sin(tracks["yaw_rad"])[:, None]
    return np.stack([c * away[..., 0] + s * away[..., 1], -s * away[..., 0] + c * away[..., 1]], axis=-1)


def beyond_boxes(tracks: Rows, point_m: Float) -> Float:
    """Distances (T, N, 2) of points outside the tracks' boxes along each axis; 0 inside.

    `point_m` (T, N, 2) are the points in the axes of the boxes.
    """
    half = tracks["size_m"][:, None, :2] / 2.0
    return np.asarray(np.sign(point_m) * np.maximum(np.abs(point_m) - half, 0.0))


def shared_depths_m(tracks: Rows) -> Float:
    """Depth (T, T) to which the boxes of two tracks overlap, m; at most 0 for boxes that are apart.

    It is the shortest translation along a side of either box that separates the two (separating axes).
    """
    half = tracks["size_m"][:, :2] / 2.0
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    c, s = np.cos(tracks["yaw_rad"])[:, None], np.sin(tracks["yaw_rad"])[:, None]
    ahead, left = np.moveaxis(signs * half[:, None], -1, 0)
    corners = tracks["state"][:, None, :2] + np.stack([c * ahead - s * left, s * ahead + c * left], axis=-1)
    count = len(tracks)
    point = in_boxes(tracks, corners.reshape(-1, 2)).reshape(count, count, 4, 2)
    high = np.minimum(point.max(axis=2), half[:, None])
    low = np.maximum(point.min(axis=2), -half[:, None])
    depth = (high - low).min(axis=2)
    return np.asarray(np.minimum(depth, depth.T))


def position_covariances(tracks: Rows) -> Float:
    """Covariances (T, 2, 2) of the tracks' positions in the axes of their boxes."""
    c, s = np.cos(tracks["yaw_rad"]), np.sin(tracks["yaw_rad"])
    turn = np.array([[c, s], [-s, c]]).transpose(2, 0, 1)
    return np.asarray(turn @ tracks["covariance"][:, :2, :2] @ turn.transpose(0, 2, 1))


def heading_sigma(track: np.void) -> float:
    """Standard deviation, rad, of the direction of a track's velocity."""
    vx, vy = track["state"][2:4]
    speed = max(float(np.hypot(vx, vy)), 1e-3)
    across = np.array([-vy, vx]) / speed
    return float(np.sqrt(across @ track["covariance"][2:4, 2:4] @ across)) / speed


def measure_position(track: Rows, returns: RadarReturns, is_box: bool) -> list[PositionMeasurement]:
    """Measurements of the centre of `track` (one row) by its returns: one for each side of the box with returns.

    Without `is_box` the heading is not known, and the track is measured as a disc.
    """
    half, yaw = track["size_m"][0, :2] / 2.0, float(track["yaw_rad"][0])
    if not is_box:
        centre = (returns.place_m + half.mean() * returns.sight).mean(axis=0)
        return [PositionMeasurement(centre, ROUND_SIGMA_M**2 * np.eye(2))]
    point, radar = in_boxes(track, returns.place_m)[0], in_boxes(track, returns.radar_m)[0]
    # (N, 2): signed distance beyond the front or rear side, and the left or right side, that faces the radar
    beyond = point - np.sign(radar) * half
    axis = _sides_of(point, radar, beyond, half)
    c, s = np.cos(yaw), np.sin(yaw)
    turn = np.array([[c, -s], [s, c]])
    out = []
    for normal in (0, 1):
        for way in (-1.0, 1.0):
            on_side = (axis == normal) & (np.sign(radar[:, normal]) == way)
            if on_side.any():
                off_m, variance = _measure_side(point[on_side], beyond[on_side], half, normal)
                place = track["state"][0, :2] + turn @ off_m
                out.append(PositionMeasurement(place, turn @ np.diag(variance) @ turn.T))
    return out


def _sides_of(point: Float, radar: Float, beyond: Float, half: Float) -> NDArray[np.int64]:
    """Which side each return (N,) lies on: 0 for front or rear, 1 for left or right; the nearest that the radar sees.

    Hardly any ray hits the long side of a car that comes straight towards the radar.
    """
    seen_m = np.abs(radar - point) * half[::-1]  # times a factor that both have
    is_hidden = (np.abs(radar) <= half) | (seen_m < GRAZING_RATIO * seen_m[:, ::-1])
    is_hidden[is_hidden.all(axis=1)] = False
    return np.asarray(np.argmin(np.where(is_hidden, np.inf, np.abs(beyond)), axis=1))


def _measure_side(point: Float, beyond: Float, half: Float, normal: int) -> tuple[Float, Float]:
    """Measured minus assumed position of the centre (2,) in the axes of the box, and the variances (2,)."""
    along, count = 1 - normal, len(point)
    off, variance = np.empty(2), np.empty(2)
    off[normal], variance[normal] = beyond[:, normal].mean(), SIDE_SIGMA_M**2
    off[along] = (point[:, along].min() + point[:, along].max()) / 2.0
    # the midrange of `count` draws from a uniform distribution
    variance[along] = (2.0 * half[along]) ** 2 / (2.0 * (count + 1) * (count + 2))
    variance[along] = max(variance[along], ALONG_SIGMA_MIN_M**2)
    return off, variance
