"""A lens found from chessboards that are drawn through a known one, and from real photographs."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import Float, Image
from av_stack.calibration import calibrate_folder, load_lens, write_lens
from perception.lanes.lens import Lens, Undistorter, calibrate, find_corners, pinhole_camera

COLUMNS, ROWS, WIDTH, HEIGHT = 9, 6, 1280, 720
MATRIX = np.array([[1150.0, 0.0, 670.0], [0.0, 1150.0, 385.0], [0.0, 0.0, 1.0]])
DISTORTION = np.array([-0.25, 0.03, 0.0005, -0.0003, 0.0])


def grid() -> Float:
    points = np.zeros((ROWS * COLUMNS, 3))
    points[:, :2] = np.mgrid[:COLUMNS, :ROWS].T.reshape(-1, 2) - [(COLUMNS - 1) / 2, (ROWS - 1) / 2]
    return points


def seen_boards(noise_px: float, views: int = 10) -> list[Float]:
    """Corners of a board held in many ways before the known lens."""
    rng = np.random.default_rng(4)
    boards = []
    for _ in range(views):
        turn, shift = rng.uniform(-0.5, 0.5, 3), np.array([*rng.uniform([-4.0, -2.0], [4.0, 2.0]), rng.uniform(12, 20)])
        pixels, _ = cv2.projectPoints(grid(), turn, shift, MATRIX, DISTORTION)
        boards.append(np.asarray(pixels, dtype=np.float64).reshape(-1, 2) + rng.normal(0.0, noise_px, (54, 2)))
    return boards


def test_a_known_lens_is_found_again() -> None:
    lens = calibrate(seen_boards(0.1), COLUMNS, ROWS, WIDTH, HEIGHT)
    assert lens.error_px < 0.2
    np.testing.assert_allclose(lens.matrix, MATRIX, atol=6.0)
    np.testing.assert_allclose(lens.distortion[:2], DISTORTION[:2], atol=0.03)


def test_a_board_that_was_read_wrong_is_left_out() -> None:
    boards = seen_boards(0.1)
    boards[3] = boards[3] + np.random.default_rng(0).normal(0.0, 12.0, boards[3].shape)
    lens = calibrate(boards, COLUMNS, ROWS, WIDTH, HEIGHT)
    assert lens.pictures == len(boards) - 1
    assert lens.error_px < 0.2


def test_too_few_boards_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 pictures show the whole chessboard; expected at least 3"):
        calibrate(seen_boards(0.1, 2), COLUMNS, ROWS, WIDTH, HEIGHT)


def test_straight_things_are_straight_after_undistortion() -> None:
    """A bright line that the lens bends: in the corrected picture it lies on one straight line."""
    lens = Lens(WIDTH, HEIGHT, MATRIX, DISTORTION, 0.0, 1)
    camera = pinhole_camera(lens, "wide", 1.2)
    t = np.linspace(-0.5, 0.5, 4000)
    bent, _ = cv2.projectPoints(
        np.column_stack([t, 0.25 + 0 * t, 1 + 0 * t]), np.zeros(3), np.zeros(3), MATRIX, DISTORTION
    )
    picture: Image = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    cv2.polylines(picture, [np.round(np.asarray(bent)).astype(np.int32)], False, (255, 255, 255), 3)
    straight = Undistorter(lens)(picture)[:, :, 0].astype(float)
    columns = np.arange(150, WIDTH - 150, 10)
    rows = np.array([np.average(np.arange(HEIGHT), weights=straight[:, column]) for column in columns])
    assert np.ptp(rows) < 1.5
    assert rows.mean() == pytest.approx((HEIGHT - 1) / 2 + 0.25 * MATRIX[0, 0], abs=1.0)
    assert camera.fov_x_rad == pytest.approx(2 * np.arctan(WIDTH / 2 / 1150.0))
    with pytest.raises(ValueError, match="picture is 100x50, lens 1280x720"):
        Undistorter(lens)(np.zeros((50, 100, 3), np.uint8))


def test_corners_of_a_drawn_board_and_none_on_noise() -> None:
    board = np.kron(np.indices((ROWS + 1, COLUMNS + 1)).sum(axis=0) % 2, np.ones((40, 40))) * 200 + 30
    picture = np.pad(board, 60, constant_values=230).astype(np.uint8)[:, :, None].repeat(3, axis=2)
    corners = find_corners(picture, COLUMNS, ROWS)
    assert corners is not None
    assert len(corners) == COLUMNS * ROWS
    steps = np.diff(corners.reshape(ROWS, COLUMNS, 2), axis=1)
    np.testing.assert_allclose(np.abs(steps[..., 0]), 40.0, atol=0.5)
    assert find_corners(np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8), COLUMNS, ROWS) is None


def test_a_lens_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    lens = Lens(WIDTH, HEIGHT, MATRIX, DISTORTION, 0.5, 7)
    write_lens(lens, tmp_path / "lens.yaml")
    again = load_lens(tmp_path / "lens.yaml")
    np.testing.assert_array_equal(again.matrix, lens.matrix)
    np.testing.assert_array_equal(again.distortion, lens.distortion)
    assert (again.width_px, again.height_px, again.error_px, again.pictures) == (WIDTH, HEIGHT, 0.5, 7)


def test_a_folder_without_pictures_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no picture"):
        calibrate_folder(tmp_path, COLUMNS, ROWS)


def test_real_photographs(data_dir: Path) -> None:
    lens, without = calibrate_folder(data_dir / "calibration", COLUMNS, ROWS)
    assert lens.error_px < 1.0
    assert lens.pictures >= 8
    assert len(without) <= 1
    assert 50.0 < np.degrees(lens.fov_x_rad) < 65.0
