"""A folder of pictures, in the order of their names, as a foreign source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, Image, LaneGraph, SensorFrame, Stamp
from av_stack.foreign.kinds import PICTURE_SUFFIXES, pictures_in
from av_stack.foreign.optics import LensFile, optics_for
from av_stack.foreign.source import NO_INPUT, frame_of_picture


class Pictures:
    """A `ForeignSource`; the pictures are `1 / pictures_per_s` apart. Raises ConfigError where there is none."""

    kind = "pictures"
    graph: LaneGraph | None = None
    notes: Sequence[str] = ()

    def __init__(self, path: Path, lens: LensFile, pictures_per_s: float) -> None:
        self.path, self.pictures_per_s = path, pictures_per_s
        self.problem: str | None = None
        self.lacks: Mapping[str, str] = NO_INPUT
        self._files = pictures_in(path)
        if not self._files:
            raise ConfigError(f"{path}: no picture ({', '.join(PICTURE_SUFFIXES)})")
        first = _read(self._files[0])
        if first is None:
            raise ConfigError(f"{self._files[0]}: cannot be read as a picture")
        self.optics = optics_for(lens, (first.shape[1], first.shape[0]), path)

    def frames(self) -> Iterator[SensorFrame]:
        for number, file in enumerate(self._files):
            bgr = _read(file)
            if bgr is None:
                self.problem = f"{file.name}: cannot be read as a picture"
                return
            try:
                picture = self.optics.picture(bgr)
            except ValueError as error:
                self.problem = f"{file.name}: {error}"
                return
            yield frame_of_picture(
                CameraImage(Stamp(number, number / self.pictures_per_s), self.optics.camera, picture)
            )

    def close(self) -> None:
        """Nothing to release: no file stays open."""


def _read(file: Path) -> Image | None:
    bgr = cv2.imread(str(file))
    return None if bgr is None else np.asarray(bgr, dtype=np.uint8)
