"""Segments of the data set comma2k19 as a foreign source: a minute of video, the camera's pose, CAN and IMU.

The layout is that of https://github.com/commaai/comma2k19: `video.hevc`, `global_pose/frame_*` for each picture, and
`processed_log/KIND/NAME/t` and `.../value`, all numpy arrays; vectors are forward, right, down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, Float, LaneGraph, SensorFrame
from av_stack.foreign.clock import Clock, ClockError
from av_stack.foreign.kinds import COMMA2K19_VIDEO
from av_stack.foreign.measured import (
    NOWHERE,
    Motion,
    Place,
    Series,
    mean_of,
    measured_frame,
    placed_on_earth,
)
from av_stack.foreign.optics import LensFile
from av_stack.foreign.source import frame_of_picture
from av_stack.foreign.video import Video

POSE, LOG = "global_pose", "processed_log"
PICTURES_PER_S = 20.0
LENS = LensFile(width_px=1164, height_px=874, focal_px=(910.0, 910.0), height_m=1.22)
"""The camera of the EON that recorded all segments: size and focal length are those of the data set's code."""

TURNED = np.array([1.0, -1.0, -1.0])
"""Factors that convert a vector (forward, right, down) to (forward, left, up)."""


class Comma2k19:
    """A `ForeignSource` of one segment; position and heading are the poses that the data set has for each picture.

    Raises ConfigError where there is no video, or an array cannot be read.
    """

    kind = "comma2k19 segment"
    pictures_per_s = PICTURES_PER_S

    def __init__(self, path: Path, lens: LensFile) -> None:
        self.path, self._clock, self._notes = path, Clock(), list[str]()
        self.problem: str | None = None
        self._times_s = _array(path / POSE / "frame_times", 1)
        self._positions_m = _array(path / POSE / "frame_positions", 2)
        self._turns = _array(path / POSE / "frame_orientations", 2)
        self._accel, self._gyro = _series(path, "IMU", "accelerometer"), _series(path, "IMU", "gyro")
        self._speed = _series(path, "CAN", "speed")
        self._places = self._all_places()
        first = next((place for place in self._places if place.is_known), None)
        self.graph: LaneGraph | None = first.graph if first is not None else None
        lacks = {
            "GNSS": None if first is not None else f"no {POSE}",
            "IMU": None if first is not None else f"no {POSE}",
            "wheels": None if self._speed is not None else "no CAN speed",
        }
        self.lacks: Mapping[str, str] = {name: why for name, why in lacks.items() if why is not None}
        given = lens if lens.has_lens else LENS.model_copy(update=lens.model_dump(include=lens.model_fields_set))
        if first is not None:
            self._notes.append(f"position and heading: the data set's own {POSE}")
        self._video = Video(path / COMMA2K19_VIDEO, given)
        self.optics = self._video.optics

    @property
    def notes(self) -> Sequence[str]:
        return (*self._notes, *self._clock.notes)

    def frames(self) -> Iterator[SensorFrame]:
        before_s, skipped = -math.inf, 0
        for number, bgr in zip(count(), self._video.pictures(), strict=False):
            has_time = self._times_s is not None and number < len(self._times_s)
            if self._times_s is not None and not has_time:
                self.problem = f"picture {number}: {POSE} ends there"
                return
            time_s = float(self._times_s[number]) if self._times_s is not None else number / PICTURES_PER_S
            place = self._places[number] if number < len(self._places) else NOWHERE
            if self.graph is not None and not place.is_known:
                skipped, before_s = skipped + 1, time_s
                continue
            try:
                stamp = self._clock.stamp(time_s)
                image = CameraImage(stamp, self.optics.camera, self.optics.picture(bgr))
            except ClockError as error:
                self.problem = str(error)
                return
            except ValueError as error:
                self.problem = f"picture {number}: {error}"
                return
            yield measured_frame(frame_of_picture(image), place, self._motion(before_s, time_s))
            before_s = time_s
        self.problem = self._video.problem
        if skipped:
            self._notes.append(f"{skipped} pictures have no position and heading, and are left out")

    def close(self) -> None:
        self._video.close()

    def _all_places(self) -> list[Place]:
        if self._times_s is None or self._positions_m is None or self._turns is None:
            return []
        return [
            placed_on_earth(position, _forward(turn))
            for position, turn in zip(self._positions_m, self._turns, strict=False)
        ]

    def _motion(self, after_s: float, until_s: float) -> Motion:
        """The measurements since the last picture; for the first picture, the last values before it."""
        after_s = max(after_s, until_s - 1.0 / PICTURES_PER_S)
        accel, gyro = (
            mean_of(series.between(after_s, until_s), 3) * TURNED if series is not None else np.full(3, math.nan)
            for series in (self._accel, self._gyro)
        )
        speed = self._speed.between(after_s, until_s) if self._speed is not None else np.zeros((0, 1))
        return Motion(accel, gyro, float(mean_of(speed, 1)[0]))


def _forward(turn: Float) -> Float:
    """The first axis of the camera on the Earth, from its quaternion w, x, y, z."""
    w, x, y, z = turn.tolist()
    return np.array([w * w + x * x - y * y - z * z, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)])


def _series(path: Path, kind: str, name: str) -> Series | None:
    folder = path / LOG / kind / name
    times, values = _array(folder / "t", 1), _array(folder / "value", 2)
    if times is None or values is None:
        return None
    if len(times) != len(values):
        raise ConfigError(f"{folder}: {len(times)} times, but {len(values)} values")
    order = np.argsort(times, kind="stable")
    return Series(times[order], values[order])


def _array(file: Path, dimensions: int) -> Float | None:
    """The numbers in a file, as rows where these have `dimensions` of two; None where there is no file."""
    if not file.is_file():
        return None
    try:
        numbers = np.asarray(np.load(file, allow_pickle=False), dtype=np.float64)
    except (OSError, ValueError, EOFError) as error:
        raise ConfigError(f"{file}: no array that can be read: {error}") from None
    return numbers.reshape(len(numbers), -1) if dimensions == 2 else numbers.ravel()
