"""`ForeignSource`: a recording of another program as sensor frames, with the reasons for missing inputs.

It is not a `World`, because it has neither a vehicle nor the truth, and most recordings have no map.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from av_core.types import CameraImage, GnssFix, ImuSample, LaneGraph, SensorFrame, Stamp
from av_stack.foreign.optics import Optics

UNKNOWN = (math.nan,) * 3
NO_INPUT: Mapping[str, str] = {"GNSS": "no GNSS", "IMU": "no IMU", "wheels": "no wheel speed"}
"""For each input, the text of `ForeignSource.lacks` for kinds of recordings that never have it."""


class ForeignSource(Protocol):
    """One recording with one camera, opened; `frames` can be called once.

    * `lacks`: for each missing input (GNSS, IMU, wheels) the reason.
    * `graph`: the map; it has no lanes if only the origin of the map frame is known. None if not even that is known.
    * `problem`: after `frames`, the reason in one line why they ended early; None if they did not.
    """

    path: Path
    kind: str
    optics: Optics
    pictures_per_s: float
    graph: LaneGraph | None
    lacks: Mapping[str, str]
    problem: str | None

    @property
    def notes(self) -> Sequence[str]:
        """Further notes for the report; complete after `frames`."""
        ...

    def frames(self) -> Iterator[SensorFrame]:
        """The frames in order, as far as they can be read. Their times increase; values not measured are NaN."""
        ...

    def close(self) -> None: ...


def frame_of_picture(image: CameraImage) -> SensorFrame:
    """A frame that holds nothing but one picture."""
    stamp = image.stamp
    return SensorFrame(stamp, {image.camera.name: image}, no_fix(stamp), no_imu(stamp), math.nan)


def no_fix(stamp: Stamp) -> GnssFix:
    return GnssFix(stamp, *UNKNOWN)


def no_imu(stamp: Stamp) -> ImuSample:
    return ImuSample(stamp, UNKNOWN, UNKNOWN, math.nan)
