"""Road users over time: identities, velocities and headings from positions of single frames.

Association without appearance in two rounds, sure detections first, then weak ones for the tracks left over (Zhang et
al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box", ECCV 2022), each an optimal assignment by
Mahalanobis distance on the ground and overlap in the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from av_stack.frames import rotation_matrix, vehicle_to_map
from av_stack.types import Distance, EgoState, ObjectKind, Pose2D, RangedObject, SeenMotion, TrackedObject
from perception.depth.ranging import fuse
from perception.turning_motion import STATE_SIZE, correct, correct_velocity, predict

Float = NDArray[np.float64]
Box = tuple[float, float, float, float]

GATE = 11.8
"""Squared Mahalanobis distance of three sigma with two degrees of freedom."""

SURPRISE = 6.0
"""The same, beyond which a measurement is taken for a rare error: what comes out from behind something seems to jump,
and corners may belong to a reflection."""

OVERLAP_MIN, OVERLAP_WEIGHT, OVERLAP_MAX_AGE_S = 0.3, 6.0, 0.25
OTHER_KIND_COST = 6.0
FORBIDDEN = 1e6
WIDE = (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS)


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


@dataclass(frozen=True, slots=True)
class _Motion:
    """What a kind of road user does: noise densities (velocity, acceleration, turn rate), spread at birth (same)."""

    noise: tuple[float, float, float]
    birth: tuple[float, float, float]


_VEHICLE = _Motion((1.0, 0.4, 0.2), (7.0, 1.0, 0.15))
_CYCLE = _Motion((1.0, 0.4, 0.2), (5.0, 1.0, 0.2))
_WALKER = _Motion((0.7, 0.1, 0.1), (1.5, 0.1, 0.1))
_MOTION = {
    ObjectKind.CAR: _VEHICLE,
    ObjectKind.TRUCK: _VEHICLE,
    ObjectKind.BUS: _VEHICLE,
    ObjectKind.MOTORCYCLE: _VEHICLE,
    ObjectKind.BICYCLE: _CYCLE,
    ObjectKind.PEDESTRIAN: _WALKER,
}

HEADING_MIN_MPS = {ObjectKind.PEDESTRIAN: 0.4}
HEADING_MIN_DEFAULT_MPS = 1.5
SIZE_GAIN = 0.1
CONFIDENCE_GAIN, CONFIDENCE_TIME_S = 0.3, 0.8
TWIN_M = 0.8
STEADY_VELOCITY_MPS = 0.4
"""What a vehicle's velocity is wrong by for seconds: it turns, wheels and reflections move otherwise than its body."""

EGO_SPEED_SIGMA_MPS, FLOW_SIGMA_MPS = 0.05, 0.2
"""The second is of what corners do that belong to no rigid face: wheels, reflections, edges against the background."""

BOX_CORRELATION = 4.0
"""A detector is wrong about a box in neighbouring pictures alike: that many of them tell one new thing."""

FOOT_CORRELATION, SCALE_DRIFT = 4.0, 1e-5
"""Foot points share their error over several pictures; heights stay, but for what of them is seen."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Natural logarithm of the object's height over its kind's mean, with variance."""

    log: float = 0.0
    variance: float = 0.02


@dataclass(frozen=True, slots=True)
class Track:
    """One believed road user; `state` (6,) and `covariance` (6, 6) as in `turning_motion`, in the map frame."""

    track_id: int
    state: Float
    covariance: Float
    last: RangedObject
    yaw_rad: float
    confidence: float
    votes: dict[ObjectKind, float] = field(default_factory=dict)
    hits: int = 1
    unseen_s: float = 0.0
    scale: Scale = Scale()

    @property
    def kind(self) -> ObjectKind:
        return max(self.votes, key=lambda kind: self.votes[kind])


