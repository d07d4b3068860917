"""Multi-object tracking of road users: identities, velocities and headings from per-frame detections with positions.

Association works without appearance and in two rounds, confident detections first, then weak ones for the remaining
tracks (Zhang et al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box", ECCV 2022). Each round is
an optimal assignment by Mahalanobis distance on the ground and box overlap in the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from av_core.types import EgoState, Float, ObjectKind, RangedObject, TrackedObject
from perception.map_index import MapIndex
from perception.radar.returns import RadarReturns
from perception.tracking.association import drop_duplicates, match_measurements
from perception.tracking.lane_motion import initial_velocities, lane_constraints
from perception.tracking.object_scale import SCALE_VARIANCE, rescale
from perception.tracking.radar_tracks import (
    CONFIDENCE,
    CONFIDENCE_GAIN,
    RADAR_HOLDS_S,
    drop_inner_tracks,
    explain_returns,
    init_radial,
    merge_tracks,
    new_tracks,
    sees_well,
    unexplained_groups,
    update_tracks,
    without_ghosts,
)
from perception.tracking.track_kernel import age_tracks, export_tracks, init_tracks, update_attributes
from perception.tracking.track_rows import CAMERAS_MAX, KINDS, TRACK, Rows
from perception.tracking.tracks import concatenate, exclude, measurements_of, select, turn_to_map
from perception.tracking.turning_motion import constrain_velocity, correct_velocity, predict, update_positions
from perception.tracking.views import View, in_clear_view

OUTLIER_GATE = 6.0
"""Squared Mahalanobis distance beyond which a measurement counts as an outlier and is weighted down: an object that
comes out from behind another seems to jump, and flow corners may lie on a reflection."""


@dataclass(frozen=True, slots=True)
class TrackerConfig:
    """Thresholds of the tracker.

    * `sure_min`: confidence that splits the detections into the two rounds.
    * `weak_min`: detections below this confidence are dropped.
    * `hits_min`: number of matches after which a track is published.
    * `coast_s`, `doubt_s`: time without a match after which a published and an unpublished track end.
    * `shown_min`: a track's confidence fades between matches; while it is below this, the track is not published.
    * `gap_max_s`: a longer time step resets the tracker.
    * `radar_velocity_max_mps`: tracks that no camera has seen yet are not published while the standard deviation of
      their velocity is larger.
    * `radar_coast_s`: time after the last return at which such tracks end.
    """

    sure_min: float = 0.5
    weak_min: float = 0.15
    hits_min: int = 3
    shown_min: float = 0.2
    coast_s: float = 1.3
    doubt_s: float = 0.25
    gap_max_s: float = 2.0
    radar_velocity_max_mps: float = 2.0
    radar_coast_s: float = 0.6


NOISE = np.array([(1.4, 1.4, 0.4, 0.2)] * 5 + [(0.7, 0.7, 0.1, 0.1)])
"""Process noise densities of velocity (x, y), acceleration and turn rate for each of `KINDS`; pedestrians are last."""

INITIAL_SIGMA = np.array([(7.0, 7.0, 1.0, 0.15)] * 4 + [(5.0, 5.0, 1.0, 0.2), (1.5, 1.5, 0.1, 0.1)])
"""Standard deviations of a new track's velocity (x, y), acceleration and turn rate for each of `KINDS`."""

IS_WALKER = np.array([kind is ObjectKind.PEDESTRIAN for kind in KINDS])
HEADING_MIN_MPS = np.where(IS_WALKER, 0.4, 1.5)
"""Minimum speed of each kind at which the velocity gives the heading."""

CONFIDENCE_TIME_S = 0.8
"""Decay time of a track's confidence, s."""

EGO_SPEED_SIGMA_MPS, FLOW_SIGMA_MPS = 0.05, 0.5
"""Standard deviations, m/s, of the ego's speed and of optical-flow velocities. The latter covers corners that lie on no
rigid face: wheels, reflections, edges against the background."""


StartProbability = Callable[[ObjectKind, tuple[float, float, float, float], float], float]
"""Probability that a road user of a kind is in a box (u0, v0, u1, v1) px with a score, as `plausibility` gives it."""


