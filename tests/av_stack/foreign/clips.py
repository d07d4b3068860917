"""Makes foreign recordings for the tests, of the pieces of a real dashcam video."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np

from av_core.types import Image

VIDEO = "solidWhiteRight.mp4"
PICTURES_PER_S = 25


def dashcam(data_dir: Path, count: int) -> list[Image]:
    """The first pictures of the dashcam video, 960x540 px."""
    capture = cv2.VideoCapture(str(data_dir / "lanes" / VIDEO))
    return [np.asarray(capture.read()[1], dtype=np.uint8) for _ in range(count)]


def write_video(path: Path, pictures: Sequence[Image], times: Sequence[int] | None = None) -> Path:
    """An mp4 of the pictures, with `times` in units of 1/25 s."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=PICTURES_PER_S, options={"preset": "ultrafast", "crf": "18"})
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, PICTURES_PER_S)
        for number, bgr in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(bgr, format="bgr24")
            frame.pts = number if times is None else times[number]
            frame.time_base = Fraction(1, PICTURES_PER_S)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