class Tracker:
    """Call `update` with each frame's ranged objects in order of time.

    Positions are relative to where the ego believes to be: its own error is not in the covariances, since whoever
    plans uses the same belief.
    """

    def __init__(self, config: TrackerConfig | None = None) -> None:
        self._config = config or TrackerConfig()
        self._tracks: list[Track] = []
        self._time_s: float | None = None
        self._next_id = 1

    def update(self, ego: EgoState, seen: Sequence[RangedObject]) -> tuple[TrackedObject, ...]:
        """Tracks that are believed in at the ego's stamp, nearest first.

        What is not finite is left out. A step back in time or a gap of more than `gap_max_s` forgets everything.
        """
        config = self._config
        dt = 0.0 if self._time_s is None else ego.stamp.time_s - self._time_s
        if not 0.0 <= dt <= config.gap_max_s:
            self._tracks, dt = [], 0.0
        self._time_s = ego.stamp.time_s
        self._tracks = _moved(self._tracks, dt)
        pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
        seen = [thing for thing in seen if _is_usable(thing) and thing.confidence >= config.weak_min]
        sure = [thing for thing in seen if thing.confidence >= config.sure_min]
        weak = [thing for thing in seen if thing.confidence < config.sure_min]
        kept, left, unmatched = self._round(self._tracks, sure, ego)
        kept_weak, left, _ = self._round(left, weak, ego)
        self._tracks = _without_twins([*kept, *kept_weak, *self._outlived(left)])
        self._tracks.extend(self._born(thing, pose) for thing in unmatched)
        given = [t for t in self._tracks if t.hits >= config.hits_min]
        given = [_with_steady_error(track, pose) for track in given]
        given.sort(key=lambda t: float(np.hypot(t.state[0] - pose.x_m, t.state[1] - pose.y_m)))
        return tuple(_tracked(track) for track in given)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """All tracks, those not yet given out included."""
        return tuple(self._tracks)

    def _round(
        self, tracks: list[Track], seen: list[RangedObject], ego: EgoState
    ) -> tuple[list[Track], list[Track], list[RangedObject]]:
        """(matched and corrected tracks, tracks left over, things left over)"""
        if not tracks or not seen:
            return [], tracks, seen
        places = [_in_map(thing, Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)) for thing in seen]
        cost = _costs(tracks, seen, places)
        rows, columns = linear_sum_assignment(cost)
        pairs = [(i, j) for i, j in zip(rows, columns, strict=True) if cost[i, j] < FORBIDDEN]
        matched = [_corrected(tracks[i], seen[j], ego) for i, j in pairs]
        used, taken = {i for i, _ in pairs}, {j for _, j in pairs}
        left = [track for i, track in enumerate(tracks) if i not in used]
        return matched, left, [thing for j, thing in enumerate(seen) if j not in taken]

    def _outlived(self, tracks: list[Track]) -> list[Track]:
        config = self._config
        return [t for t in tracks if t.unseen_s <= (config.coast_s if t.hits >= config.hits_min else config.doubt_s)]

    def _born(self, thing: RangedObject, pose: Pose2D) -> Track:
        position, _ = _in_map(thing, pose)
        spread = np.zeros(STATE_SIZE)
        velocity, accel, turn = _MOTION[thing.kind].birth
        spread[2:] = velocity, velocity, accel, turn
        covariance = np.diag(spread**2)
        covariance[:2, :2] = _jitter(thing, pose)
        state = np.concatenate([position, np.zeros(4)])
        yaw = pose.yaw_rad + (thing.yaw_rad or 0.0)
        scale = rescaled(thing, Scale())[1]
        track_id, self._next_id = self._next_id, self._next_id + 1
        votes = {thing.kind: thing.confidence}
        return Track(track_id, state, covariance, thing, yaw, thing.confidence * CONFIDENCE_GAIN, votes, scale=scale)


