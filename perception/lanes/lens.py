"""Lens calibration from photographs of a chessboard, and undistortion of pictures.

Zhang, "A flexible new technique for camera calibration", PAMI 22 (11), 2000, by OpenCV: pinhole, two radial and two
tangential coefficients (the third radial one stays zero: boards that leave a picture's corners free cannot determine
it, and it diverges there).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.errors import ConfigError
from av_core.types import CameraModel, Image

Float = NDArray[np.float64]

PICTURES_MIN = 3
OUTLIER_FACTOR = 3.0
"""A picture whose error exceeds the median by this factor shows a bent or blurred board and is left out of the fit."""

CORNER_WINDOW_PX = (7, 7)
CORNER_STEPS = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 40, 1e-3)
"""Stopping criteria of OpenCV's subpixel corner search."""


@dataclass(frozen=True, slots=True)
class Lens:
    """Camera matrix and distortion of a lens, for pictures of one size.

    `matrix` is (3, 3) px, `distortion` (5,) in OpenCV's order (k1, k2, p1, p2, k3). `error_px` is the RMS reprojection
    error of the chessboard corners in the `pictures` it was fitted to.
    """

    width_px: int
    height_px: int
    matrix: Float
    distortion: Float
    error_px: float
    pictures: int

    @property
    def fov_x_rad(self) -> float:
        """Horizontal angle of view of the undistorted picture."""
        return float(2.0 * np.arctan(self.width_px / (2.0 * self.matrix[0, 0])))


def find_corners(bgr: Image, columns: int, rows: int) -> Float | None:
    """Pixels (rows * columns, 2) of the board's inner corners, None where not all are visible."""
    grey = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    found, corners = cv2.findChessboardCorners(grey, (columns, rows))
    if not found:
        return None
    fine = cv2.cornerSubPix(grey, corners, CORNER_WINDOW_PX, (-1, -1), CORNER_STEPS)
    return np.asarray(fine, dtype=np.float64).reshape(-1, 2)


def calibrate(boards: Sequence[Float], columns: int, rows: int, width_px: int, height_px: int) -> Lens:
    """Fit the lens to the corners `boards`; each is from `find_corners` in a picture of the given size.

    Raises ConfigError where fewer than `PICTURES_MIN` boards are given: one view does not determine the lens.
    """
    if len(boards) < PICTURES_MIN:
        raise ConfigError(f"{len(boards)} pictures show the whole chessboard; expected at least {PICTURES_MIN}")
    lens, errors = _fit(boards, columns, rows, (width_px, height_px))
    good = errors <= OUTLIER_FACTOR * np.median(errors)
    if good.all() or good.sum() < PICTURES_MIN:
        return lens
    return _fit(
        [board for board, kept in zip(boards, good, strict=True) if kept], columns, rows, (width_px, height_px)
    )[0]


def _fit(boards: Sequence[Float], columns: int, rows: int, size: tuple[int, int]) -> tuple[Lens, Float]:
    """The lens, and each picture's own RMS error (px)."""
    grid = np.zeros((rows * columns, 3), dtype=np.float32)
    grid[:, :2] = np.mgrid[:columns, :rows].T.reshape(-1, 2)
    seen = [np.asarray(board, dtype=np.float32).reshape(-1, 1, 2) for board in boards]
    error, matrix, distortion, turns, shifts = cv2.calibrateCamera(
        [grid] * len(seen), seen, size, np.eye(3), np.zeros(5), flags=cv2.CALIB_FIX_K3
    )
    each = []
    for board, turn, shift in zip(seen, turns, shifts, strict=True):
        again, _ = cv2.projectPoints(grid, turn, shift, matrix, distortion)
        each.append(float(np.sqrt(np.mean(np.sum((np.asarray(again) - board) ** 2, axis=-1)))))
    five = np.asarray(distortion, dtype=np.float64).ravel()[:5]
    lens = Lens(*size, np.asarray(matrix, dtype=np.float64), five, float(error), len(boards))
    return lens, np.array(each)


class Undistorter:
    """Converts pictures of `lens` to those of a pinhole camera with square pixels and a central axis."""

    def __init__(self, lens: Lens) -> None:
        self._size = (lens.height_px, lens.width_px)
        focal = lens.matrix[0, 0]
        middle = ((lens.width_px - 1) / 2.0, (lens.height_px - 1) / 2.0)
        pinhole = np.array([[focal, 0.0, middle[0]], [0.0, focal, middle[1]], [0.0, 0.0, 1.0]])
        self._maps = cv2.initUndistortRectifyMap(
            lens.matrix, lens.distortion, np.eye(3), pinhole, (lens.width_px, lens.height_px), cv2.CV_16SC2
        )

    def __call__(self, bgr: Image) -> Image:
        """The undistorted picture. Raises ValueError for a picture of another size than the lens."""
        if bgr.shape[:2] != self._size:
            raise ValueError(f"picture is {bgr.shape[1]}x{bgr.shape[0]}, lens {self._size[1]}x{self._size[0]}")
        return np.asarray(cv2.remap(bgr, *self._maps, cv2.INTER_LINEAR), dtype=np.uint8)


def pinhole_camera(lens: Lens, name: str, z_m: float) -> CameraModel:
    """The camera of undistorted pictures, `z_m` above the ground, with zero angles; self-calibration finds them."""
    return CameraModel(name, lens.width_px, lens.height_px, lens.fov_x_rad, 0.0, 0.0, z_m)
