"""The tracker against road users whose way is known, watched from a moving ego through realistic noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.frames import map_to_vehicle, rotation_matrix
from av_core.types import (
    EgoState,
    Float,
    LaneKey,
    ObjectKind,
    Pose2D,
    RangedObject,
    SeenMotion,
    Stamp,
    TrackedObject,
)
from perception.tracking.association import overlap
from perception.tracking.tracker import Tracker
from tests.perception.simulated_drives import DT_S, Noise, drive_lane, two_way_road

Way = Callable[[float], tuple[float, float]]
FOCAL_PX, WIDTH_PX = 554.0, 640


def ego_at(frame: int, x: float = 0.0, y: float = 0.0, yaw: float = 0.0, speed: float = 0.0) -> EgoState:
    return EgoState(Stamp(frame, frame * DT_S), x, y, yaw, speed, 0.0, 0.0, np.eye(4) * 1e-4)


def noise_of(distance_m: float) -> tuple[float, float]:
    """Sigma along and across the ray: 5 % of the distance at 40 m (a pixel of the foot point), 1 px sideways."""
    return 0.15 + 0.05 * distance_m**2 / 40.0, 0.05 + distance_m / FOCAL_PX


def see(
    ego: EgoState, at: tuple[float, float], rng: np.random.Generator | None = None, kind: ObjectKind = ObjectKind.CAR
) -> RangedObject:
    """A car at a place of the map, as ranging would give it."""
    local = map_to_vehicle(at, Pose2D(ego.x_m, ego.y_m, ego.yaw_rad))
    distance = float(np.hypot(*local))
    along, across = noise_of(distance)
    turn = rotation_matrix(math.atan2(local[1], local[0]), 0.0, 0.0)[:2, :2]
    if rng is not None:
        local = local + turn @ rng.normal(0.0, [along, across])
    covariance = turn @ np.diag([along**2, across**2]) @ turn.T
    u = WIDTH_PX / 2 - FOCAL_PX * local[1] / max(local[0], 1.0)
    half = FOCAL_PX * 0.9 / max(local[0], 1.0)
    box = (u - half, 170.0, u + half, 180.0 + FOCAL_PX * 1.6 / max(local[0], 1.0))
    return RangedObject(kind, 0.9, box, float(local[0]), float(local[1]), covariance, 4.5, 1.8, 1.5, distance)


def velocity_of(way: Way, time_s: float) -> Float:
    return np.asarray((np.array(way(time_s + 0.01)) - np.array(way(time_s - 0.01))) / 0.02)


@pytest.mark.parametrize("seed", range(4))
def test_velocities_within_1_mps_rms_while_the_ego_drives_round_bends(seed: int) -> None:
    """The ego follows a winding road with its noisy yaw; a leader, an oncoming and a parked car are round it."""
    rng = np.random.default_rng(seed)
    road = two_way_road([(120.0, 0.0), (60.0, 0.01), (80.0, -0.008), (120.0, 0.0)])
    lane, other = road.lanes[LaneKey(1, 0, -1)], road.lanes[LaneKey(1, 0, 1)]

    def along(points: Float, s: Float, at: float) -> tuple[float, float]:
        return float(np.interp(at, s, points[:, 0])), float(np.interp(at, s, points[:, 1]))

    ways: dict[int, Way] = {
        0: lambda t: along(lane.points, lane.s_m, 20.0 + 9.0 * t + 4.0 * math.sin(0.5 * t)),
        1: lambda t: along(other.points, other.s_m, 8.0 * t),
        2: lambda t: (float(lane.points[150, 0]) + 2.0, float(lane.points[150, 1]) + 8.0),
    }
    tracker, errors, ids = Tracker(), [], {0: set[int](), 1: set[int](), 2: set[int]()}
    for sample in drive_lane(lane, rng, Noise()):
        t = sample.frame.stamp.time_s
        true = ego_at(sample.frame.stamp.frame, sample.pose.x_m, sample.pose.y_m, sample.pose.yaw_rad, sample.speed_mps)
        ego = replace(true, yaw_rad=true.yaw_rad + 0.001 * math.sin(t))  # a heading error that comes and goes
        places = {name: way(t) for name, way in ways.items()}
        local = {name: map_to_vehicle(p, sample.pose) for name, p in places.items()}
        visible = [n for n, p in local.items() if 3.0 < p[0] < 60.0 and abs(p[1]) < 0.55 * p[0]]
        tracks = tracker.update(ego, [see(true, places[name], rng) for name in visible])
        for name in visible:
            track = nearest(tracks, places[name])
            if track is None or np.hypot(*local[name]) > 40.0:
                continue
            ids[name].add(track.track_id)
            errors.append(np.hypot(*(np.array(track.velocity_mps) - velocity_of(ways[name], t))))
    assert len(errors) > 300
    assert math.sqrt(np.mean(np.square(errors))) < 1.0


def nearest(tracks: tuple[TrackedObject, ...], at: tuple[float, float]) -> TrackedObject | None:
    close = [t for t in tracks if np.hypot(t.x_m - at[0], t.y_m - at[1]) < 4.0]
    return min(close, key=lambda t: np.hypot(t.x_m - at[0], t.y_m - at[1]), default=None)


def test_a_turning_car_is_followed_through_its_turn() -> None:
    """A quarter circle of 12 m radius at 7 m/s, the turn of a junction, watched from a standing ego."""
    rng, tracker, errors = np.random.default_rng(3), Tracker(), []

    def way(t: float) -> tuple[float, float]:
        straight, quarter = 2.0, 12.0 * math.pi / 2.0 / 7.0
        if t < straight:
            return 14.0, -6.0 + 7.0 * (t - straight)
        angle = min((t - straight) / quarter, 1.0) * math.pi / 2.0
        beyond = max(t - straight - quarter, 0.0) * 7.0
        return 14.0 + 12.0 * (1.0 - math.cos(angle)) + beyond, -6.0 + 12.0 * math.sin(angle)

    for frame in range(110):
        ego, t = ego_at(frame), frame * DT_S
        tracks = tracker.update(ego, [see(ego, way(t), rng)])
        if t > 1.0:
            assert len(tracks) == 1
            errors.append(np.hypot(*(np.array(tracks[0].velocity_mps) - velocity_of(way, t))))
    assert math.sqrt(np.mean(np.square(errors))) < 1.0
    assert abs(tracks[0].yaw_rad) < 0.2


@pytest.mark.parametrize("hidden_s", [0.3, 1.0])
def test_identity_outlives_an_occlusion_and_positions_go_on(hidden_s: float) -> None:
    rng, tracker = np.random.default_rng(1), Tracker()

    def way(t: float) -> tuple[float, float]:
        return 20.0 + 1.0 * t, -10.0 + 6.0 * t

    identities = set()
    for frame in range(80):
        ego, t = ego_at(frame), frame * DT_S
        hidden = 1.5 <= t < 1.5 + hidden_s
        tracks = tracker.update(ego, [] if hidden else [see(ego, way(t), rng)])
        identities |= {track.track_id for track in tracks}
        if hidden:
            assert tracks[0].box_px is None
            assert np.hypot(tracks[0].x_m - way(t)[0], tracks[0].y_m - way(t)[1]) < 2.0
    assert len(identities) == 1


def test_what_is_gone_is_forgotten_after_its_time_and_noise_is_never_shown() -> None:
    tracker = Tracker()
    for frame in range(20):
        tracker.update(ego_at(frame), [see(ego_at(frame), (15.0, 0.0))])
    for frame in range(20, 50):
        tracks = tracker.update(ego_at(frame), [])
    assert tracks == ()
    single = Tracker()
    single.update(ego_at(0), [see(ego_at(0), (15.0, 0.0))])
    assert all(single.update(ego_at(frame), []) == () for frame in range(1, 10))


def test_two_cars_that_meet_keep_their_names() -> None:
    rng, tracker, names = np.random.default_rng(5), Tracker(), []
    for frame in range(100):
        t, ego = frame * DT_S, ego_at(frame)
        ways = [(10.0 + 5.0 * t, -1.75), (50.0 - 6.0 * t, 1.75)]
        tracks = tracker.update(ego, [see(ego, at, rng) for at in ways])
        if t > 0.5 and len(tracks) == 2:
            names.append(tuple(near.track_id for at in ways if (near := nearest(tracks, at)) is not None))
    assert len(set(names)) == 1


@pytest.mark.parametrize(("kind", "expected"), [(ObjectKind.CAR, 1), (ObjectKind.BICYCLE, 2)])
def test_two_cars_are_never_in_one_place(kind: ObjectKind, expected: int) -> None:
    """A camera's measurements jump by 1.2 m: that is another bicycle, but there is no room for another car."""
    tracker = Tracker()
    for frame in range(8):
        here = replace(see(ego_at(frame), (1.4, 3.6 if frame < 4 else 4.8), kind=kind), covariance=np.eye(2) * 0.01)
        box = (0.0, 100.0, 200.0, 200.0) if frame < 4 else (300.0, 100.0, 500.0, 200.0)
        tracks = tracker.update(ego_at(frame), [], [replace(here, box_px=box)])
        if frame == 7:
            assert len(tracks) == expected