class Tracker:
    """Tracks road users over time; call `update` with each frame's ranged objects in order of time.

    The measurements of the cameras are processed one camera after the other. An object that two cameras see is one
    track, and counts as one match per instant. A track ends after a time in which no camera at all sees it.

    Positions are relative to the ego's estimated pose. The pose's error is not in the covariances, since the planner
    uses the same estimate. With the map's `index`, vehicles are assumed to drive along its lanes.
    """

    def __init__(self, config: TrackerConfig | None = None, index: MapIndex | None = None) -> None:
        self._config, self._index = config or TrackerConfig(), index
        self._tracks: Rows = np.zeros(0, TRACK)
        self._time_s: float | None = None
        self._next_id = 1

    def update(
        self,
        ego: EgoState,
        seen: Sequence[RangedObject],
        *others: Sequence[RangedObject],
        checks: Sequence[StartProbability | None] = (),
        radar: RadarReturns | None = None,
        views: Sequence[View] = (),
    ) -> tuple[TrackedObject, ...]:
        """Confirmed tracks at the ego's stamp, nearest first, with their boxes in the first camera.

        `seen` holds the first camera's objects, `others` those of each further camera, always in the same order.
        * `checks`: one for each camera, or None. An object without a track starts one if its camera's check gives at
          least `sure_min`; without a check it always may.
        * `radar`: the returns of all radars.
        * `views`: the views of the cameras that sent a picture now. A standing road user that is in clear view of such
          a camera, but not detected, is not kept alive by radar.

        Non-finite objects are dropped. A step back in time or a gap of more than `gap_max_s` clears all tracks. Raises
        ValueError for more than `CAMERAS_MAX` cameras.
        """
        if len(others) >= CAMERAS_MAX:
            raise ValueError(f"{1 + len(others)} cameras: at most {CAMERAS_MAX} can be tracked with")
        config = self._config
        dt = 0.0 if self._time_s is None else ego.stamp.time_s - self._time_s
        if not 0.0 <= dt <= config.gap_max_s:
            self._tracks, dt = np.zeros(0, TRACK), 0.0
        self._time_s = ego.stamp.time_s
        _predict(self._tracks, dt)
        for camera, things in enumerate((seen, *others)):
            if things or camera == 0:
                self._update_camera(camera, things, ego, checks[camera] if camera < len(checks) else None)
        if radar is not None:
            self._update_radar(radar, ego, views)
        shown = select(self._tracks, self._tracks["confidence"] >= config.shown_min)
        return _to_objects(without_ghosts(shown, config.hits_min), config.hits_min, ego)

    def _update_radar(self, returns: RadarReturns, ego: EgoState, views: Sequence[View]) -> None:
        """Update the tracks with the radars' returns, and start tracks of moving cars."""
        tracks, config = _widened(self._tracks, ego), self._config
        owner = explain_returns(tracks, returns, in_clear_view(tracks, views))
        rows = update_tracks(tracks, returns, owner)
        groups = unexplained_groups(tracks, returns, owner)
        kept = tracks.take(rows)
        if self._index is not None:
            _apply_lane_directions(kept, self._index)
        _note_radar(kept)
        is_vague = kept["is_by_radar"] & ~sees_well(kept["covariance"], config.radar_velocity_max_mps)
        kept["hits"][is_vague] = np.minimum(kept["hits"][is_vague], config.hits_min - 1)
        tracks = self._tracks
        tracks[rows] = kept
        started = new_tracks(groups, self._next_id)
        self._next_id += len(started)
        if self._index is not None and len(started):
            _init_velocities(started, self._index)
        init_radial(started, groups)
        started["scale_variance"] = SCALE_VARIANCE
        tracks = merge_tracks(tracks, _widened(tracks, ego)["covariance"], config.hits_min)
        self._tracks = drop_inner_tracks(concatenate(tracks, started), config.hits_min)

    def _update_camera(
        self, camera: int, seen: Sequence[RangedObject], ego: EgoState, check: StartProbability | None
    ) -> None:
        """Update the tracks with one camera's objects: associate, correct, drop expired tracks, start new ones."""
        config = self._config
        sure, weak = measurements_of(seen, ego, config.sure_min, config.weak_min)
        kept, left, unmatched = _associate(self._tracks, sure, ego, camera)
        kept_weak, left, _ = _associate(left, weak, ego, camera)
        kept = concatenate(kept, kept_weak)
        if self._index is not None:
            _apply_lane_directions(kept, self._index)
        kept["unseen_s"] = 0.0
        tracks = drop_duplicates(concatenate(kept, self._unexpired(left)))
        new = self._plausible(unmatched, check)
        self._tracks = concatenate(tracks, self._start_tracks(new, ego, camera)) if len(new) else tracks

    @property
    def tracks(self) -> Rows:
        """All tracks, rows of `TRACK`, including those not yet confirmed."""
        return self._tracks.copy()

    def _unexpired(self, tracks: Rows) -> Rows:
        if not len(tracks):
            return tracks
        config = self._config
        longest_s = np.where(tracks["hits"] >= config.hits_min, config.coast_s, config.doubt_s)
        longest_s[tracks["is_by_radar"]] = config.radar_coast_s
        return select(tracks, tracks["unseen_s"] <= longest_s)

    def _plausible(self, measurements: Rows, check: StartProbability | None) -> Rows:
        """The measurements that may start a track."""
        if check is None or not len(measurements):
            return measurements
        columns = (measurements[name].tolist() for name in ("kind", "box_px", "confidence"))
        likely = [check(KINDS[kind], tuple(box), score) for kind, box, score in zip(*columns, strict=True)]
        return select(measurements, np.array(likely) >= self._config.sure_min)

    def _start_tracks(self, measurements: Rows, ego: EgoState, camera: int) -> Rows:
        tracks = np.zeros(len(measurements), TRACK)
        init_tracks(tracks, measurements, camera, self._next_id, ego.x_m, ego.y_m, INITIAL_SIGMA)
        self._next_id += len(measurements)
        if self._index is not None:
            _init_velocities(tracks, self._index)
        tracks["scale_variance"] = SCALE_VARIANCE
        rescale(tracks, measurements, ego.x_m, ego.y_m)
        return tracks


