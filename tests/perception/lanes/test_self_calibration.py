"""A camera's pitch and yaw from the lines of made roads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.frames import vehicle_to_image
from perception.lanes.self_calibration import MountCalibrator, angles_of, point_of, turned_camera, vanishing_point
from tests.perception.lane_pictures import FRONT, YELLOW, Paint, draw_road

LANE = [Paint(lambda x: 0 * x + 1.8, YELLOW), Paint(lambda x: 0 * x - 1.7), Paint(lambda x: 0 * x - 5.2, gap_m=6.0)]


@settings(max_examples=50, deadline=None)
@given(st.floats(-0.2, 0.2), st.floats(-0.2, 0.2))
def test_the_point_tells_the_angles(pitch: float, yaw: float) -> None:
    camera = replace(FRONT, pitch_rad=pitch, yaw_rad=yaw)
    far, _ = vehicle_to_image([1e9, 0.0, 0.0], camera)
    np.testing.assert_allclose(point_of(camera), far, atol=1e-3)
    np.testing.assert_allclose(angles_of((float(far[0]), float(far[1])), FRONT), (pitch, yaw), atol=1e-6)


@pytest.mark.parametrize(("pitch_deg", "yaw_deg"), [(0.0, 0.0), (4.0, 2.0), (-2.5, -3.0)])
def test_a_turned_camera_is_found_out(pitch_deg: float, yaw_deg: float) -> None:
    truth = replace(FRONT, pitch_rad=np.radians(pitch_deg), yaw_rad=np.radians(yaw_deg))
    calibrator = MountCalibrator(FRONT)
    for seed in range(3):
        calibrator.update(draw_road(LANE, truth, seed=seed))
    assert calibrator.is_calibrated
    assert np.degrees(calibrator.camera.pitch_rad) == pytest.approx(pitch_deg, abs=0.25)
    assert np.degrees(calibrator.camera.yaw_rad) == pytest.approx(yaw_deg, abs=0.25)


@settings(max_examples=8, deadline=None)
@given(
    pitch_deg=st.floats(-8.0, 8.0),
    yaw_deg=st.floats(-3.0, 3.0),
    lane_m=st.floats(3.0, 3.8),
    aside_m=st.floats(-0.4, 0.4),
    gap_m=st.sampled_from([0.0, 3.0, 6.0]),
    asphalt=st.integers(60, 120),
)
def test_one_picture_gives_the_pitch_within_a_degree(
    pitch_deg: float, yaw_deg: float, lane_m: float, aside_m: float, gap_m: float, asphalt: int
) -> None:
    truth = replace(FRONT, pitch_rad=np.radians(pitch_deg), yaw_rad=np.radians(yaw_deg))
    left_m = lane_m / 2.0 + aside_m
    lines = [Paint(lambda x: 0 * x + left_m, gap_m=gap_m), Paint(lambda x: 0 * x + left_m - lane_m)]
    found = turned_camera(draw_road(lines, truth, asphalt=asphalt), FRONT)
    assert found is not None
    assert np.degrees(found.pitch_rad) == pytest.approx(pitch_deg, abs=1.0)
    assert np.degrees(found.yaw_rad) == pytest.approx(yaw_deg, abs=1.0)


def test_one_line_or_none_tell_nothing() -> None:
    assert vanishing_point(draw_road([]), FRONT) is None
    assert vanishing_point(draw_road(LANE[:1]), FRONT) is None
    calibrator = MountCalibrator(FRONT)
    assert calibrator.update(draw_road([])) == FRONT
    assert not calibrator.is_calibrated


def test_one_odd_picture_does_not_turn_the_camera() -> None:
    calibrator = MountCalibrator(FRONT)
    for seed in range(5):
        calibrator.update(draw_road(LANE, seed=seed))
    before = calibrator.camera
    calibrator.update(draw_road(LANE, replace(FRONT, pitch_rad=0.08, yaw_rad=-0.05)))
    assert calibrator.camera == before


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.integers(1, 150), st.integers(0, 2**31), st.booleans())
def test_any_picture_gives_a_finite_camera(width: int, height: int, seed: int, is_noise: bool) -> None:
    rng = np.random.default_rng(seed)
    bgr = np.full((height, width, 3), seed % 256, np.uint8)
    if is_noise:
        bgr = rng.integers(0, 256, bgr.shape, dtype=np.uint8)
    camera = MountCalibrator(replace(FRONT, width_px=width, height_px=height)).update(bgr)
    assert np.isfinite([camera.pitch_rad, camera.yaw_rad]).all()
