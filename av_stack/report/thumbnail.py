"""A small picture of a drive: from its video, or a sketch of the map where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from av_core.types import Float, Image
from av_stack.report.recorded import Recorded
from av_stack.report.run_data import video_time

WIDTH_PX, HEIGHT_PX = 288, 162
JPEG_QUALITY = 70

ROAD_BGR, PAPER_BGR, EGO_BGR, MARK_BGR = (224, 216, 211), (249, 246, 244), (219, 86, 26), (58, 30, 200)


def thumbnail(recorded: Recorded, video: Path | None, at_s: float) -> bytes:
    """A picture of the drive at a time, as JPEG."""
    picture = _video_picture(video, at_s, recorded) if video is not None else None
    if picture is None:
        picture = _sketch(recorded, at_s)
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
    """The middle of a picture in the thumbnail's shape."""
    height, width = picture.shape[:2]
    kept = min(height, width * HEIGHT_PX // WIDTH_PX)
    top = (height - kept) // 2
    return picture[top : top + kept]


def _sketch(recorded: Recorded, at_s: float) -> Image:
    """The ego's way on the lanes, with a mark where it is at a time; north is up."""
    way = recorded.ego[:, :2]
    low, high = way.min(axis=0) - 25.0, way.max(axis=0) + 25.0
    scale = min(2 * WIDTH_PX / (high[0] - low[0]), 2 * HEIGHT_PX / (high[1] - low[1]))
    middle = (low + high) / 2

    def pixels(points: Any) -> Any:
        xy: Float = (np.asarray(points, dtype=np.float64) - middle) * (scale, -scale) + (WIDTH_PX, HEIGHT_PX)
        return np.round(xy).astype(np.int32).reshape(-1, 1, 2)

    canvas = np.full((2 * HEIGHT_PX, 2 * WIDTH_PX, 3), PAPER_BGR, dtype=np.uint8)
    if recorded.roads is not None:
        for _, left, right in recorded.roads["lanes"]:
            cv2.fillPoly(canvas, [pixels([*left, *reversed(right)])], ROAD_BGR, cv2.LINE_AA)
    cv2.polylines(canvas, [pixels(way)], False, EGO_BGR, 3, cv2.LINE_AA)
    row = min(int(np.searchsorted(recorded.time_s, at_s)), len(way) - 1)
    u, v = pixels(way[row])[0, 0].tolist()
    cv2.circle(canvas, (u, v), 7, MARK_BGR, -1, cv2.LINE_AA)
    return canvas
