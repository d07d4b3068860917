"""ROS 2 recordings as a foreign source: the pictures of one camera, with the measurements between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, GeoReference, GnssFix, ImuSample, LaneGraph, SensorFrame, Stamp
from av_stack.foreign.clock import Clock, ClockError
from av_stack.foreign.optics import LensFile, optics_for
from av_stack.foreign.ros2_file import Ros2File
from av_stack.foreign.ros2_messages import fix_of, imu_of, lens_of, picture_of, speed_of, time_of
from av_stack.foreign.source import no_fix, no_imu
from av_stack.foreign.topics import TopicsFile, choose_topics
from perception.lanes.lens import Lens

NOWHEN = Stamp(0, 0.0)
NO_WHEELS = "no wheel speed: the ego's speed comes from GNSS and IMU alone"


class Ros2:
    """A `ForeignSource` of a ROS 2 bag, which is read twice: the first time to find the available inputs.

    If the bag has positions and headings, the frames begin when both are known, and this place is the origin of the map
    frame. Raises ConfigError where the bag has no pictures, or the lens is for another size.
    """

    kind = "ROS 2 recording"

    def __init__(self, path: Path, lens: LensFile, topics: TopicsFile) -> None:
        self.path = path
        self.problem: str | None = None
        self._file, self._clock, self._notes = Ros2File(path), Clock(), list[str]()
        types = self._file.types()
        if not types:
            why = self._file.problem or "it holds no messages in cdr"
            raise ConfigError(f"{path}: no ROS 2 recording that can be read: {why}")
        found = choose_topics(types, topics, path)
        self._inputs = {topic: name for name, topic in found.chosen.items()}
        first = _First.of(self._file, self._inputs)
        if first.size is None:
            why = self._file.problem or f"{found.chosen['image']}: no picture: {first.picture_problem}"
            raise ConfigError(f"{path}: {why}")
        lacks = {"GNSS": found.lacking.get("gnss"), "IMU": found.lacking.get("imu")}
        lacks["GNSS"] = lacks["GNSS"] or ("the GNSS never has a fix" if first.fix is None else None)
        lacks["IMU"] = lacks["IMU"] or ("the IMU has no orientation" if not first.has_heading else None)
        lacks["wheels"] = found.lacking.get("odometry")
        self.lacks: Mapping[str, str] = {name: why for name, why in lacks.items() if why is not None}
        self._is_placed = not {"GNSS", "IMU"} & self.lacks.keys()
        self.graph: LaneGraph | None = None
        if self._is_placed and first.fix is not None:
            geo = GeoReference(first.fix.latitude_deg, first.fix.longitude_deg, is_on_earth=True)
            self.graph = LaneGraph("", {}, (), geo)
        self.pictures_per_s = first.pictures_per_s
        self.optics = optics_for(lens, first.size, path, self._own_lens(first, lens))
        if self._is_placed and "wheels" in self.lacks:
            self._notes.append(NO_WHEELS)
        self._notes.append(f"topics: {', '.join(f'{name} {topic}' for name, topic in found.chosen.items())}")

    @property
    def notes(self) -> Sequence[str]:
        return (*self._notes, *self._clock.notes)

    def frames(self) -> Iterator[SensorFrame]:
        since, skipped, count = _Since(), 0, 0
        for topic, message, log_time_ns in self._file.messages(self._inputs):
            name = self._inputs[topic]
            if name == "gnss":
                since.fix = fix_of(message, NOWHEN)
            elif name == "imu":
                since.add_imu(imu_of(message, NOWHEN))
            elif name == "odometry":
                since.speed_mps = speed_of(message)
            elif name == "image":
                if self._is_placed and count == 0 and not since.is_placed:
                    skipped += 1
                    continue
                try:
                    stamp = self._clock.stamp(time_of(message, log_time_ns))
                    bgr = self.optics.picture(picture_of(message))
                except ClockError as error:
                    self.problem = str(error)
                    break
                except ValueError as error:
                    self.problem = f"picture {count}: {error}"
                    break
                yield since.frame(CameraImage(stamp, self.optics.camera, bgr))
                since, count = _Since(), count + 1
        self.problem = self.problem or self._file.problem
        if skipped:
            self._notes.append(f"{skipped} pictures are before the first position and heading, and left out")

    def close(self) -> None:
        """Nothing to release: no file stays open."""

    def _own_lens(self, first: _First, lens: LensFile) -> Lens | None:
        """The calibration in the recording, unless the lens file has one."""
        if lens.has_lens or "camera_info" not in self._inputs.values():
            return None
        if first.lens_problem:
            raise ConfigError(f"{self.path}: {first.lens_problem}")
        own = first.lens
        if own is not None and (own.width_px, own.height_px) != first.size and first.size is not None:
            width, height = first.size
            raise ConfigError(
                f"{self.path}: pictures of {width}x{height} px, but their CameraInfo is for "
                f"{own.width_px}x{own.height_px}"
            )
        return own


class _Since:
    """The measurements since the last picture."""

    def __init__(self) -> None:
        self.fix: GnssFix | None = None
        self.speed_mps = math.nan
        self._imu: list[ImuSample] = []

    @property
    def is_placed(self) -> bool:
        return (
            self.fix is not None
            and math.isfinite(self.fix.latitude_deg)
            and any(math.isfinite(one.yaw_rad) for one in self._imu)
        )

    def add_imu(self, sample: ImuSample) -> None:
        self._imu.append(sample)

    def frame(self, image: CameraImage) -> SensorFrame:
        """The frame of the picture, with the last fix, speed and heading, and the mean of the IMU's measurements."""
        stamp = image.stamp
        fix = no_fix(stamp) if self.fix is None else replace(self.fix, stamp=stamp)
        imu = no_imu(stamp)
        if self._imu:
            accel = np.mean([one.accel_mps2 for one in self._imu], axis=0).tolist()
            gyro = np.mean([one.gyro_radps for one in self._imu], axis=0).tolist()
            imu = ImuSample(stamp, tuple(accel), tuple(gyro), self._imu[-1].yaw_rad)
        return SensorFrame(stamp, {image.camera.name: image}, fix, imu, self.speed_mps)


