"""Camera calibration (`av-stack calibrate`): photographs of a chessboard in, a lens file (YAML) out."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import yaml
from pydantic import Field

from av_core.config import Strict, load
from av_core.errors import ConfigError
from av_core.types import Float
from av_stack.foreign.kinds import PICTURE_SUFFIXES
from perception.lanes.lens import Lens, calibrate, find_corners

SIZE_TOLERANCE_PX = 2
"""Allowed difference in size between pictures: some cameras write one row or column more or less from time to time."""


class LensConfig(Strict):
    """Content of a lens file, in px; the distortion coefficients are in OpenCV's order (k1, k2, p1, p2, k3).

    `error_px` is the reprojection error, `pictures` the number of pictures used.
    """

    width_px: int = Field(gt=0)
    height_px: int = Field(gt=0)
    focal_px: tuple[float, float]
    centre_px: tuple[float, float]
    distortion: tuple[float, float, float, float, float]
    error_px: float = Field(ge=0.0)
    pictures: int = Field(ge=1)


def calibrate_folder(folder: Path, columns: int, rows: int) -> tuple[Lens, list[str]]:
    """Calibrate from the pictures in `folder`: the lens, and the names of pictures that do not show the whole board.

    Raises ConfigError where there is no picture, one cannot be read or differs in size, or too few show the board.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix.lower() in PICTURE_SUFFIXES)
    if not paths:
        raise ConfigError(f"{folder}: no picture ({', '.join(PICTURE_SUFFIXES)})")
    boards: list[Float] = []
    without: list[str] = []
    size: tuple[int, int] | None = None
    for path in paths:
        bgr = cv2.imread(str(path))
        if bgr is None:
            raise ConfigError(f"{path}: no picture that can be read")
        size = size or (bgr.shape[1], bgr.shape[0])
        if max(abs(bgr.shape[1] - size[0]), abs(bgr.shape[0] - size[1])) > SIZE_TOLERANCE_PX:
            raise ConfigError(f"{path}: {bgr.shape[1]}x{bgr.shape[0]} px, the others have {size[0]}x{size[1]}")
        corners = find_corners(np.asarray(bgr, dtype=np.uint8), columns, rows)
        if corners is None:
            without.append(path.name)
        else:
            boards.append(corners)
    assert size is not None
    return calibrate(boards, columns, rows, *size), without


def write_lens(lens: Lens, path: Path) -> None:
    """Write the lens as YAML, which `load_lens` reads."""
    config = LensConfig(
        width_px=lens.width_px,
        height_px=lens.height_px,
        focal_px=(float(lens.matrix[0, 0]), float(lens.matrix[1, 1])),
        centre_px=(float(lens.matrix[0, 2]), float(lens.matrix[1, 2])),
        distortion=tuple(float(k) for k in lens.distortion),  # type: ignore[arg-type]
        error_px=lens.error_px,
        pictures=lens.pictures,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))


def load_lens(path: Path) -> Lens:
    """Read a lens file. Raises ConfigError where the file is missing or wrong."""
    config = load(path, LensConfig)
    matrix = np.array(
        [
            [config.focal_px[0], 0.0, config.centre_px[0]],
            [0.0, config.focal_px[1], config.centre_px[1]],
            [0.0, 0.0, 1.0],
        ]
    )
    return Lens(
        config.width_px, config.height_px, matrix, np.array(config.distortion), config.error_px, config.pictures
    )
