"""A small picture of a drive: from its video, or from above where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import cv2

from av_core.types import Image
from av_stack.report.from_above import from_above
from av_stack.report.recorded import Recorded
from av_stack.report.run_data import video_time

WIDTH_PX, HEIGHT_PX = 288, 162
JPEG_QUALITY = 70


def thumbnail(recorded: Recorded, video: Path | None, at_s: float) -> bytes:
    """A picture of the drive at a time, as JPEG."""
    picture = _video_picture(video, at_s, recorded) if video is not None else None
    if picture is None:
        picture = from_above(recorded, at_s, 2 * WIDTH_PX, 2 * HEIGHT_PX)
    small = cv2.resize(picture, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_AREA)
    _, jpeg = cv2.imencode(".jpg", small, (cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY))
    return bytes(jpeg.tobytes())


def _video_picture(video: Path, at_s: float, recorded: Recorded) -> Image | None:
    """The video's picture at a time, cut to the thumbnail's shape; None where it cannot be decoded."""
    timing = video_time(recorded)
    wanted_s = max(0.0, (at_s - timing["begin_s"]) / timing["rate"])
    try:
        with av.open(str(video)) as container:
            stream = container.streams.video[0]
            if stream.time_base is not None:
                container.seek(int(wanted_s / stream.time_base), stream=stream)
            last: Any = None
            for frame in container.decode(stream):
                last = frame
                if frame.time is not None and frame.time >= wanted_s - 1e-3:
                    break
    except (OSError, ValueError, av.FFmpegError):
        return None
    return None if last is None else _cropped(last.to_ndarray(format="bgr24"))


def _cropped(picture: Image) -> Image:
    """The front camera's part of a video's picture, in the thumbnail's shape; the panel at its right is left out."""
    height, width = picture.shape[:2]
    kept = min(height, width * HEIGHT_PX // WIDTH_PX)
    top = (height - kept) // 2
    return picture[top : top + kept, : kept * WIDTH_PX // HEIGHT_PX]