@dataclass(slots=True)
class _First:
    """The first message of each input in a recording."""

    size: tuple[int, int] | None = None
    picture_problem: str = "none"
    pictures_per_s: float = 10.0
    fix: GnssFix | None = None
    has_heading: bool = False
    lens: Lens | None = None
    lens_problem: str = ""

    @staticmethod
    def of(file: Ros2File, inputs: Mapping[str, str]) -> _First:
        """Read until all inputs have been found, or to the end."""
        first, times_s, missing = _First(), list[float](), set(inputs.values()) - {"odometry"}
        for topic, message, log_time_ns in file.messages(inputs):
            name = inputs[topic]
            if name == "image":
                times_s.append(time_of(message, log_time_ns))
                first._see(message)
                if len(times_s) == 20:
                    missing.discard(name)
            elif name == "camera_info" and name in missing:
                missing.discard(name)
                try:
                    first.lens = lens_of(message)
                except ValueError as error:
                    first.lens_problem = str(error)
            elif name == "gnss" and name in missing and math.isfinite((fix := fix_of(message, NOWHEN)).latitude_deg):
                missing.discard(name)
                first.fix = fix
            elif name == "imu" and name in missing and math.isfinite(imu_of(message, NOWHEN).yaw_rad):
                missing.discard(name)
                first.has_heading = True
            if not missing:
                break
        steps = np.diff(times_s)
        if len(steps) and float(np.median(steps)) > 0.0:
            first.pictures_per_s = min(max(1.0 / float(np.median(steps)), 1.0), 240.0)
        return first

    def _see(self, message: object) -> None:
        if self.size is None:
            try:
                height, width = picture_of(message).shape[:2]
                self.size = width, height
            except ValueError as error:
                self.picture_problem = str(error)
