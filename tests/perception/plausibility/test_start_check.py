"""The check as a whole, and what the tracker makes of it."""

from __future__ import annotations

import math
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import (
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    Image,
    LaneEstimate,
    ObjectKind,
    Stamp,
)
from perception.depth.ranging import FLAT
from perception.depth.view import Box, View
from perception.objects import ObjectPerception
from perception.plausibility.check import Doubt, StartCheck
from perception.plausibility.standing import SLOPE_SIGMA, Ground
from perception.tracking.tracker import Tracker
from tests.perception.depth.test_ranging import FRONT, SIGMA_RAD, box_of
from tests.perception.plausibility.test_surface import ROAD, street, with_car
from tests.perception.simulated_drives import straight_ahead
from tests.perception.tracking.test_tracking import ego_at, see

BLANK = np.full((360, 640, 3), 90, dtype=np.uint8)
"""A picture whose pixels tell nothing."""

EDGES = st.floats(-0.5, 639.5)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(list(ObjectKind)),
    columns=st.tuples(EDGES, EDGES).map(sorted),
    rows=st.tuples(st.floats(-0.5, 359.5), st.floats(-0.5, 359.5)).map(sorted),
    score=st.floats(0.0, 1.0),
)
def test_the_check_never_raises_a_score(
    kind: ObjectKind, columns: list[float], rows: list[float], score: float
) -> None:
    """For any box in the picture, also empty ones."""
    check = StartCheck(street(), Ground(View.of(FRONT), SIGMA_RAD, FLAT, SLOPE_SIGMA))
    said = check(kind, (columns[0], rows[0], columns[1], rows[1]), score)
    assert 0.0 <= said.probability <= score
    assert said.doubt is not None or said.probability == score


def test_a_sure_detection_outweighs_a_small_contradiction() -> None:
    ground = Ground(View.of(FRONT), SIGMA_RAD, FLAT, SLOPE_SIGMA)
    (u0, v0, u1, v1) = box_of(30.0, 0.0, 0.0)
    check = StartCheck(BLANK, ground)
    floating = [check(ObjectKind.CAR, (u0, v0 - up, u1, v1 - up), 0.95) for up in (0.0, 22.0, 60.0)]
    assert floating[0].doubt is None
    assert floating[1].doubt is Doubt.FLOATS
    assert floating[0].probability > floating[1].probability > 0.5 > floating[2].probability


def _sense(detection: Detection, bgr: Image, frames: int = 6) -> int:
    """Number of road users tracked after `frames` pictures with the same detection."""
    sense = ObjectPerception(use_parallax=False)
    for frame in range(frames):
        stamp = Stamp(frame, 0.05 * frame)
        ego = EgoState(stamp, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.eye(4) * 1e-4)
        measured = straight_ahead(stamp, 0.0)
        seen = sense.update(CameraImage(stamp, FRONT, bgr), ego, measured, LaneEstimate(stamp, None, None), [detection])
    return len(seen.tracked)


def test_no_track_starts_on_an_empty_road() -> None:
    assert _sense(Detection("car", ROAD, 0.96), street()) == 0


def test_a_track_starts_on_a_car_there() -> None:
    assert _sense(Detection("car", ROAD, 0.96), with_car(street(), ROAD)) == 1


def test_no_track_starts_on_a_floating_box() -> None:
    assert _sense(Detection("bus", (200.0, 20.0, 420.0, 110.0), 0.92), street()) == 0


def test_a_car_starts_a_track_at_once_and_in_an_uninformative_picture() -> None:
    box = box_of(20.0, 0.0, 0.0)
    assert _sense(Detection("car", box, 0.55), BLANK, frames=3) == 1


@pytest.mark.parametrize("ground", [None, Ground(View.of(FRONT), math.radians(10.0), FLAT, SLOPE_SIGMA)])
def test_where_the_pose_is_not_known_sizes_are_not_compared(ground: Ground | None) -> None:
    for kind, box in (
        (ObjectKind.BUS, (200.0, 20.0, 420.0, 110.0)),
        (ObjectKind.PEDESTRIAN, (300.0, 0.0, 400.0, 340.0)),
    ):
        assert StartCheck(BLANK, ground)(kind, box, 0.6).probability == 0.6


def test_only_the_start_of_a_track_is_checked() -> None:
    tracker = Tracker()
    for frame in range(8):
        ego = ego_at(frame)
        tracker.update(ego, [see(ego, (20.0, 0.0))], checks=[_believe if frame == 0 else _reject])
    assert tracker.tracks["hits"].tolist() == [8]


def test_a_rejected_object_starts_no_track_and_a_camera_without_check_does() -> None:
    ego = ego_at(0)
    for checks, count in (([_reject], 0), ([_believe], 1), ([None], 1), ([], 1)):
        tracker = Tracker()
        tracker.update(ego, [see(ego, (20.0, 0.0))], checks=checks)
        assert len(tracker.tracks) == count
    tracker = Tracker()
    tracker.update(ego, [see(ego, (20.0, 0.0))], [see(ego, (40.0, 3.0))], checks=[_reject])
    assert len(tracker.tracks) == 1


def _reject(kind: ObjectKind, box: Box, score: float) -> float:
    return 0.0


def _believe(kind: ObjectKind, box: Box, score: float) -> float:
    return score


UNREAL = CameraModel("carla", 640, 380, math.radians(90.0), 0.0, 0.0, 1.7)


@pytest.mark.parametrize(
    ("name", "kind", "box", "is_real"),
    [
        ("Town02_011220", ObjectKind.CAR, (5.0, 206.0, 515.0, 379.5), False),  # an empty road
        ("Town02_004860", ObjectKind.BUS, (-0.5, 2.0, 133.0, 241.0), False),  # a building
        ("Town02_000360", ObjectKind.BUS, (198.0, 75.0, 282.0, 207.0), False),  # another
        ("Town02_000900", ObjectKind.CAR, (-0.5, 207.0, 179.0, 369.0), True),  # a black car, cut at the left
        ("Town02_005040", ObjectKind.CAR, (-0.5, 214.0, 167.0, 379.5), True),  # another, cut below too
        ("Town02_005760", ObjectKind.CAR, (243.0, 206.0, 397.0, 331.0), True),
    ],
)
def test_pictures_of_carla(name: str, kind: ObjectKind, box: Box, is_real: bool) -> None:
    data = os.environ.get("AV_STACK_DATA")
    path = Path(data or "") / "carla_unreal" / "images" / f"{name}.jpg"
    if data is None or not path.is_file():
        pytest.skip("AV_STACK_DATA has no carla_unreal")
    bgr = np.asarray(cv2.imread(str(path)), dtype=np.uint8)
    check = StartCheck(bgr, Ground(View.of(UNREAL), math.radians(0.3), FLAT, SLOPE_SIGMA))
    assert (check(kind, box, 0.85).probability >= 0.5) is is_real
