"""Road users over time: identities, velocities and headings from positions of single frames.

Association without appearance in two rounds, sure detections first, then weak ones for the tracks left over (Zhang et
al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box", ECCV 2022), each an optimal assignment by
Mahalanobis distance on the ground and overlap in the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from av_stack.types import EgoState, Float, ObjectKind, RangedObject, TrackedObject
from perception.association import matches, without_twins
from perception.lane_motion import across_lanes, birth_velocities
from perception.map_index import MapIndex
from perception.object_scale import SCALE_VARIANCE, rescale
from perception.track_kernel import age, begin, given, recount
from perception.track_rows import CAMERAS_MAX, KINDS, TRACK, Rows
from perception.tracks import joined, looks_of, those, turn_to_map, without
from perception.turning_motion import correct_across, correct_velocity, fold_places, move

SURPRISE = 6.0
"""Squared Mahalanobis distance beyond which a measurement is taken for a rare error: what comes out from behind
something seems to jump, and corners may belong to a reflection."""


@dataclass(frozen=True, slots=True)
class TrackerConfig:
    """`sure_min` splits the detections into the two rounds; weak ones below `weak_min` are left out.

    A track is given out after `hits_min` matches and lives `coast_s` without one; before, it dies after `doubt_s`.
    """

    sure_min: float = 0.5
    weak_min: float = 0.15
    hits_min: int = 3
    coast_s: float = 1.3
    doubt_s: float = 0.25
    gap_max_s: float = 2.0


NOISE = np.array([(1.4, 1.4, 0.4, 0.2)] * 5 + [(0.7, 0.7, 0.1, 0.1)])
"""Noise densities of velocity (x, y), acceleration and turn rate of each of `KINDS`; walkers are the last."""

BIRTH = np.array([(7.0, 7.0, 1.0, 0.15)] * 4 + [(5.0, 5.0, 1.0, 0.2), (1.5, 1.5, 0.1, 0.1)])
"""Standard deviations at birth of velocity (x, y), acceleration and turn rate of each."""

IS_WALKER = np.array([kind is ObjectKind.PEDESTRIAN for kind in KINDS])
HEADING_MIN_MPS = np.where(IS_WALKER, 0.4, 1.5)
CONFIDENCE_TIME_S = 0.8

EGO_SPEED_SIGMA_MPS, FLOW_SIGMA_MPS = 0.05, 0.5
"""The second is of what corners do that belong to no rigid face: wheels, reflections, edges against the background."""


class Tracker:
    """Call `update` with each frame's ranged objects in order of time, camera by camera.

    A camera's sightings are folded in one after the other's: what two of them see is one track, and counts as one match
    of that instant. A track that a camera does not show loses nothing by that: tracks end by the time that no camera
    has seen them.

    Positions are relative to where the ego believes to be: its own error is not in the covariances, since whoever
    plans uses the same belief. With the map's `index`, vehicles are believed to drive along its lanes.
    """

    def __init__(self, config: TrackerConfig | None = None, index: MapIndex | None = None) -> None:
        self._config, self._index = config or TrackerConfig(), index
        self._tracks: Rows = np.zeros(0, TRACK)
        self._time_s: float | None = None
        self._next_id = 1

    def update(
        self, ego: EgoState, seen: Sequence[RangedObject], *others: Sequence[RangedObject]
    ) -> tuple[TrackedObject, ...]:
        """Tracks that are believed in at the ego's stamp, nearest first, with their boxes in the first camera.

        `seen` is what the first camera sees, `others` what each further one does, always in the same order. What is not
        finite is left out. A step back in time or a gap of more than `gap_max_s` forgets everything. Raises
        `ValueError` for more than `CAMERAS_MAX` cameras.
        """
        if len(others) >= CAMERAS_MAX:
            raise ValueError(f"{1 + len(others)} cameras: at most {CAMERAS_MAX} can be tracked with")
        config = self._config
        dt = 0.0 if self._time_s is None else ego.stamp.time_s - self._time_s
        if not 0.0 <= dt <= config.gap_max_s:
            self._tracks, dt = np.zeros(0, TRACK), 0.0
        self._time_s = ego.stamp.time_s
        _move(self._tracks, dt)
        for camera, things in enumerate((seen, *others)):
            if things or camera == 0:
                self._fold(camera, things, ego)
        return _given(self._tracks, config.hits_min, ego)

    def _fold(self, camera: int, seen: Sequence[RangedObject], ego: EgoState) -> None:
        """Change the tracks by what one camera sees."""
        config = self._config
        sure, weak = looks_of(seen, ego, config.sure_min, config.weak_min)
        kept, left, unmatched = _round(self._tracks, sure, ego, camera)
        kept_weak, left, _ = _round(left, weak, ego, camera)
        kept = joined(kept, kept_weak)
        if self._index is not None:
            _guide(kept, self._index)
        kept["unseen_s"] = 0.0
        tracks = without_twins(joined(kept, self._outlived(left)))
        self._tracks = joined(tracks, self._born(unmatched, ego, camera)) if len(unmatched) else tracks

    @property
    def tracks(self) -> Rows:
        """All tracks, rows of `TRACK`, those not yet given out included."""
        return self._tracks.copy()

    def _outlived(self, tracks: Rows) -> Rows:
        if not len(tracks):
            return tracks
        config = self._config
        longest_s = np.where(tracks["hits"] >= config.hits_min, config.coast_s, config.doubt_s)
        return those(tracks, tracks["unseen_s"] <= longest_s)

    def _born(self, looks: Rows, ego: EgoState, camera: int) -> Rows:
        tracks = np.zeros(len(looks), TRACK)
        begin(tracks, looks, camera, self._next_id, ego.x_m, ego.y_m, BIRTH)
        self._next_id += len(looks)
        if self._index is not None:
            _launch(tracks, looks, self._index)
        tracks["scale_variance"] = SCALE_VARIANCE
        rescale(tracks, looks, ego.x_m, ego.y_m)
        return tracks


def _move(tracks: Rows, dt_s: float) -> None:
    """Change the tracks to what they are `dt_s` later, as far as they know by themselves."""
    if not len(tracks):
        return
    move(tracks["state"], tracks["covariance"], dt_s, NOISE, tracks["kind"], tracks["free_mps"])
    age(tracks, dt_s, np.exp(-dt_s / CONFIDENCE_TIME_S))


def _round(tracks: Rows, looks: Rows, ego: EgoState, camera: int) -> tuple[Rows, Rows, Rows]:
    """(matched and corrected tracks, tracks left over, looks left over); `tracks` themselves may be changed"""
    rows, columns = matches(tracks, looks, ego, camera)
    if not len(rows):
        return tracks[:0], tracks, looks
    matched = tracks if len(rows) == len(tracks) else tracks.take(rows)  # all of them are matched in their order
    _correct(matched, looks.take(columns), ego, camera)
    return matched, without(tracks, rows), without(looks, columns)


def _correct(tracks: Rows, looks: Rows, ego: EgoState, camera: int) -> None:
    """Fold into each track the look of its row; the looks' places are set right by what is known of the tracks'
    sizes."""
    state, covariance = tracks["state"], tracks["covariance"]
    further_m, off_m = rescale(tracks, looks, ego.x_m, ego.y_m)
    fold_places(state, covariance, off_m, looks["noise_m2"], SURPRISE)
    moving = np.flatnonzero(np.isfinite(looks["span_s"]))
    if len(moving):
        velocity, noise = _velocity_in_map(looks[moving], further_m[moving], ego)
        state[moving], covariance[moving] = correct_velocity(
            state[moving], covariance[moving], velocity, noise, looks["span_s"][moving], SURPRISE
        )
    recount(tracks, looks, camera, HEADING_MIN_MPS)


def _launch(tracks: Rows, looks: Rows, index: MapIndex) -> None:
    """Give vehicles that have only just been seen the velocity of who drives in their lanes, and what they come to."""
    mean, spread, free_mps = birth_velocities(index, tracks["state"][:, :2])
    told = np.flatnonzero(np.isfinite(mean[:, 0]) & ~IS_WALKER[looks["kind"]])
    tracks["state"][told, 2:4], tracks["covariance"][told, 2:4, 2:4] = mean[told], spread[told]
    tracks["free_mps"][told] = free_mps[told]


def _guide(tracks: Rows, index: MapIndex) -> None:
    """Fold into the vehicles that move where the lanes that they may drive in lead."""
    velocity = tracks["state"][:, 2:4]
    is_first = tracks["unseen_s"] > 0.0  # the lanes tell nothing new to a second camera
    is_moving = np.hypot(*velocity.T) >= HEADING_MIN_MPS[tracks["kind"]]
    moving = np.flatnonzero(is_first & is_moving & ~IS_WALKER[tracks["kind"]])
    if not len(moving):
        return
    across, sigma, free_mps = across_lanes(index, tracks["state"][moving, :2], velocity[moving])
    told = np.isfinite(sigma)
    moving = moving[told]
    tracks["free_mps"][moving] = free_mps[told]
    tracks["state"][moving], tracks["covariance"][moving] = correct_across(
        tracks["state"][moving], tracks["covariance"][moving], across[told], sigma[told], SURPRISE
    )


def _velocity_in_map(looks: Rows, further_m: Float, ego: EgoState) -> tuple[Float, Float]:
    """Velocities over ground (N, 2) in the map frame and covariances (N, 2, 2) of what moved as `looks` tell.

    They lie `further_m` (N,) further away than was believed when the motion was seen.
    """
    off_m = looks["off_m"]
    depth_sigma = np.sqrt(np.einsum("ni,nij,nj->n", off_m, looks["spread_m2"], off_m)) / (off_m**2).sum(axis=1)
    share = (1.0 + further_m / looks["depth_m"])[:, None]
    turn, relative = turn_to_map(ego), looks["velocity_mps"] * share
    # The mean over the span is what the ego did half a span ago: in the axes of now, it headed elsewhere then.
    back = ego.yaw_rate_radps * looks["span_s"] / 2.0
    speed = ego.speed_mps - ego.accel_mps2 * looks["span_s"] / 2.0
    own = np.stack([speed * np.cos(back), -speed * np.sin(back)], axis=1)
    stretch = depth_sigma[:, None] * relative
    noise = looks["velocity_noise"] * share[:, :, None] ** 2 + stretch[:, :, None] * stretch[:, None, :]
    noise = noise + (EGO_SPEED_SIGMA_MPS**2 + FLOW_SIGMA_MPS**2) * np.eye(2)
    return (relative + own) @ turn.T, turn @ noise @ turn.T


def _given(tracks: Rows, hits_min: int, ego: EgoState) -> tuple[TrackedObject, ...]:
    """The tracks with enough matches as others get them, nearest first."""
    rows, covariances = given(tracks, hits_min, ego.x_m, ego.y_m, ego.yaw_rad, IS_WALKER)
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