def overlap(a: Box, b: Box) -> float:
    """Intersection over union of two boxes (u0, v0, u1, v1); 0 for empty ones."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def _is_usable(thing: RangedObject) -> bool:
    values = (thing.x_m, thing.y_m, *thing.box_px, thing.length_m, thing.width_m, thing.height_m, thing.confidence)
    if not (np.isfinite(values).all() and np.isfinite(thing.covariance).all()):
        return False
    if thing.jitter is not None and not (np.isfinite(thing.jitter).all() and np.linalg.eigvalsh(thing.jitter)[0] > 0.0):
        return False
    return bool(np.linalg.eigvalsh(thing.covariance)[0] > 0.0)


def _in_map(thing: RangedObject, pose: Pose2D) -> tuple[Float, Float]:
    """Position (2,) and covariance (2, 2) in the map frame."""
    turn = rotation_matrix(pose.yaw_rad, 0.0, 0.0)[:2, :2]
    return vehicle_to_map([thing.x_m, thing.y_m], pose), turn @ thing.covariance @ turn.T


def _jitter(thing: RangedObject, pose: Pose2D) -> Float:
    """(2, 2) in the map frame: what is new in each picture. Only that averages out, and only that blurs velocities."""
    turn = rotation_matrix(pose.yaw_rad, 0.0, 0.0)[:2, :2]
    noise = thing.covariance if thing.jitter is None else BOX_CORRELATION * thing.jitter
    return np.asarray(turn @ noise @ turn.T)


def _moved(tracks: list[Track], dt_s: float) -> list[Track]:
    if not tracks:
        return []
    noise = np.array([_MOTION[track.kind].noise for track in tracks])
    states = np.stack([track.state for track in tracks])
    states, covariances = predict(states, np.stack([track.covariance for track in tracks]), dt_s, noise)
    fade = float(np.exp(-dt_s / CONFIDENCE_TIME_S))
    return [
        replace(t, state=state, covariance=covariance, unseen_s=t.unseen_s + dt_s, confidence=t.confidence * fade)
        for t, state, covariance in zip(tracks, states, covariances, strict=True)
    ]


def _costs(tracks: list[Track], seen: list[RangedObject], places: list[tuple[Float, Float]]) -> Float:
    """(tracks, things): negative log likelihood of each pair, less its overlap; FORBIDDEN beyond both gates."""
    states = np.stack([track.state[:2] for track in tracks])
    spreads = np.stack([track.covariance[:2, :2] for track in tracks])
    spread = spreads[:, None] + np.stack([noise for _, noise in places])[None]
    off = np.stack([position for position, _ in places])[None] - states[:, None]
    distance = np.einsum("mni,mnij,mnj->mn", off, np.linalg.inv(spread), off)
    cost = distance + np.log(np.linalg.det(spread))
    for i, track in enumerate(tracks):
        for j, thing in enumerate(seen):
            shared = overlap(track.last.box_px, thing.box_px) if track.unseen_s <= OVERLAP_MAX_AGE_S else 0.0
            if distance[i, j] > (4.0 * GATE if shared >= OVERLAP_MIN else GATE):
                cost[i, j] = FORBIDDEN
                continue
            cost[i, j] -= OVERLAP_WEIGHT * shared
            if (track.kind in WIDE) != (thing.kind in WIDE):
                cost[i, j] += OTHER_KIND_COST
    return np.asarray(np.minimum(cost, FORBIDDEN))


def rescaled(thing: RangedObject, scale: Scale) -> tuple[RangedObject, Scale]:
    """The thing with its distance by size corrected by what its foot points have told of its height so far.

    With a wrong height all distances are wrong by one factor, and so is the speed at which it comes nearer.
    """
    foot, size = thing.by_foot, thing.by_size
    if foot is None or size is None:
        return thing, scale
    noise = FOOT_CORRELATION * (foot.sigma_m / foot.range_m) ** 2 + (size.jitter_m / size.range_m) ** 2
    variance = scale.variance + SCALE_DRIFT
    gain = variance / (variance + noise)
    told = float(np.log(foot.range_m / size.range_m))
    scale = Scale(scale.log + gain * (told - scale.log), (1.0 - gain) * variance)
    right = size.range_m * float(np.exp(scale.log))
    sure = Distance(
        right, right * float(np.hypot(np.sqrt(scale.variance), size.jitter_m / size.range_m)), size.jitter_m
    )
    before, both = fuse([foot, size]), fuse([foot, sure])
    centre = float(np.hypot(thing.x_m, thing.y_m))
    if before is None or both is None or centre < 1.0:
        return thing, scale
    further = both.range_m - before.range_m
    factor = 1.0 + further / centre
    return replace(thing, x_m=thing.x_m * factor, y_m=thing.y_m * factor, near_m=thing.near_m + further), scale


def velocity_in_map(motion: SeenMotion, ego: EgoState, further: float, depth_sigma: float) -> tuple[Float, Float]:
    """Velocity over ground (2,) in the map frame and covariance (2, 2) of what moved as `motion` tells.

    `further` is how many times as far away it is as was believed then, `depth_sigma` what is left unsure of that, both
    as shares of the distance.
    """
    turn = rotation_matrix(ego.yaw_rad, 0.0, 0.0)[:2, :2]
    relative = motion.velocity_mps * further
    # The mean over the span is what the ego did half a span ago: in the axes of now, it headed elsewhere then.
    back = ego.yaw_rate_radps * motion.span_s / 2.0
    speed = ego.speed_mps - ego.accel_mps2 * motion.span_s / 2.0
    own = speed * np.array([np.cos(back), -np.sin(back)])
    noise = motion.covariance * further**2 + depth_sigma**2 * np.outer(relative, relative)
    noise = noise + (EGO_SPEED_SIGMA_MPS**2 + FLOW_SIGMA_MPS**2) * np.eye(2)
    return turn @ (relative + own), turn @ noise @ turn.T


def _corrected(track: Track, thing: RangedObject, ego: EgoState) -> Track:
    pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
    before = thing.near_m
    thing, scale = rescaled(thing, track.scale)
    position, _ = _in_map(thing, pose)
    state, covariance = correct(track.state, track.covariance, position, _jitter(thing, pose), SURPRISE)
    if thing.motion is not None:
        further = 1.0 + (thing.near_m - before) / thing.motion.depth_m
        velocity, noise = velocity_in_map(thing.motion, ego, further, _depth_sigma(thing))
        state, covariance = correct_velocity(state, covariance, velocity, noise, thing.motion.span_s, SURPRISE)
    votes = {**track.votes, thing.kind: track.votes.get(thing.kind, 0.0) + thing.confidence}
    old = track.last
    sizes = {
        name: getattr(old, name) + SIZE_GAIN * (getattr(thing, name) - getattr(old, name))
        for name in ("length_m", "width_m", "height_m")
    }
    kind = max(votes, key=lambda k: votes[k])
    if thing.kind is not kind or old.kind is not kind:
        sizes = {}
    speed = float(np.hypot(state[2], state[3]))
    yaw = track.yaw_rad
    if speed >= HEADING_MIN_MPS.get(kind, HEADING_MIN_DEFAULT_MPS):
        yaw = float(np.arctan2(state[3], state[2]))
    gained = track.confidence + CONFIDENCE_GAIN * (1.0 - track.confidence) * thing.confidence
    return replace(
        track,
        state=state,
        covariance=covariance,
        last=replace(thing, **sizes),
        yaw_rad=yaw,
        confidence=min(gained, 1.0),
        votes=votes,
        hits=track.hits + 1,
        unseen_s=0.0,
        scale=scale,
    )


def _depth_sigma(thing: RangedObject) -> float:
    """One standard deviation of the thing's distance, as a share of it."""
    at = np.array([thing.x_m, thing.y_m])
    return float(np.sqrt(at @ thing.covariance @ at) / (at @ at))


