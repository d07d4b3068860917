"""Drives of KITTI's raw data as a foreign source: pictures of a colour camera, GNSS and IMU with each of them.

The layout is that of the data set's development kit: `image_02/data/*.png`, `image_02/timestamps.txt`,
`oxts/data/*.txt` with 30 numbers each, `oxts/timestamps.txt`, and in the folder above `calib_*.txt`. The vehicle
frame's origin is on the ground below the GNSS and IMU unit, which is 5 cm behind the rear axle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, Float, Image, LaneGraph, SensorFrame
from av_stack.foreign.clock import Clock, ClockError
from av_stack.foreign.kinds import KITTI_CAMERAS, KITTI_DATA, KITTI_TIMES, pictures_in
from av_stack.foreign.measured import Motion, Place, measured_frame
from av_stack.foreign.optics import LensFile, Size, optics_for
from av_stack.foreign.source import NO_INPUT, frame_of_picture
from perception.lanes.lens import Lens

OXTS = "oxts"
CAMERA_TO_CAMERA, VELODYNE_TO_CAMERA, IMU_TO_VELODYNE = (
    "calib_cam_to_cam.txt",
    "calib_velo_to_cam.txt",
    "calib_imu_to_velo.txt",
)
PICTURES_PER_S = 10.0
HEIGHT_M = 1.65
"""Height of the cameras above the ground."""

YAW, SPEED, ACCEL, GYRO, COUNT = 5, 8, slice(11, 14), slice(17, 20), 30
"""Indices of the numbers in a file of oxts, and how many it has; the first three are latitude, longitude, altitude."""

APART_MAX_S = 0.06
"""Longest time between a picture and its measurement; the measurements of oxts are at most 0.1 s apart."""


class Kitti:
    """A `ForeignSource`. Raises ConfigError if there is no picture, or the calibration is for another size."""

    kind = "KITTI drive"

    def __init__(self, path: Path, lens: LensFile) -> None:
        self.path, self._clock, self._notes = path, Clock(), list[str]()
        self.problem: str | None = None
        self._camera = next(name for name in KITTI_CAMERAS if (path / name / KITTI_TIMES).is_file())
        self._files = pictures_in(path / self._camera / KITTI_DATA)
        if not self._files:
            raise ConfigError(f"{path / self._camera / KITTI_DATA}: no picture")
        self._times_s = _times(path / self._camera / KITTI_TIMES)
        self._oxts_times_s = _times(path / OXTS / KITTI_TIMES)
        self._oxts = sorted((path / OXTS / KITTI_DATA).glob("*.txt"))
        first = _read(self._files[0])
        if first is None:
            raise ConfigError(f"{self._files[0]}: cannot be read as a picture")
        size = first.shape[1], first.shape[0]
        self.optics = optics_for(self._mounted(lens), size, path, None if lens.has_lens else self._lens(size))
        steps_s = np.diff(self._times_s[np.isfinite(self._times_s)])
        usual_s = float(np.median(steps_s)) if len(steps_s) else 0.0
        self.pictures_per_s = 1.0 / usual_s if usual_s > 0.0 else PICTURES_PER_S
        self.graph: LaneGraph | None = None
        self.lacks: Mapping[str, str] = NO_INPUT
        if self._oxts and np.isfinite(self._oxts_times_s).any():
            self.lacks = {}
            self.graph = _place(_numbers(self._oxts[0])).graph

    @property
    def notes(self) -> Sequence[str]:
        return (f"camera: {self._camera}", *self._notes, *self._clock.notes)

    def frames(self) -> Iterator[SensorFrame]:
        skipped = 0
        for file in self._files:
            try:
                time_s = self._time_of(file)
                numbers = self._measured_at(time_s)
                if self.graph is not None and numbers is None:
                    skipped += 1
                    continue
                bgr = _read(file)
                if bgr is None:
                    raise ValueError("cannot be read as a picture")
                image = CameraImage(self._clock.stamp(time_s), self.optics.camera, self.optics.picture(bgr))
            except ClockError as error:
                self.problem = str(error)
                break
            except (ValueError, ConfigError) as error:
                self.problem = f"{file.name}: {error}"
                break
            pictured = frame_of_picture(image)
            if numbers is None:
                yield pictured
            else:
                motion = Motion(numbers[ACCEL], numbers[GYRO], float(numbers[SPEED]))
                yield measured_frame(pictured, _place(numbers), motion)
        if skipped:
            self._notes.append(f"{skipped} pictures have no measurement of {OXTS} beside them, and are left out")

    def close(self) -> None:
        """Nothing to release: no file stays open."""

    def _time_of(self, file: Path) -> float:
        """The time of a picture, s, from the line with the picture's number. Raises ValueError if there is none."""
        if not file.stem.isdecimal() or int(file.stem) >= len(self._times_s):
            raise ValueError(f"no line for it in {self._camera}/{KITTI_TIMES}")
        time_s = float(self._times_s[int(file.stem)])
        if not math.isfinite(time_s):
            raise ValueError(f"its line in {self._camera}/{KITTI_TIMES} is empty")
        return time_s

    def _measured_at(self, time_s: float) -> Float | None:
        """The numbers of oxts nearest to a time; None where none are near."""
        if self.graph is None:
            return None
        nearest = int(np.nanargmin(np.abs(self._oxts_times_s - time_s)))
        file = self.path / OXTS / KITTI_DATA / f"{nearest:010d}.txt"
        if abs(self._oxts_times_s[nearest] - time_s) > APART_MAX_S or not file.is_file():
            return None
        return _numbers(file)

    def _lens(self, size: Size) -> Lens | None:
        """The lens in the calibration, for rectified or for raw pictures, whichever have the size of the pictures.

        Raises ConfigError if neither has.
        """
        found = _calibration(self.path, CAMERA_TO_CAMERA)
        number = self._camera[-2:]
        if found is None:
            self._notes.append(f"no {CAMERA_TO_CAMERA}, neither there nor in the folder above")
            return None
        sizes = []
        for size_key, matrix_key, distortion_key in (
            (f"S_rect_{number}", f"P_rect_{number}", ""),
            (f"S_{number}", f"K_{number}", f"D_{number}"),
        ):
            if size_key not in found or matrix_key not in found:
                continue
            width, height = (int(pixels) for pixels in found[size_key])
            sizes.append(f"{width}x{height}")
            if (width, height) == size:
                matrix = found[matrix_key].reshape(3, -1)[:, :3]
                distortion = found.get(distortion_key, np.zeros(5))
                return Lens(width, height, matrix, distortion, 0.0, 1)
        raise ConfigError(
            f"{self.path}: pictures of {size[0]}x{size[1]} px, but {CAMERA_TO_CAMERA} is for {' and '.join(sizes)}"
        )

    def _mounted(self, lens: LensFile) -> LensFile:
        """The lens file; the camera's position is taken from the calibration where the file lacks it."""
        place: dict[str, float] = {"height_m": HEIGHT_M}
        to_velodyne, to_camera = (_calibration(self.path, name) for name in (IMU_TO_VELODYNE, VELODYNE_TO_CAMERA))
        if to_velodyne is not None and to_camera is not None:
            turn, shift = to_camera["R"].reshape(3, 3), to_camera["T"]
            in_velodyne = -turn.T @ shift  # the first camera's place
            in_imu = to_velodyne["R"].reshape(3, 3).T @ (in_velodyne - to_velodyne["T"])
            place |= {"x_m": float(in_imu[0]), "y_m": float(in_imu[1])}
        else:
            self._notes.append("no calib_imu_to_velo.txt and calib_velo_to_cam.txt: distances are from the camera")
        return lens.model_copy(update={name: size for name, size in place.items() if name not in lens.model_fields_set})


