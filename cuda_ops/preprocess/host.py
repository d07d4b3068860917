"""Geometry of the letterbox, and the launch of the preprocess kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

Format = Literal["bgra", "bgr", "nv12"]
Output = Literal["half", "float", "packed"]
BYTES = {"bgra": 4, "bgr": 3, "nv12": 1}
CAMERAS_MAX = 8
SIZE_MAX = 32767
ROWS, COLUMNS = 8, 128
BT601 = (255.0 / 219.0, 1.596027, 0.391762, 0.812968, 2.017232)
BT709 = (255.0 / 219.0, 1.792741, 0.213249, 0.532909, 2.112402)
"""YUV to RGB, limited range to full range (ITU-R BT.601 and BT.709): weights of Y, V in R, U in G, V in G, U in B."""


@dataclass(frozen=True, slots=True)
class Letterbox:
    """Position of a scaled picture in the output.

    The picture of `width` x `height` px is scaled to `fit_width` x `fit_height` px, with its corner at (`left`, `top`).
    """

    width: int
    height: int
    fit_width: int
    fit_height: int
    left: int
    top: int


def letterbox(width: int, height: int, out_width: int, out_height: int, corner: Sequence[int] = ()) -> Letterbox:
    """The largest fit with the same aspect ratio, centred; an odd remaining pixel is at the right or bottom.

    With `corner` (height, width), the picture is scaled to this size, in the output's upper left corner.
    """
    if corner:
        return Letterbox(width, height, min(corner[1], out_width), min(corner[0], out_height), 0, 0)
    scale = min(out_width / width, out_height / height)
    fit_width = min(max(round(width * scale), 1), out_width)
    fit_height = min(max(round(height * scale), 1), out_height)
    return Letterbox(width, height, fit_width, fit_height, (out_width - fit_width) // 2, (out_height - fit_height) // 2)


def size_of(picture: Any, picture_format: Format) -> tuple[int, int]:
    """Width and height of a picture: (H, W, 4) BGRA, (H, W, 3) BGR or (H * 3 / 2, W) NV12."""
    height, width = int(picture.shape[0]), int(picture.shape[1])
    return (width, height * 2 // 3) if picture_format == "nv12" else (width, height)


def run(
    launcher: Launcher,
    pictures: Sequence[Any],
    out: Any,
    picture_format: Format,
    output: Output,
    matrix: Sequence[float] = BT601,
    corner: Sequence[int] = (),
) -> None:
    """Scale `pictures` into `out`, (N, 3, H, W) or, packed, (N, H, W, 8), with up to `CAMERAS_MAX` pictures per launch.

    With `corner`, values are rounded to bytes, as in a picture of this size.
    """
    height, width = (int(size) for size in (out.shape[1:3] if output == "packed" else out.shape[2:]))
    for start in range(0, len(pictures), CAMERAS_MAX):
        part = list(pictures[start : start + CAMERAS_MAX])
        arguments: list[Argument] = [Ptr(out[start:]), I32(width), I32(height), I32(int(len(corner) > 0))]
        arguments += [F32(value) for value in matrix]
        for picture in part:
            arguments += _camera(picture, picture_format, width, height, corner)
        arguments += [Ptr(None), *[I32(0)] * 4] * (CAMERAS_MAX - len(part))
        launcher.launch(
            f"{picture_format}_{output}",
            (ceil_div(width, COLUMNS), ceil_div(height, ROWS), len(part)),
            32 * ROWS,
            arguments,
            early=True,
        )


def _camera(
    picture: Any, picture_format: Format, out_width: int, out_height: int, corner: Sequence[int]
) -> list[Argument]:
    box = letterbox(*size_of(picture, picture_format), out_width, out_height, corner)
    pitch = int(picture.shape[1]) * BYTES[picture_format]
    pairs = ((box.width, box.height), (box.fit_width, box.fit_height), (box.left, box.top))
    return [Ptr(picture), *(I32(x | y << 16) for x, y in pairs), I32(pitch)]
