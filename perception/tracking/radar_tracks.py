"""The radar's part of tracking: returns update the tracks that explain them; unexplained returns start new tracks.

Radars see moving objects on all sides, but not their kind. So they correct position and velocity of the cameras'
tracks, never kind and size, and start tracks of cars. Standing returns start no track, because walls, poles and parked
cars send thousands of them. They may keep a track alive that the cameras cannot see now, such as a car that stops
beside the ego.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, ObjectKind
from perception.radar.clusters import cluster
from perception.radar.returns import RadarReturns
from perception.tracking.radar_boxes import (
    HEADING_SIGMA_MAX_RAD,
    beyond_boxes,
    heading_sigma,
    in_boxes,
    measure_position,
    position_covariances,
    shared_depths_m,
)
from perception.tracking.track_rows import NUMBER, TRACK, Rows
from perception.tracking.tracks import exclude, select
from perception.tracking.turning_motion import correct_radial_speed, update_positions

CAR, PEDESTRIAN = NUMBER[ObjectKind.CAR], NUMBER[ObjectKind.PEDESTRIAN]
CAR_SIZE_M = (4.6, 1.95, 1.58)
"""Assumed length, width and height, m, of a car that only radars see."""

GATE_SIGMA_M = 0.4
"""Standard deviation of the surface of a road user's box, m; it adds to that of the box's position."""

GATE_SIGMAS = 2.5
"""Gate on the distance between a return and a box, in standard deviations."""

SIGMA_MAX_M = 4.0
"""Largest standard deviation of a position that widens the gate, m."""

RADIAL_SIGMA_MPS = 0.5
"""Standard deviation of the radial speed of a point on a road user, m/s; it is mostly due to the body's rotation."""

RADIAL_GATE = 3.0
"""Gate on the difference between measured and predicted radial speed, in combined standard deviations."""

STANDING_GATE_M = 0.4
"""Distance outside a road user's box up to which a standing return is assigned to it, m."""

STANDING_RANGE_M = 25.0
"""Largest range of such a return, m. Further away the road itself sends returns of this height if the ego pitches."""

STANDING_HEIGHT_M = 0.3
"""Smallest height of such a return, m."""

UNSEEN_BY_CAMERA_S = 0.3
"""Time after the last camera match from which on standing returns may keep a camera's track, s."""

MISSED_BY_CAMERA_S = 2.0
"""Time after the last camera match from which on they no longer may, if a camera has a clear view of the track, s.

Then the road user is not there any more, and a bin or a kerb sends the returns."""

STANDS_MAX_MPS = 3.0
"""Speed of a track, m/s, up to which standing returns may keep it.

A car that brakes to a stop is followed by its moving returns down to less. A faster one that the cameras lose would
leave its track behind on the next pole."""

START_MIN_MPS = 2.0
"""Smallest radial speed, m/s, that starts a track; above that of a walker."""

WALKER_M = 1.5
"""Distance from a tracked pedestrian within which no return starts a track, m."""

START_SIGMA_M = 1.5
"""Standard deviation of a new track's position, m."""

START_VELOCITY_MPS = 7.0
"""Standard deviation of a new track's velocity, m/s, if it is on no lane that gives a prior."""

CONFIDENCE = 0.6
"""Confidence of a measurement by radar, in the place of a detector's score."""

CONFIDENCE_GAIN = 0.3
"""Weight of one tick's measurement in the confidence of a track."""

POSITION_GATE = 30.0
"""Squared Mahalanobis distance of a position above which it is weighted down.

Radar distances have no outliers; this is for returns that were assigned to the wrong road user."""

SPEED_GATE = 6.0
"""Squared Mahalanobis distance of a radial speed above which it is weighted down."""

RADAR_HOLDS_S = 0.5
"""Time after a radar return in which the distance by radar has priority over that by camera, s."""

GHOST_M = 0.5
"""Overlap depth, m, from which on two tracks are one road user and one of them is a radar's ghost."""

MERGE_MPS = 3.0
"""Largest difference of the velocities of two tracks on one road user, m/s."""

Numbers = NDArray[np.int64]
NONE = -1


def explain_returns(tracks: Rows, returns: RadarReturns, in_view: NDArray[np.bool_]) -> Numbers:
    """For each return (N,) the row of the track that it comes from, or NONE.

    `in_view` (T,) says which tracks the cameras should see.
    """
    if not len(tracks) or not len(returns):
        return np.full(len(returns), NONE)
    beyond = beyond_boxes(tracks, in_boxes(tracks, returns.place_m))
    away_sigmas, spread = _sigmas_away(tracks, beyond)
    variance = RADIAL_SIGMA_MPS**2 + np.einsum(
        "ni,tij,nj->tn", returns.sight, tracks["covariance"][:, 2:4, 2:4], returns.sight
    )
    off_sigmas = np.abs(returns.radial_mps - tracks["state"][:, 2:4] @ returns.sight.T) / np.sqrt(variance)
    is_near = np.where(returns.is_moving, away_sigmas <= GATE_SIGMAS, np.hypot(*beyond.T).T <= STANDING_GATE_M)
    fits = is_near & (off_sigmas <= RADIAL_GATE) & (tracks["kind"] != PEDESTRIAN)[:, None]
    fits &= returns.is_moving | (_may_stand(tracks, in_view)[:, None] & _is_body(returns))
    cost = away_sigmas**2 + off_sigmas**2 + np.log(np.linalg.det(spread))[:, None] + np.log(variance)
    owner = np.argmin(np.where(fits, cost, np.inf), axis=0)
    return np.where(fits.any(axis=0), owner, NONE)


