"""Videos (whatever FFmpeg reads) as a foreign source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import av
import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, Image, LaneGraph, SensorFrame
from av_stack.foreign.clock import Clock, ClockError
from av_stack.foreign.optics import LensFile, optics_for
from av_stack.foreign.source import NO_INPUT, frame_of_picture

END_TOLERANCE_S = 0.3
"""Largest time by which the last picture may end before the length that the file states."""


class Video:
    """A `ForeignSource`. Raises ConfigError where there is no video, or the lens is for another size."""

    kind = "video"
    graph: LaneGraph | None = None

    def __init__(self, path: Path, lens: LensFile) -> None:
        self.path, self._clock = path, Clock()
        self.problem: str | None = None
        self.lacks: Mapping[str, str] = NO_INPUT
        try:
            self._container = av.open(str(path))
        except (av.FFmpegError, OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot be read as a video: {_reason(error)}") from None
        try:
            self._stream = next(iter(self._container.streams.video), None)
            if self._stream is None:
                raise ConfigError(f"{path}: no video in it")
            self.pictures_per_s = float(self._stream.average_rate or self._stream.guessed_rate or 25)
            self._told_s = self._told_length_s(self._stream)
            self._pictures = self._decoded()
            self._first = next(self._pictures, None)
            if self._first is None:
                raise ConfigError(f"{path}: a video without pictures{f': {self.problem}' if self.problem else ''}")
            height, width = self._first[1].shape[:2]
            self.optics = optics_for(lens, (width, height), path)
        except BaseException:
            self.close()
            raise

    @property
    def notes(self) -> Sequence[str]:
        return self._clock.notes

    def frames(self) -> Iterator[SensorFrame]:
        picture, count, last_s = self._first, 0, 0.0
        while picture is not None:
            time_s, bgr = picture
            try:
                stamp = self._clock.stamp(time_s)
                image = CameraImage(stamp, self.optics.camera, self.optics.picture(bgr))
            except ClockError as error:
                self.problem = str(error)
                return
            except ValueError as error:
                self.problem = f"picture {count}: {error}"
                return
            yield frame_of_picture(image)
            picture, count = next(self._pictures, None), count + 1
            last_s = stamp.time_s
        if self.problem is None and last_s < self._told_s - END_TOLERANCE_S - 1.0 / self.pictures_per_s:
            self.problem = f"the video is cut off: it ends at {last_s:.2f} s, and should be {self._told_s:.2f} s long"

    def pictures(self) -> Iterator[Image]:
        """The pictures alone, instead of `frames`; afterwards, `problem` says why they ended early, if they did."""
        if self._first is not None:
            yield self._first[1]
        for _, bgr in self._pictures:
            yield bgr

    def close(self) -> None:
        self._container.close()

    def _told_length_s(self, stream: av.VideoStream) -> float:
        """The length of the video that the file states, s; 0 if it states none for the pictures alone."""
        if stream.duration is not None and stream.time_base is not None:
            return float(stream.duration * stream.time_base)
        is_alone = len(self._container.streams) == 1
        return (self._container.duration or 0) / av.time_base if is_alone else 0.0

    def _decoded(self) -> Iterator[tuple[float, Image]]:
        """(time in s, picture) of each frame, in the order and orientation in which it is to be shown."""
        try:
            for number, frame in enumerate(self._container.decode(self._stream)):
                assert isinstance(frame, av.VideoFrame)
                time_s = number / self.pictures_per_s if frame.time is None else float(frame.time)
                bgr = np.asarray(frame.to_ndarray(format="bgr24"), dtype=np.uint8)
                yield time_s, np.ascontiguousarray(np.rot90(bgr, round(frame.rotation / 90.0)))
        except (av.FFmpegError, OSError, ValueError) as error:
            self.problem = f"the video cannot be read further: {_reason(error)}"


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
