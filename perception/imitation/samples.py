"""The training data of the imitation network: samples of recorded drives, and the files that hold them.

A sample is the picture of one camera at one moment, and the expert's decision at this moment. Points are in the vehicle
frame (x ahead, y to the left, m) of a car that has this camera in its regular place. For a shifted camera this is a
virtual car beside the real one, or turned against it, and the expert's path begins beside the virtual car.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.constraint import Constraint, ConstraintKind

Float32 = NDArray[np.float32]

CAMERA_PX = (640, 360)
"""Width and height of the camera's picture.

The network gets the whole picture, scaled to `WIDTH_PX` by `HEIGHT_PX`, and a part of it at full size. At 38 m, where a
car has to start braking, a lamp of a traffic light (0.27 m wide) has 2.3 pixels at full size, but only 0.9 in the
scaled picture."""

WIDTH_PX, HEIGHT_PX = 256, 144

FAR_WIDTH_PX, FAR_HEIGHT_PX = 256, 96
FAR_LEFT_PX, FAR_TOP_PX = (CAMERA_PX[0] - FAR_WIDTH_PX) // 2, 96
"""Left and upper edge of the part far ahead, in the full picture. The horizon is in row 158 of this picture."""

PATH_AHEAD_M = (0.0, 2.5, 5.0, 7.5, 10.0, 15.0, 20.0)
"""Distances along the expert's path of its points; the first point is beside the car."""

ROUTE_AHEAD_M = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
"""Distances along the route of the points in a sample; a network gets some of them."""

TARGET_S = 1.0
"""The target speed is the speed of the expert's plan after this time."""

SPEEDS_MPS = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.5, 15.0, 20.0, 25.0, 35.0)
"""Classes of the target speed; a speed between two of them belongs to both in part."""

CAUSES = ("nothing", "light", "vehicle", "other")
"""Causes for which the expert slows down or stands. The distance of a "light" or a "vehicle" is known, too."""

CAUSE_MOST_M = 60.0
"""Largest distance of a cause; causes further away are hardly visible, and count as "nothing"."""

JPEG = [
    cv2.IMWRITE_JPEG_QUALITY, 85, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
]  # fmt: skip
"""Colours are kept at full size: at half of it, which is usual, a small lamp would lose its colour."""

_CAUSE_OF = {
    ConstraintKind.RED_LIGHT: 1,
    ConstraintKind.UNSEEN_LIGHT: 1,
    ConstraintKind.OFF_LIGHT: 1,
    ConstraintKind.LEADER: 2,
    ConstraintKind.OBSTACLE: 2,
    ConstraintKind.SPEED_LIMIT: 0,
    ConstraintKind.ACCELERATION: 0,
    ConstraintKind.CURVE: 0,
}


def cause_of(constraint: Constraint | None) -> tuple[int, float]:
    """(index in `CAUSES` of a plan's constraint, its distance in m; NaN if it has none)."""
    cause = 0 if constraint is None else _CAUSE_OF.get(constraint.kind.counted_as, CAUSES.index("other"))
    if constraint is None or not cause or constraint.distance_m is None:
        return cause, math.nan
    return (cause, constraint.distance_m) if constraint.distance_m <= CAUSE_MOST_M else (0, math.nan)


@dataclass(frozen=True, slots=True)
class Samples:
    """N samples.

    * `jpeg`, `far`: the whole pictures, scaled down, and their parts far ahead at full size, as JPEG.
    * `speed_mps` (N,): the wheel speed.
    * `route_m` (N, routes, 2): points of the route, placed by a position with the errors of the sensors.
    * `path_m` (N, points, 2), `target_mps` (N,): the expert's path and target speed.
    * `cause` (N,), `cause_m` (N,): the expert's cause as an index in `CAUSES`, and its distance; NaN without one.
    * `view` (N,): number of the camera, 0 for the one in the middle.
    * `frame` (N,): number of the tick.
    """

    jpeg: Sequence[bytes]
    far: Sequence[bytes]
    speed_mps: Float32
    route_m: Float32
    path_m: Float32
    target_mps: Float32
    cause: NDArray[np.uint8]
    cause_m: Float32
    view: NDArray[np.uint8]
    frame: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.jpeg)