def test_weak_detections_keep_a_track_but_start_none() -> None:
    tracker = Tracker()
    for frame in range(40):
        thing = see(ego_at(frame), (18.0, 1.0))
        tracks = tracker.update(ego_at(frame), [thing if frame < 5 else replace(thing, confidence=0.3)])
    assert len(tracks) == 1
    fresh = Tracker()
    for frame in range(10):
        assert fresh.update(ego_at(frame), [replace(see(ego_at(frame), (18.0, 1.0)), confidence=0.3)]) == ()


def test_what_is_seen_now_and_then_only_is_kept_but_not_shown() -> None:
    """A weak detection once a second: the track's confidence fades below what is published between them."""
    tracker, shown = Tracker(), []
    for frame in range(80):
        thing = see(ego_at(frame), (18.0, 1.0), kind=ObjectKind.PEDESTRIAN)
        seen = [thing] if frame < 5 else [replace(thing, confidence=0.3)] if frame % 20 == 0 else []
        shown.append(tracker.update(ego_at(frame), seen))
    assert shown[4]
    assert not any(shown[40:])
    assert [row["track_id"] for row in tracker.tracks] == [shown[4][0].track_id]


def test_covariances_tell_how_far_off_the_tracks_are() -> None:
    """Normalised squared errors of position and velocity average near their four degrees of freedom."""
    nees = []
    for seed in range(15):
        rng, tracker = np.random.default_rng(seed), Tracker()
        speed = rng.uniform(3.0, 12.0)
        for frame in range(60):
            t, ego = frame * DT_S, ego_at(frame)
            at = (12.0 + speed * t, 2.0)
            tracks = tracker.update(ego, [see(ego, at, rng)])
            if frame > 20 and frame % 10 == 0:
                off = np.array([tracks[0].x_m - at[0], tracks[0].y_m - at[1], *tracks[0].velocity_mps])
                off[2] -= speed
                assert tracks[0].covariance is not None
                nees.append(off @ np.linalg.solve(tracks[0].covariance, off))
    assert 1.0 < np.mean(nees) < 8.0


