"""The camera of a foreign recording: read from a lens file (YAML), or guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from av_core.config import Strict, load
from av_core.errors import ConfigError
from av_core.types import CameraModel, Image
from perception.lanes.lens import Lens, Undistorter, pinhole_camera

CAMERA = "front"
"""Name of the camera in the frames."""

DEFAULT_FOV_DEG, DEFAULT_HEIGHT_M = 60.0, 1.2
"""Field of view and height of a typical camera behind a windscreen, for cameras of which nothing is known."""

Size = tuple[int, int]
"""Width and height, px."""


class LensFile(Strict):
    """Content of a lens file: the lens and the mount of a camera. All keys are optional.

    The lens is given as `av-stack calibrate` writes it, or by `fov_x_deg` alone. The mount: `x_m` and `y_m` are
    relative to the middle of the rear axle; pitch is positive nose-down, yaw positive to the left. `LensFile()` stands
    for a camera of which nothing is known.
    """

    width_px: int | None = Field(None, ge=32)
    height_px: int | None = Field(None, ge=32)
    fov_x_deg: float | None = Field(None, gt=1.0, lt=179.0)
    focal_px: tuple[float, float] | None = None
    centre_px: tuple[float, float] | None = None
    distortion: tuple[float, float, float, float, float] = (0.0,) * 5
    error_px: float = Field(0.0, ge=0.0)
    pictures: int = Field(1, ge=1)
    height_m: float | None = Field(None, gt=0.0, le=20.0)
    x_m: float = Field(0.0, ge=-20.0, le=20.0)
    y_m: float = Field(0.0, ge=-20.0, le=20.0)
    pitch_deg: float | None = Field(None, ge=-90.0, le=90.0)
    yaw_deg: float = Field(0.0, ge=-360.0, le=360.0)
    roll_deg: float = Field(0.0, ge=-360.0, le=360.0)

    @model_validator(mode="after")
    def _check(self) -> LensFile:
        if self.fov_x_deg is not None and self.focal_px is not None:
            raise ValueError("fov_x_deg and focal_px say the same: give only one of them")
        if self.has_lens and (self.width_px is None or self.height_px is None):
            raise ValueError("fov_x_deg and focal_px hold for one picture size: width_px and height_px are missing")
        if self.focal_px is not None and not min(self.focal_px) > 0.0:
            raise ValueError("focal_px: expected more than 0")
        return self

    @property
    def has_lens(self) -> bool:
        return self.fov_x_deg is not None or self.focal_px is not None

    def lens(self, size: Size) -> Lens | None:
        """The lens; None unless the file has its focal length in px."""
        if self.focal_px is None:
            return None
        centre = self.centre_px or ((size[0] - 1) / 2.0, (size[1] - 1) / 2.0)
        matrix = np.array([[self.focal_px[0], 0.0, centre[0]], [0.0, self.focal_px[1], centre[1]], [0.0, 0.0, 1.0]])
        return Lens(*size, matrix, np.array(self.distortion), self.error_px, self.pictures)


@dataclass(frozen=True, slots=True)
class Optics:
    """A pinhole `camera`, the conversion of the recording's pictures to its pictures, and the assumptions made.

    With `turns_itself` the camera's pitch and yaw are a guess, which self-calibration has to correct.
    """

    camera: CameraModel
    undistorter: Undistorter | None
    turns_itself: bool
    notes: tuple[str, ...]

    def picture(self, bgr: Image) -> Image:
        """The pinhole camera's picture. Raises ValueError for one of another size."""
        height, width = bgr.shape[:2]
        if (width, height) != (self.camera.width_px, self.camera.height_px):
            raise ValueError(f"{width}x{height} px, the others have {self.camera.width_px}x{self.camera.height_px}")
        return bgr if self.undistorter is None else self.undistorter(bgr)


def read_lens_file(path: Path | None) -> LensFile:
    """The lens file; without a path, the empty `LensFile()`. Raises ConfigError if the file is missing or wrong."""
    return LensFile() if path is None else load(path, LensFile)


def optics_for(about: LensFile, size: Size, where: Path, lens: Lens | None = None) -> Optics:
    """The camera for pictures of `size`; `lens` is the lens in the recording, which the lens file may replace.

    Raises ConfigError where the lens is for another size.
    """
    width, height = about.width_px or size[0], about.height_px or size[1]
    if (width, height) != size:
        raise ConfigError(f"{where}: pictures of {size[0]}x{size[1]} px, but the lens file is for {width}x{height}")
    notes, uncertain = [], []
    lens = about.lens(size) if about.has_lens else lens
    height_m = DEFAULT_HEIGHT_M if about.height_m is None else about.height_m
    if about.height_m is None:
        uncertain.append(f"the camera {height_m} m above the ground")
    if lens is not None:
        camera = pinhole_camera(lens, CAMERA, height_m)
    else:
        if about.fov_x_deg is None:
            uncertain.append(f"an angle of view of {DEFAULT_FOV_DEG:.0f} degrees")
        fov_x_rad = math.radians(about.fov_x_deg or DEFAULT_FOV_DEG)
        camera = CameraModel(CAMERA, *size, fov_x_rad, 0.0, 0.0, height_m)
    if uncertain:
        notes.append(f"distances are uncertain: no lens file says otherwise, so assumed are {' and '.join(uncertain)}")
    camera = replace(
        camera,
        x_m=about.x_m,
        y_m=about.y_m,
        pitch_rad=math.radians(about.pitch_deg or 0.0),
        yaw_rad=math.radians(about.yaw_deg),
        roll_rad=math.radians(about.roll_deg),
    )
    return Optics(camera, None if lens is None else Undistorter(lens), about.pitch_deg is None, tuple(notes))
