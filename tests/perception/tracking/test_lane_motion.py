"""What lanes tell of vehicles' velocities, against roads whose direction is known, and what the tracker makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import Float, LaneKey, ObjectKind
from perception.map_index import MapIndex
from perception.tracking.lane_motion import initial_velocities, lane_constraints
from perception.tracking.tracker import Tracker
from tests.perception.simulated_drives import DT_S, two_way_road
from tests.perception.tracking.test_tracking import Way, ego_at, nearest, see, velocity_of

STRAIGHT = MapIndex(two_way_road([(200.0, 0.0)]))
STRAIGHT_LIMIT_MPS = two_way_road([(200.0, 0.0)]).lanes[LaneKey(1, 0, -1)].speed_limit_mps
BEND = two_way_road([(60.0, 1 / 30.0)])
FORTH, BACK = LaneKey(1, 0, -1), LaneKey(1, 0, 1)


@settings(deadline=None)
@given(st.floats(10.0, 190.0), st.floats(-4.0, 4.0))
def test_places_in_the_coordinates_of_the_lanes_around(x: float, y: float) -> None:
    yaw, ahead, left, limit = STRAIGHT.points_at(np.array([[x, y]]))
    forth = np.abs(yaw[0]) < 0.1
    assert left[0, forth] == pytest.approx(y + 1.75)
    assert left[0, ~forth] == pytest.approx(1.75 - y)
    assert np.abs(ahead).max() < 15.0
    assert (limit == STRAIGHT_LIMIT_MPS).all()


def test_who_comes_into_view_is_taken_to_drive_along_its_lane() -> None:
    mean, covariance, free = initial_velocities(STRAIGHT, np.array([(50.0, -1.75), (50.0, 1.75), (50.0, -30.0)]))
    assert mean[0, 0] > 3.0 > -3.0 > mean[1, 0]
    assert mean[:2, 1] == pytest.approx(0.0, abs=0.05)
    assert (covariance[:2, 0, 0] > 4.0 * covariance[:2, 1, 1]).all()
    assert (np.linalg.eigvalsh(covariance[:2]) > 0.0).all()
    assert np.isnan(mean[2]).all()
    assert free[:2] == pytest.approx(0.65 * STRAIGHT_LIMIT_MPS)
    assert np.isnan(free[2])


def test_between_two_lanes_both_ways_stay_open() -> None:
    mean, covariance, _ = initial_velocities(STRAIGHT, np.array([(50.0, 0.0)]))
    assert abs(mean[0, 0]) < 0.5
    assert covariance[0, 0, 0] > 25.0


def test_across_is_at_right_angles_to_the_lane_in_a_bend() -> None:
    lane = BEND.lanes[FORTH]
    at = slice(5, 50, 5)
    yaw = lane.yaw_rad[at]
    seen = yaw + 0.2  # vehicles seem to drive askew
    across, sigma, free = lane_constraints(
        MapIndex(BEND), lane.points[at, :2], 8.0 * np.column_stack([np.cos(seen), np.sin(seen)])
    )
    along = np.column_stack([np.cos(yaw), np.sin(yaw)])
    assert np.abs((across * along).sum(axis=1)).max() < 0.03
    assert ((sigma > 0.5) & (sigma < 2.0)).all()
    assert free == pytest.approx(0.65 * lane.speed_limit_mps)


def test_who_drives_over_a_road_is_told_nothing() -> None:
    _, sigma, _ = lane_constraints(
        STRAIGHT, np.array([(50.0, -1.75), (50.0, -30.0)]), np.array([(0.0, 8.0), (8.0, 0.0)])
    )
    assert np.isnan(sigma).all()


def errors_of(way: Way, index: MapIndex | None, frames: int, seed: int) -> Float:
    """Errors of the velocity (m/s) of one car, picture by picture; NaN where it is not given out."""
    rng, tracker, errors = np.random.default_rng(seed), Tracker(index=index), []
    for frame in range(frames):
        ego, t = ego_at(frame), frame * DT_S
        track = nearest(tracker.update(ego, [see(ego, way(t), rng)]), way(t))
        errors.append(np.nan if track is None else np.hypot(*(np.array(track.velocity_mps) - velocity_of(way, t))))
    return np.array(errors)


def test_an_oncoming_car_is_known_to_come_from_the_first_half_second_on() -> None:
    def way(t: float) -> tuple[float, float]:
        return 38.0 - 7.0 * t, 1.75

    told, untold = (np.array([errors_of(way, index, 10, seed) for seed in range(12)]) for index in (STRAIGHT, None))
    assert np.sqrt(np.nanmean(told**2)) < 3.0
    assert np.sqrt(np.nanmean(told**2)) < 0.7 * np.sqrt(np.nanmean(untold**2))


def test_a_car_that_drives_over_the_road_is_not_pulled_into_its_lanes() -> None:
    errors = errors_of(lambda t: (20.0, -8.0 + 6.0 * t), STRAIGHT, 50, 0)
    assert np.sqrt(np.nanmean(errors[20:] ** 2)) < 1.0


def test_a_standing_car_in_a_lane_is_soon_known_to_stand() -> None:
    errors = np.array([errors_of(lambda _: (15.0, -1.75), STRAIGHT, 40, seed) for seed in range(4)])
    assert np.sqrt(np.nanmean(errors[:, 20:] ** 2)) < 0.8


def test_who_comes_into_view_does_not_take_over_the_track_of_who_left() -> None:
    tracker = Tracker(index=STRAIGHT)
    for frame in range(30):
        ego = ego_at(frame)
        tracks = tracker.update(ego, [see(ego, (18.0 - 0.3 * frame, 1.75))])
    (gone,) = tracks
    for frame in range(30, 52):
        tracker.update(ego_at(frame), [])
    for frame in range(52, 56):
        ego = ego_at(frame)
        newcomer = replace(see(ego, (12.0, 1.75), kind=ObjectKind.TRUCK), covariance=4.0 * np.eye(2))
        tracks = tracker.update(ego, [newcomer])
    assert [track.kind for track in tracks if track.box_px is not None] == [ObjectKind.TRUCK]
    assert gone.track_id not in {track.track_id for track in tracks if track.box_px is not None}