def moving(ego: EgoState, thing: RangedObject, velocity: tuple[float, float], rng: np.random.Generator) -> RangedObject:
    """The thing with what a flow of its corners would tell: 1.5 m/s of noise along the view, 0.2 across, and 0.4 of
    corners on wheels and reflections, which the flow's own covariance does not know of."""
    sigma = np.array([1.5, 0.2])
    turn = rotation_matrix(math.atan2(thing.y_m, thing.x_m), 0.0, 0.0)[:2, :2]
    seen = np.array(velocity) - [ego.speed_mps, 0.0] + turn @ rng.normal(0.0, sigma) + rng.normal(0.0, 0.4, 2)
    return replace(thing, motion=SeenMotion(seen, turn @ np.diag(sigma**2) @ turn.T, 0.0, thing.near_m))


@pytest.mark.parametrize("speed", [0.0, 9.0])
def test_seen_motion_makes_velocities_sure_at_once_and_their_covariances_honest(speed: float) -> None:
    """Mean normalised squared error of velocity within 1 to 3.5 (two degrees of freedom) over 40 tracks, whose speeds
    wander as the tracker expects of vehicles."""
    nees: list[float] = []
    early: list[float] = []
    for seed in range(40):
        rng, tracker = np.random.default_rng(seed), Tracker()
        v, at = rng.uniform([-12.0, -2.0], [12.0, 2.0]), np.array([35.0, 3.0])
        for frame in range(26):
            ego = ego_at(frame, x=speed * frame * DT_S, speed=speed)
            v = v + rng.normal(0.0, math.sqrt(DT_S), 2)
            at = at + v * DT_S
            tracks = tracker.update(ego, [moving(ego, see(ego, (at[0], at[1]), rng), (v[0], v[1]), rng)])
            if frame in (5, 15, 25):
                off = np.array(tracks[0].velocity_mps) - v
                assert tracks[0].covariance is not None
                (early if frame == 5 else nees).append(float(off @ np.linalg.solve(tracks[0].covariance[2:, 2:], off)))
                if frame == 25:
                    assert np.hypot(*off) < 3.0
    assert 1.0 < np.mean(nees) < 3.5
    assert np.mean(np.array(nees) < 9.21) > 0.95
    assert np.mean(early) < 4.0


