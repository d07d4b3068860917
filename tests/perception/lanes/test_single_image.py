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
from perception.lanes.single_image import camera_turned_to, lanes_in_picture
from tests.perception.lanes.test_real_lanes import brick_wall

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
    with pytest.raises(ValueError, match="expected uint8"):
        lanes_in_picture(np.zeros((10, 10, 3), dtype=np.uint8), DASHCAM)