def _predict(tracks: Rows, dt_s: float) -> None:
    """Predict the tracks `dt_s` ahead, in place."""
    if not len(tracks):
        return
    predict(tracks["state"], tracks["covariance"], dt_s, NOISE, tracks["kind"], tracks["free_mps"])
    age_tracks(tracks, dt_s, np.exp(-dt_s / CONFIDENCE_TIME_S))


def _associate(tracks: Rows, measurements: Rows, ego: EgoState, camera: int) -> tuple[Rows, Rows, Rows]:
    """One association round -> (matched and corrected tracks, unmatched tracks, unmatched measurements).

    `tracks` may be changed in place.
    """
    rows, columns = match_measurements(tracks, measurements, ego, camera)
    if not len(rows):
        return tracks[:0], tracks, measurements
    matched = tracks if len(rows) == len(tracks) else tracks.take(rows)  # where all are matched, they keep their order
    _correct(matched, measurements.take(columns), ego, camera)
    return matched, exclude(tracks, rows), exclude(measurements, columns)


def _correct(tracks: Rows, measurements: Rows, ego: EgoState, camera: int) -> None:
    """Correct each track in place by its row's measurement; `rescale` corrects the measured distance before."""
    state, covariance = tracks["state"], tracks["covariance"]
    further_m, off_m = rescale(tracks, measurements, ego.x_m, ego.y_m)
    # the camera's persistent error must not pull a track away from the position by radar
    is_ranged = (tracks["radar_age_s"] < RADAR_HOLDS_S)[:, None, None]
    noise = np.where(is_ranged, measurements["spread_m2"], measurements["noise_m2"])
    update_positions(state, covariance, off_m, noise, OUTLIER_GATE)
    moving = np.flatnonzero(np.isfinite(measurements["span_s"]))
    if len(moving):
        velocity, noise = _velocity_in_map(measurements[moving], further_m[moving], ego)
        state[moving], covariance[moving] = correct_velocity(
            state[moving], covariance[moving], velocity, noise, measurements["span_s"][moving], OUTLIER_GATE
        )
    update_attributes(tracks, measurements, camera, HEADING_MIN_MPS)


def _widened(tracks: Rows, ego: EgoState) -> Rows:
    """A copy of the tracks; where no radar has seen them lately, the camera's persistent error is added to the
    covariance.
    """
    tracks = tracks.copy()
    rows = np.flatnonzero(tracks["is_split"] & (tracks["radar_age_s"] >= RADAR_HOLDS_S))
    if len(rows):
        turn = turn_to_map(ego)
        tracks["covariance"][rows, :2, :2] += turn @ tracks["steady_m2"][rows] @ turn.T
    return tracks