def _with_steady_error(track: Track, pose: Pose2D) -> Track:
    """The track with what does not average out back in its position's covariance."""
    if track.last.jitter is None:
        return track
    _, noise = _in_map(track.last, pose)
    covariance = track.covariance.copy()
    covariance[:2, :2] += noise
    if track.kind is not ObjectKind.PEDESTRIAN:
        covariance[2:4, 2:4] += STEADY_VELOCITY_MPS**2 * np.eye(2)
    return replace(track, covariance=covariance)


def _without_twins(tracks: list[Track]) -> list[Track]:
    """Of two tracks on one road user the one with fewer matches goes, unless both were seen in this very frame."""
    kept: list[Track] = []
    for track in sorted(tracks, key=lambda one: (-one.hits, one.track_id)):
        if not any(_is_twin(track, other) for other in kept):
            kept.append(track)
    return kept


def _is_twin(track: Track, other: Track) -> bool:
    if track.unseen_s == 0.0 and other.unseen_s == 0.0:
        return False
    near = float(np.hypot(*(track.state[:2] - other.state[:2]))) < TWIN_M
    return near and (track.kind in WIDE) == (other.kind in WIDE)


def _tracked(track: Track) -> TrackedObject:
    state = track.state
    return TrackedObject(
        track_id=track.track_id,
        kind=track.kind,
        x_m=float(state[0]),
        y_m=float(state[1]),
        yaw_rad=track.yaw_rad,
        velocity_mps=(float(state[2]), float(state[3])),
        length_m=track.last.length_m,
        width_m=track.last.width_m,
        height_m=track.last.height_m,
        confidence=track.confidence,
        box_px=track.last.box_px if track.unseen_s == 0.0 else None,
        covariance=track.covariance[:4, :4].copy(),
    )
