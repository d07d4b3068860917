"""What the imitation network learns from: samples of recorded drives, and the files that hold them.

A sample is what one camera saw at one moment and what the expert wanted to do then. Points are in the vehicle frame
(x ahead, y to the left, m) of a car on which this camera is mounted in its regular place. For a shifted camera that
car stands beside the real one, or is turned, and the expert's path begins beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

WIDTH_PX, HEIGHT_PX = 256, 144

PATH_AHEAD_M = (0.0, 2.5, 5.0, 7.5, 10.0, 15.0, 20.0)
"""Distances along the expert's path at which it has points; the first is beside the car."""

ROUTE_AHEAD_M = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
"""Distances along the route at which samples have points; a network gets some of them."""

TARGET_S = 1.0
"""The target speed is the one that the expert plans to have after this time."""

SPEEDS_MPS = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.5, 15.0, 20.0, 25.0, 35.0)
"""Classes of the target speed; a speed between two of them belongs to both in part."""

JPEG_QUALITY = 75


@dataclass(frozen=True, slots=True)
class Samples:
    """N samples.

    `jpeg` holds the pictures. `speed_mps` (N,) is measured by the wheels, `route_m` (N, routes, 2) comes from a
    position with the errors of the sensors. `path_m` (N, points, 2) and `target_mps` (N,) are the expert's. `view` (N,)
    is the number of the camera, 0 for the one in the middle; `frame` (N,) the number of the tick.
    """

    jpeg: Sequence[bytes]
    speed_mps: Float32
    route_m: Float32
    path_m: Float32
    target_mps: Float32
    view: NDArray[np.uint8]
    frame: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.jpeg)


def no_samples() -> Samples:
    """Samples of a drive that has none."""
    empty = np.zeros(0, np.float32)
    route_m, path_m = (np.zeros((0, count, 2), np.float32) for count in (len(ROUTE_AHEAD_M), len(PATH_AHEAD_M)))
    return Samples([], empty, route_m, path_m, empty, np.zeros(0, np.uint8), np.zeros(0, np.int32))


def encode(bgr: NDArray[np.uint8]) -> bytes:
    """The picture as JPEG."""
    done, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not done:
        raise OSError("a picture cannot be written as JPEG")
    return bytes(data)


def decode(jpeg: bytes) -> NDArray[np.uint8]:
    """The picture (HEIGHT_PX, WIDTH_PX, 3), BGR."""
    bgr = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None or bgr.shape != (HEIGHT_PX, WIDTH_PX, 3):
        raise OSError(f"a sample holds no picture of {WIDTH_PX}x{HEIGHT_PX}")
    return np.asarray(bgr, np.uint8)


def write_samples(path: Path, samples: Samples, facts: dict[str, Any]) -> None:
    """Write the samples of one drive, and `facts` about it, to one file; it is there whole or not at all."""
    ends = np.cumsum([len(jpeg) for jpeg in samples.jpeg], dtype=np.int64)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(
            file,
            jpeg=np.frombuffer(b"".join(samples.jpeg), np.uint8),
            ends=ends,
            speed_mps=samples.speed_mps,
            route_m=samples.route_m,
            path_m=samples.path_m,
            target_mps=samples.target_mps,
            view=samples.view,
            frame=samples.frame,
            facts=np.array(json.dumps(facts)),
        )
    os.replace(part, path)


def read_samples(path: Path) -> tuple[Samples, dict[str, Any]]:
    """The samples of one drive and the facts about it."""
    with np.load(path) as file:
        data, ends = file["jpeg"].tobytes(), file["ends"].tolist()
        jpeg = [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []
        columns = {name: file[name] for name in ("speed_mps", "route_m", "path_m", "target_mps", "view", "frame")}
        return Samples(jpeg, **columns), json.loads(str(file["facts"]))


def drive_files(folder: Path) -> list[Path]:
    """The files of the recorded drives in a data set's folder, in order."""
    return sorted((folder / "drives").glob("*.npz"))