def test_one_wild_motion_is_not_believed() -> None:
    rng, tracker = np.random.default_rng(0), Tracker()
    for frame in range(30):
        ego = ego_at(frame)
        thing = moving(ego, see(ego, (20.0, 0.0)), (0.0, 0.0), rng)
        if frame == 25:
            wild = SeenMotion(np.array([-40.0, 5.0]), np.eye(2) * 0.04, 0.0, 18.0)
            thing = replace(thing, motion=wild)
        tracks = tracker.update(ego, [thing])
        if frame > 24:
            assert tracks[0].speed_mps < 4.0


def test_a_gap_in_time_forgets() -> None:
    tracker = Tracker()
    for frame in range(10):
        tracker.update(ego_at(frame), [see(ego_at(frame), (15.0, 0.0))])
    assert tracker.update(ego_at(200), []) == ()
    assert tracker.update(ego_at(3), []) == ()


@pytest.mark.parametrize(("other", "share"), [((1, 0, 3, 2), 1 / 3), ((2, 0, 3, 2), 0.0), ((0, 0, 0, 0), 0.0)])
def test_overlap(other: tuple[float, ...], share: float) -> None:
    assert overlap(np.array([0.0, 0.0, 2.0, 2.0]), np.array(other, np.float64)) == pytest.approx(share)


@st.composite
def things(draw: st.DrawFn) -> list[RangedObject]:
    value = st.floats(-1e4, 1e4) | st.sampled_from([float("nan"), float("inf"), 0.0])
    out = []
    for _ in range(draw(st.integers(0, 4))):
        x, y, sigma = draw(value), draw(value), draw(st.floats(0.0, 50.0) | st.just(float("nan")))
        box = (draw(value), draw(value), draw(value), draw(value))
        kind, score = draw(st.sampled_from(list(ObjectKind))), draw(st.floats(0.0, 1.0))
        out.append(RangedObject(kind, score, box, x, y, np.eye(2) * sigma**2, 4.0, 1.8, 1.5, 10.0))
    return out


def test_whatever_is_seen_the_tracks_stay_finite() -> None:
    """A standing car is seen in most frames, so that there are tracks; for a step of None, time jumps by `gap_s`."""
    checked = 0

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(things(), st.sampled_from([True, True, True, False])), min_size=6, max_size=12),
        st.lists(st.sampled_from([DT_S, DT_S, DT_S, DT_S, None]), min_size=12, max_size=12),
        st.floats(-0.5, 3.0),
    )
    def check(frames: list[tuple[list[RangedObject], bool]], steps: list[float | None], gap_s: float) -> None:
        nonlocal checked
        tracker, time_s = Tracker(), 0.0
        for number, ((seen, is_car_seen), step) in enumerate(zip(frames, steps, strict=False)):
            time_s += gap_s if step is None else step
            ego = replace(ego_at(number), stamp=Stamp(number, time_s))
            if is_car_seen:
                seen.append(see(ego, (15.0, 1.0)))
            for track in tracker.update(ego, seen):
                values = [track.x_m, track.y_m, track.yaw_rad, *track.velocity_mps, track.confidence]
                assert np.isfinite(values).all()
                assert 0.0 <= track.confidence <= 1.0
                assert track.covariance is not None
                assert np.linalg.eigvalsh(track.covariance)[0] > -1e-6
                checked += 1

    check()
    assert checked > 50