def _sigmas_away(tracks: Rows, beyond: Float) -> tuple[Float, Float]:
    """Distances `beyond` (T, N, 2) the tracks' boxes in standard deviations (T, N), and the covariances (T, 2, 2)."""
    spread = position_covariances(tracks)
    spread *= np.minimum(SIGMA_MAX_M**2 / np.trace(spread, axis1=1, axis2=2), 1.0)[:, None, None]
    spread += GATE_SIGMA_M**2 * np.eye(2)
    return np.sqrt(np.einsum("tni,tij,tnj->tn", beyond, np.linalg.inv(spread), beyond)), spread


def _may_stand(tracks: Rows, in_view: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether standing returns may keep each track, (T,).

    They may if the track hardly moves, no camera has matched it lately, and no camera with a clear view has missed it
    for long.
    """
    unseen_s = tracks["box_age_s"].min(axis=1)
    is_slow = np.hypot(*tracks["state"][:, 2:4].T) <= STANDS_MAX_MPS
    return np.asarray(is_slow & (unseen_s > UNSEEN_BY_CAMERA_S) & ~(in_view & (unseen_s > MISSED_BY_CAMERA_S)))


def _is_body(returns: RadarReturns) -> NDArray[np.bool_]:
    """Whether a standing return may come from a body and not from the road."""
    near = np.hypot(*(returns.place_m - returns.radar_m).T) <= STANDING_RANGE_M
    return np.asarray(near & (returns.height_m >= STANDING_HEIGHT_M))


def update_tracks(tracks: Rows, returns: RadarReturns, owner: Numbers) -> Numbers:
    """Correct in place the tracks that own returns, by position and radial speed; returns their rows."""
    seen = np.unique(owner[owner != NONE])
    for row in seen.tolist():
        track, part = tracks[row : row + 1], returns.select(owner == row)
        states, covariances = track["state"], track["covariance"]
        for measured in measure_position(track, part, heading_sigma(track[0]) <= HEADING_SIGMA_MAX_RAD):
            off_m = measured.place_m - states[:, :2]
            update_positions(states, covariances, off_m, measured.noise_m2[None], POSITION_GATE)
        turns = _turns(part)  # the two outermost sights tell most of the velocity
        for number in {int(turns.argmin()), int(turns.argmax())}:
            _correct_radial(track, part.select(np.array([number])), SPEED_GATE)
    return seen


def _turns(returns: RadarReturns) -> Float:
    """Turn of each line of sight (N,) to the left of their mean direction; a number that grows with the angle."""
    mean = returns.sight.mean(axis=0)
    return np.asarray(mean[0] * returns.sight[:, 1] - mean[1] * returns.sight[:, 0])


def _correct_radial(track: Rows, one: RadarReturns, gate: float) -> None:
    """Correct in place the velocity of one track by the radial speed of one return."""
    track["state"], track["covariance"] = correct_radial_speed(
        track["state"], track["covariance"], one.sight, one.radial_mps, np.array([RADIAL_SIGMA_MPS]), gate
    )


def unexplained_groups(tracks: Rows, returns: RadarReturns, owner: Numbers) -> list[RadarReturns]:
    """Groups of fast returns that no track explains, each from one road user."""
    fast = (owner == NONE) & (np.abs(returns.radial_mps) >= START_MIN_MPS)
    walkers = tracks["state"][tracks["kind"] == PEDESTRIAN][:, :2]
    for place in walkers:
        fast &= np.hypot(*(returns.place_m - place).T) > WALKER_M
    left = returns.select(fast)
    return [left.select(rows) for rows in cluster(left)]


def new_tracks(groups: list[RadarReturns], first_id: int) -> Rows:
    """Tracks of cars at the groups' places, with no velocity yet."""
    tracks = np.zeros(len(groups), TRACK)
    radius = sum(CAR_SIZE_M[:2]) / 4.0
    for number, group in enumerate(groups):
        track = tracks[number]
        track["state"][:2] = (group.place_m + radius * group.sight).mean(axis=0)
        track["covariance"] = np.diag([START_SIGMA_M**2] * 2 + [START_VELOCITY_MPS**2] * 2 + [1.0, 0.15**2])
    tracks["track_id"] = first_id + np.arange(len(groups))
    tracks["kind"] = tracks["seen_kind"] = CAR
    tracks["votes"][:, CAR] = tracks["confidence"] = CONFIDENCE * CONFIDENCE_GAIN
    tracks["size_m"], tracks["hits"], tracks["is_by_radar"] = CAR_SIZE_M, 1, True
    tracks["free_mps"], tracks["box_age_s"] = math.nan, math.inf
    return tracks


def init_radial(tracks: Rows, groups: list[RadarReturns]) -> None:
    """Correct in place the velocity priors of new tracks by the radial speed of their groups, and set their heading."""
    for row, group in enumerate(groups):
        _correct_radial(tracks[row : row + 1], group.select(np.array([0])), math.inf)
        vx, vy = tracks["state"][row, 2:4]
        tracks["yaw_rad"][row] = math.atan2(vy, vx)


def drop_inner_tracks(tracks: Rows, hits_min: int) -> Rows:
    """Drop radar tracks inside the box of another road user: the two ends of a car beside the ego look like two cars.

    The track with more matches stays, and that of a camera once it has `hits_min`.
    """
    if not tracks["is_by_radar"].any():
        return tracks
    inside = (beyond_boxes(tracks, in_boxes(tracks, tracks["state"][:, :2])) == 0.0).all(axis=2)  # [box, centre]
    return select(tracks, ~((inside & _is_better(tracks, hits_min)).any(axis=0) & tracks["is_by_radar"]))


def without_ghosts(tracks: Rows, hits_min: int) -> Rows:
    """The tracks without the radar's ghosts, whose boxes reach `GHOST_M` into another one that a radar has just seen.

    A ghost is not published, but it stays a track, so that it can replace the other track if that one is wrong.
    """
    if not tracks["is_by_radar"].any():
        return tracks
    is_placed = (tracks["radar_age_s"] < RADAR_HOLDS_S) & (tracks["kind"] != PEDESTRIAN)
    shares = is_placed[:, None] & (shared_depths_m(tracks) >= GHOST_M)
    return select(tracks, ~((shares & _is_better(tracks, hits_min)).any(axis=0) & tracks["is_by_radar"]))


def _is_better(tracks: Rows, hits_min: int) -> NDArray[np.bool_]:
    """Whether the track of each row is more certain than the track of each column, (T, T).

    A camera's track with at least `hits_min` matches is the most certain, one with fewer the least. Radar tracks lie in
    between, by their number of matches. Of equally certain tracks the older one counts as more certain.
    """
    rank = np.where(tracks["is_by_radar"], tracks["hits"], np.where(tracks["hits"] >= hits_min, np.inf, -1))
    older = tracks["track_id"][:, None] < tracks["track_id"]
    return np.asarray((rank[:, None] > rank) | ((rank[:, None] == rank) & older))


def merge_tracks(tracks: Rows, covariances: Float, hits_min: int) -> Rows:
    """Merge each radar track into the camera's track of the same road user, which takes over its motion.

    Two such tracks exist if the distance from a picture was so wrong that no return fitted the camera's track. So
    `covariances` (T, 6, 6) must include the cameras' persistent errors.
    """
    is_shown = tracks["hits"] >= hits_min
    seen = np.flatnonzero(is_shown & ~tracks["is_by_radar"] & (tracks["radar_age_s"] > 0.0))
    seen = seen[tracks["kind"][seen] != PEDESTRIAN]
    found = np.flatnonzero(is_shown & tracks["is_by_radar"])
    if not len(seen) or not len(found):
        return tracks
    wide = tracks[seen]
    wide["covariance"] = covariances[seen]
    away_sigmas, _ = _sigmas_away(wide, beyond_boxes(wide, in_boxes(wide, tracks["state"][found, :2])))
    velocity = tracks["state"][:, 2:4]
    off_mps = np.hypot(*(velocity[seen][:, None] - velocity[found]).transpose(2, 0, 1))
    is_same = (away_sigmas <= GATE_SIGMAS) & (off_mps <= MERGE_MPS)
    for column in np.flatnonzero(is_same.any(axis=0)).tolist():
        row, other = seen[np.argmin(np.where(is_same[:, column], away_sigmas[:, column], np.inf))], found[column]
        for name in ("state", "covariance", "yaw_rad", "radar_age_s"):
            tracks[name][row] = tracks[name][other]
        tracks["is_split"][row] = False
    return exclude(tracks, found[is_same.any(axis=0)])


def sees_well(track_covariances: Float, sigma_max_mps: float) -> NDArray[np.bool_]:
    """Whether the velocity of each track (N,) is known to `sigma_max_mps` in every direction."""
    return np.asarray(np.linalg.eigvalsh(track_covariances[:, 2:4, 2:4])[:, -1] <= sigma_max_mps**2)
