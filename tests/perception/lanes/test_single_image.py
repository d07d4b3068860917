"""Lanes on one picture alone: real stills once each, and nothing where there is no road."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.types import Image
from av_stack.calibration import calibrate_folder
from av_stack.evaluation.dashcam import DASHCAM, LABELS, WITHIN_PX, worst_error_px
from perception.lanes.lens import Undistorter, pinhole_camera
from perception.lanes.single_image import (
    UNCALIBRATED_CONFIDENCE_MAX,
    camera_turned_to,
    lanes_and_mount,
    lanes_in_picture,
)
from tests.perception.lane_pictures import FRONT, Paint, draw_road
from tests.perception.lanes.test_real_lanes import CARLA_CAMERA, FRAME, brick_wall

DASHCAM_STILLS = sorted(name for name in json.loads(LABELS.read_text()) if "#" not in name)
WIDE_STILLS = ("advanced_straight_lines1", "advanced_straight_lines2", "advanced_test1", "advanced_test4")


def read(path: Path) -> Image:
    bgr = cv2.imread(str(path))
    assert bgr is not None, path
    return np.asarray(bgr, dtype=np.uint8)


@pytest.mark.parametrize("name", DASHCAM_STILLS)
def test_one_look_at_a_dashcam_still_is_within_eight_pixels(data_dir: Path, name: str) -> None:
    bgr = read(data_dir / "lanes" / name)
    camera = camera_turned_to(bgr, DASHCAM)
    labels = json.loads(LABELS.read_text())[name]
    assert worst_error_px(lanes_in_picture(bgr, camera), labels, camera) <= WITHIN_PX


@pytest.mark.parametrize("wrong_by_deg", [-8.0, -4.0, 4.0, 8.0])
@pytest.mark.parametrize("name", DASHCAM_STILLS)
def test_a_wrong_guess_of_the_pitch_changes_no_line(data_dir: Path, name: str, wrong_by_deg: float) -> None:
    bgr = read(data_dir / "lanes" / name)
    usual = camera_turned_to(bgr, DASHCAM)
    seen = lanes_and_mount(bgr, replace(usual, pitch_rad=usual.pitch_rad + np.radians(wrong_by_deg)))
    assert seen.is_calibrated
    assert seen.camera.pitch_rad == pytest.approx(usual.pitch_rad, abs=np.radians(0.5))
    assert worst_error_px(seen.lanes, json.loads(LABELS.read_text())[name], seen.camera) <= WITHIN_PX


@pytest.mark.parametrize("guess_deg", [-3.0, 0.0, 5.0, 10.0])
def test_the_pitch_of_real_carla_s_camera(data_dir: Path, guess_deg: float) -> None:
    bgr = read(data_dir / "carla_frames" / f"{FRAME}.png")
    found = camera_turned_to(bgr, replace(CARLA_CAMERA, pitch_rad=np.radians(guess_deg)))
    assert np.degrees(found.pitch_rad) == pytest.approx(5.0, abs=0.5)


def test_lines_without_a_vanishing_point_have_low_confidence() -> None:
    """One line has no vanishing point; with a known mounting it is a sure line."""
    one_line = draw_road([Paint(lambda x: 0 * x + 1.7)])
    sure, seen = lanes_in_picture(one_line, FRONT).left, lanes_and_mount(one_line, FRONT)
    assert not seen.is_calibrated
    assert seen.camera == FRONT
    assert sure is not None
    assert sure.confidence > 0.5
    assert seen.lanes.left == replace(sure, confidence=UNCALIBRATED_CONFIDENCE_MAX)


def test_lines_with_a_vanishing_point_keep_their_confidence() -> None:
    truth = replace(FRONT, pitch_rad=np.radians(6.0))
    seen = lanes_and_mount(draw_road([Paint(lambda x: 0 * x + 1.7), Paint(lambda x: 0 * x - 1.7)], truth), FRONT)
    assert seen.is_calibrated
    for line, y_m in ((seen.lanes.left, 1.7), (seen.lanes.right, -1.7)):
        assert line is not None
        assert line.confidence > 0.5
        assert float(line.y_at(10.0)) == pytest.approx(y_m, abs=0.1)


def test_one_look_at_wide_angle_stills(data_dir: Path) -> None:
    """Both lines of each, a lane apart; the camera's turn comes from a picture of a straight road."""
    lens, _ = calibrate_folder(data_dir / "calibration", 9, 6)
    straighten = Undistorter(lens)
    straight = straighten(read(data_dir / "lanes" / "advanced_straight_lines2.jpg"))
    camera = camera_turned_to(straight, pinhole_camera(lens, "wide", 1.2))
    for name in WIDE_STILLS:
        lanes = lanes_in_picture(straighten(read(data_dir / "lanes" / f"{name}.jpg")), camera)
        assert lanes.left is not None, name
        assert lanes.right is not None, name
        assert 3.0 < float(lanes.left.y_at(10.0) - lanes.right.y_at(10.0)) < 4.4, name


def test_one_look_through_a_lens_that_is_only_guessed(data_dir: Path) -> None:
    """The picture that `LaneDetector` has to see several times."""
    guess = replace(DASHCAM, width_px=1280, height_px=720)
    camera = camera_turned_to(read(data_dir / "lanes" / "advanced_straight_lines1.jpg"), guess)
    lanes = lanes_in_picture(read(data_dir / "lanes" / "advanced_test4.jpg"), camera)
    assert lanes.left is not None
    assert lanes.right is not None


def test_both_lines_of_a_rendered_picture() -> None:
    """The picture of docs/library.md; its lane is 3.3 m wide and the car stands in the middle."""
    bgr = read(Path(__file__).parents[3] / "docs" / "images" / "road.jpg")
    camera = camera_turned_to(bgr, replace(DASHCAM, width_px=640, height_px=360, x_m=2.1, z_m=1.6))
    lanes = lanes_in_picture(bgr, camera)
    assert np.degrees(camera.pitch_rad) == pytest.approx(2.0, abs=0.3)
    assert lanes.left is not None
    assert lanes.right is not None
    assert float(lanes.left.y_at(10.0)) == pytest.approx(1.65, abs=0.1)
    assert float(lanes.right.y_at(10.0)) == pytest.approx(-1.65, abs=0.1)


def test_no_lanes_where_there_is_no_road() -> None:
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 256, (540, 960, 3)).astype(np.uint8)
    for picture in (brick_wall(rng), noise, np.full((540, 960, 3), 128, dtype=np.uint8)):
        lanes = lanes_in_picture(picture, DASHCAM)
        assert lanes.left is None
        assert lanes.right is None
        assert camera_turned_to(np.full((540, 960, 3), 128, dtype=np.uint8), DASHCAM) == DASHCAM


def test_a_picture_of_another_size_is_refused() -> None:
    for look in (lanes_in_picture, lanes_and_mount):
        with pytest.raises(ValueError, match="expected uint8"):
            look(np.zeros((10, 10, 3), dtype=np.uint8), DASHCAM)
