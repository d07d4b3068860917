"""`ForeignSource`: a recording of another program as sensor frames, with what it lacks.

It is no `World`: that has a map, a vehicle and the truth, and none of them is here.
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
"""By input, what `ForeignSource.lacks` says where the recording is of a kind that never has it."""


class ForeignSource(Protocol):
    """One recording with one camera, opened; `frames` can be called once.

    `lacks` says by input (GNSS, IMU, wheels) why it is not there. `graph` is the map; it has no lanes where positions
    were measured but only its origin is known. After `frames`, `problem` says in one line why it ended early, if so.
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
        """What else the report shall say; complete after `frames`."""
        ...

    def frames(self) -> Iterator[SensorFrame]:
        """The frames in order, as far as they can be read. Their times grow, and what was not measured is NaN."""
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
