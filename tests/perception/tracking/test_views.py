"""Standing radar returns keep no track that a camera should see and does not."""

from __future__ import annotations

import math

import numpy as np

from av_core.types import EgoState, ObjectKind, RangedObject, TrackedObject
from perception.radar.returns import locate_returns
from perception.tracking.track_rows import TRACK, Rows
from perception.tracking.tracker import Tracker
from perception.tracking.views import View, in_clear_view, view_of
from sim_configs.load import load_rig
from tests.perception.radar_scene import DT_S, Box, ego_at, sweeps

CAMERA = load_rig("compact").cameras[0]
AHEAD = View(0.0, 0.0, 0.0, math.radians(30.0))


def boxes(*places: tuple[float, float]) -> Rows:
    rows = np.zeros(len(places), TRACK)
    rows["state"][:, :2], rows["size_m"] = places, (4.6, 1.9, 1.5)
    return rows


def test_a_box_is_in_clear_view_if_all_of_it_is_shown_and_nothing_hides_it() -> None:
    tracks = boxes((20.0, 0.0), (40.0, 0.0), (40.0, -8.0), (12.0, 6.0), (-20.0, 0.0))
    assert in_clear_view(tracks, [AHEAD]).tolist() == [True, False, True, False, False]
    behind = View(0.0, 0.0, math.pi, math.radians(30.0))
    assert in_clear_view(tracks, [behind]).tolist() == [False, False, False, False, True]
    assert not in_clear_view(tracks, []).any()


def test_a_view_turns_with_the_vehicle() -> None:
    state = ego_at(0)
    ego = EgoState(state.stamp, 5.0, 7.0, math.pi / 2.0, 0.0, 0.0, 0.0, state.covariance)
    view = view_of(CAMERA, ego)
    assert math.isclose(view.yaw_rad, math.pi / 2.0 + CAMERA.yaw_rad)
    assert math.isclose(view.x_m, 5.0 - CAMERA.y_m)
    assert math.isclose(view.y_m, 7.0 + CAMERA.x_m)


def after_it_left(is_in_view: bool, gone: bool) -> tuple[TrackedObject, ...]:
    """The tracks 4 s after the camera last showed a parked car, which left a board in its place if it is `gone`."""
    tracker, rng, car = Tracker(), np.random.default_rng(3), Box(14.0, -3.0)
    board = Box(14.0, -3.0, math.pi / 2.0, 0.0, 1.6, 0.2)
    for frame in range(120):
        ego = ego_at(frame)
        shown = frame < 40
        seen = RangedObject(
            ObjectKind.CAR, 0.9, (300.0, 150.0, 340.0, 200.0), 14.0, -3.0, np.diag([1.0, 0.1]), 4.6, 1.9, 1.5, 14.0
        )
        radar = locate_returns(sweeps(ego, [board if gone and not shown else car], rng), ego)
        views = [view_of(CAMERA, ego)] if is_in_view else []
        tracks = tracker.update(ego, [seen] if shown else [], radar=radar, views=views)
    assert frame * DT_S >= 5.9
    return tracks


def test_a_car_that_the_camera_no_longer_shows_is_gone() -> None:
    assert not after_it_left(is_in_view=True, gone=True)


def test_a_car_that_no_camera_can_see_stays() -> None:
    assert len(after_it_left(is_in_view=False, gone=False)) == 1