def _place(numbers: Float) -> Place:
    return Place(float(numbers[0]), float(numbers[1]), float(numbers[2]), float(numbers[YAW]))


def _numbers(file: Path) -> Float:
    """The numbers of one measurement. Raises ConfigError where there are others than the 30."""
    try:
        numbers = np.array(file.read_text().split(), dtype=np.float64)
    except (OSError, ValueError):
        numbers = np.zeros(0)
    if len(numbers) != COUNT or not np.isfinite(numbers[: ACCEL.stop]).all():
        raise ConfigError(f"{file}: expected {COUNT} numbers")
    return numbers


def _times(file: Path) -> Float:
    """The times of a file, s; none where there is no file. Raises ConfigError where a line is no time."""
    times = []
    for number, line in enumerate(file.read_text().splitlines() if file.is_file() else (), 1):
        whole, _, part = line.strip().partition(".")
        if not whole:
            times.append(math.nan)  # a measurement that was lost
            continue
        try:
            seconds = (datetime.fromisoformat(whole) - datetime(2000, 1, 1)).total_seconds()
            times.append(seconds + float(f"0.{part or 0}"))
        except ValueError:
            raise ConfigError(f"{file}: line {number} is not a time: {line[:40]!r}") from None
    return np.array(times)


def _calibration(folder: Path, name: str) -> dict[str, Float] | None:
    """The numbers by key in a calibration file of the folder or its parent; None if neither has the file."""
    file = next((place / name for place in (folder, folder.absolute().parent) if (place / name).is_file()), None)
    if file is None:
        return None
    found = {}
    for line in file.read_text().splitlines():
        key, _, text = line.partition(":")
        try:
            found[key.strip()] = np.array(text.split(), dtype=np.float64)
        except ValueError:
            continue  # the time of the calibration
    return found


def _read(file: Path) -> Image | None:
    bgr = cv2.imread(str(file))
    return None if bgr is None else np.asarray(bgr, dtype=np.uint8)