PICTURES = ("jpeg", "far")
COLUMNS = ("speed_mps", "route_m", "path_m", "target_mps", "cause", "cause_m", "view", "frame")
"""The fields of `Samples`."""


def no_samples() -> Samples:
    """Samples of a drive that has none."""
    empty = np.zeros(0, np.float32)
    route_m, path_m = (np.zeros((0, count, 2), np.float32) for count in (len(ROUTE_AHEAD_M), len(PATH_AHEAD_M)))
    number = np.zeros(0, np.uint8)
    return Samples([], [], empty, route_m, path_m, empty, number, empty, number, np.zeros(0, np.int32))


def join_samples(parts: Sequence[Samples]) -> Samples:
    """The samples of several drives, one after the other."""
    parts = [part for part in parts if len(part)] or [no_samples()]
    columns: dict[str, Any] = {name: [one for part in parts for one in getattr(part, name)] for name in PICTURES}
    columns |= {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return Samples(**columns)


def parts_of(bgr: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The whole picture of the camera, small, and its middle part at full size. Raises ValueError for another size."""
    if bgr.shape != (*reversed(CAMERA_PX), 3):
        raise ValueError(f"the picture has the shape {bgr.shape}; expected {CAMERA_PX[0]}x{CAMERA_PX[1]}")
    whole = cv2.resize(bgr, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_AREA)
    far = bgr[FAR_TOP_PX : FAR_TOP_PX + FAR_HEIGHT_PX, FAR_LEFT_PX : FAR_LEFT_PX + FAR_WIDTH_PX]
    return np.asarray(whole, np.uint8), far


def encode(bgr: NDArray[np.uint8]) -> bytes:
    """The picture as JPEG."""
    done, data = cv2.imencode(".jpg", bgr, JPEG)
    if not done:
        raise OSError("a picture cannot be written as JPEG")
    return bytes(data)


def decode(jpeg: bytes, height_px: int = HEIGHT_PX) -> NDArray[np.uint8]:
    """The picture (height, WIDTH_PX, 3), BGR."""
    bgr = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None or bgr.shape != (height_px, WIDTH_PX, 3):
        raise OSError(f"a sample holds no picture of {WIDTH_PX}x{height_px}")
    return np.asarray(bgr, np.uint8)


def write_samples(path: Path, samples: Samples, facts: dict[str, Any]) -> None:
    """Write the samples of one drive, and `facts` about it, to one file in one step: it is complete or absent."""
    columns: dict[str, Any] = {name: getattr(samples, name) for name in COLUMNS}
    for name in PICTURES:
        pictures = getattr(samples, name)
        columns[name] = np.frombuffer(b"".join(pictures), np.uint8)
        columns[f"{name}_ends"] = np.cumsum([len(one) for one in pictures], dtype=np.int64)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, facts=np.array(json.dumps(facts)), **columns)
    os.replace(part, path)


def read_samples(path: Path) -> tuple[Samples, dict[str, Any]]:
    """The samples of one drive and the facts about it."""
    with np.load(path) as file:
        jpeg, far = (_pieces(file[name].tobytes(), file[f"{name}_ends"].tolist()) for name in PICTURES)
        return Samples(jpeg, far, **{name: file[name] for name in COLUMNS}), json.loads(str(file["facts"]))


def _pieces(data: bytes, ends: list[int]) -> list[bytes]:
    return [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []


def drive_files(folder: Path) -> list[Path]:
    """The files of the recorded drives in a data set's folder, in order."""
    return sorted((folder / "drives").glob("*.npz"))
