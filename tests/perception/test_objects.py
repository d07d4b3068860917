"""Detections to tracks in one go: a leader that is followed, seen through boxes alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from av_core.types import CameraImage, CameraModel, Detection, EgoState, LaneEstimate, ObjectKind, Stamp
from perception.objects import ObjectPerception
from tests.perception.depth.test_ranging import box_of
from tests.perception.simulated_drives import straight_ahead

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6, math.radians(2.0))
DT_S = 0.05


@pytest.mark.parametrize("use_parallax", [False, True])
def test_a_leader_is_placed_and_its_speed_known(use_parallax: bool) -> None:
    sense, rng = ObjectPerception(use_parallax), np.random.default_rng(0)
    blank = np.full((360, 640, 3), 90, dtype=np.uint8)
    for number in range(80):
        t = number * DT_S
        stamp = Stamp(number, t)
        ego = EgoState(stamp, 8.0 * t, 0.0, 0.0, 8.0, 0.0, 0.0, np.eye(4) * 1e-4)
        frame = straight_ahead(stamp, 8.0)
        gap = 18.0 + 2.0 * t
        box = tuple(float(v) for v in np.array(box_of(gap, 0.5, 0.0)) + rng.normal(0.0, 0.7, 4))
        picture = CameraImage(stamp, CAMERA, blank)
        seen = sense.update(
            picture,
            ego,
            frame,
            LaneEstimate(stamp, None, None),
            [Detection("car", (box[0], box[1], box[2], box[3]), 0.9)],
        )
    assert len(seen.tracked) == 1
    leader = seen.tracked[0]
    assert leader.kind is ObjectKind.CAR
    assert leader.x_m - ego.x_m == pytest.approx(gap, rel=0.05)
    assert leader.velocity_mps[0] == pytest.approx(10.0, abs=1.0)
    assert leader.velocity_mps[1] == pytest.approx(0.0, abs=0.5)
    depth = seen.depth()
    assert depth is not None
    assert np.isfinite(depth.depth_m).any()
    unseen = sense.update(None, ego, frame, LaneEstimate(stamp, None, None), [])
    assert unseen.depth() is None
    assert [track.track_id for track in unseen.tracked] == [leader.track_id]