def _note_radar(tracks: Rows) -> None:
    """Note in place that a radar has seen the tracks now."""
    velocity = tracks["state"][:, 2:4]
    heads = np.hypot(*velocity.T) >= HEADING_MIN_MPS[tracks["kind"]]
    tracks["yaw_rad"][heads] = np.arctan2(velocity[heads, 1], velocity[heads, 0])
    is_first = tracks["unseen_s"] > 0.0
    tracks["hits"] += is_first
    gained = tracks["confidence"] + CONFIDENCE_GAIN * (1.0 - tracks["confidence"]) * CONFIDENCE
    tracks["confidence"] = np.where(is_first, np.minimum(gained, 1.0), tracks["confidence"])
    tracks["unseen_s"] = tracks["radar_age_s"] = 0.0
    tracks["is_split"] = False  # the persistent error belongs to the camera only


def _init_velocities(tracks: Rows, index: MapIndex) -> None:
    """Give new vehicle tracks the velocity prior of the lanes at their position, and the lane's free-flow speed."""
    mean, spread, free_mps = initial_velocities(index, tracks["state"][:, :2])
    told = np.flatnonzero(np.isfinite(mean[:, 0]) & ~IS_WALKER[tracks["kind"]])
    tracks["state"][told, 2:4], tracks["covariance"][told, 2:4, 2:4] = mean[told], spread[told]
    tracks["free_mps"][told] = free_mps[told]


def _apply_lane_directions(tracks: Rows, index: MapIndex) -> None:
    """Correct moving vehicles by the directions of the lanes they may be driving in."""
    velocity = tracks["state"][:, 2:4]
    is_first = tracks["unseen_s"] > 0.0  # once an instant: a second camera's match adds no new lane information
    is_moving = np.hypot(*velocity.T) >= HEADING_MIN_MPS[tracks["kind"]]
    moving = np.flatnonzero(is_first & is_moving & ~IS_WALKER[tracks["kind"]])
    if not len(moving):
        return
    across, sigma, free_mps = lane_constraints(index, tracks["state"][moving, :2], velocity[moving])
    told = np.isfinite(sigma)
    moving = moving[told]
    tracks["free_mps"][moving] = free_mps[told]
    tracks["state"][moving], tracks["covariance"][moving] = constrain_velocity(
        tracks["state"][moving], tracks["covariance"][moving], across[told], sigma[told], OUTLIER_GATE
    )


def _velocity_in_map(measurements: Rows, further_m: Float, ego: EgoState) -> tuple[Float, Float]:
    """Velocities over ground (N, 2) in the map frame, with covariances (N, 2, 2), from the flow in `measurements`.

    `further_m` (N,) is how much further away the objects are than assumed when the flow was scaled.
    """
    off_m = measurements["off_m"]
    depth_sigma = np.sqrt(np.einsum("ni,nij,nj->n", off_m, measurements["spread_m2"], off_m)) / (off_m**2).sum(axis=1)
    share = (1.0 + further_m / measurements["depth_m"])[:, None]
    turn, relative = turn_to_map(ego), measurements["velocity_mps"] * share
    # A mean over the span is valid half a span ago: the ego had another heading and speed then.
    back = ego.yaw_rate_radps * measurements["span_s"] / 2.0
    speed = ego.speed_mps - ego.accel_mps2 * measurements["span_s"] / 2.0
    own = np.stack([speed * np.cos(back), -speed * np.sin(back)], axis=1)
    stretch = depth_sigma[:, None] * relative
    noise = measurements["velocity_noise"] * share[:, :, None] ** 2 + stretch[:, :, None] * stretch[:, None, :]
    noise = noise + (EGO_SPEED_SIGMA_MPS**2 + FLOW_SIGMA_MPS**2) * np.eye(2)
    return (relative + own) @ turn.T, turn @ noise @ turn.T


def _to_objects(tracks: Rows, hits_min: int, ego: EgoState) -> tuple[TrackedObject, ...]:
    """The tracks with at least `hits_min` matches as `TrackedObject`s, nearest first."""
    rows, covariances = export_tracks(tracks, hits_min, ego.x_m, ego.y_m, ego.yaw_rad, IS_WALKER)
    out = []
    for row, covariance in zip(rows.tolist(), covariances, strict=True):
        track_id, kind, x, y, yaw, vx, vy, length, width, height, confidence, box_age_s, u0, v0, u1, v1 = row
        out.append(
            TrackedObject(
                track_id=int(track_id),
                kind=KINDS[int(kind)],
                x_m=x,
                y_m=y,
                yaw_rad=yaw,
                velocity_mps=(vx, vy),
                length_m=length,
                width_m=width,
                height_m=height,
                confidence=confidence,
                box_px=(u0, v0, u1, v1) if box_age_s == 0.0 else None,
                covariance=covariance,
            )
        )
    return tuple(out)
