"""Packs pictures without loss, as single pictures of the video codec MagicYUV, which FFmpeg and PyAV know.

`benchmarks.replay codecs` compares it with other codecs: of those with a good compression it is the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import av
import cv2
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.plane import VideoPlane
from numpy.typing import NDArray

from av_core.types import Image
from av_stack.recording.exact.packing import PackingError

CODEC, PIXELS = "magicyuv", "gbrp"
OPTIONS = {"pred": "median"}
SIDE_MAX_PX = 1 << 14


@dataclass(frozen=True, slots=True)
class LosslessPicture:
    """One picture: `data` is a packet of FFmpeg's `codec`, which needs no other packet."""

    camera: str
    codec: str
    width_px: int
    height_px: int
    data: bytes


class PictureEncoder:
    """Packs the pictures of one camera, all of one size."""

    def __init__(self, camera: str, width_px: int, height_px: int) -> None:
        self._camera = camera
        self._context = _context("w", width_px, height_px)
        self._context.options = dict(OPTIONS)
        self._context.time_base = Fraction(1, 20)
        self._count = 0

    def encode(self, bgr: Image) -> LosslessPicture:
        """The packed form of a picture (height, width, 3). Raises ValueError for another size than the encoder's."""
        context = self._context
        if bgr.shape != (context.height, context.width, 3):
            raise ValueError(f"a picture of {bgr.shape} instead of {context.width}x{context.height} px")
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(bgr), format="bgr24").reformat(format=PIXELS)
        frame.pts = self._count
        self._count += 1
        (packet,) = context.encode(frame)
        return LosslessPicture(self._camera, CODEC, context.width, context.height, bytes(packet))


class PictureDecoder:
    """Reads the pictures of one camera."""

    def __init__(self) -> None:
        self._context: VideoCodecContext | None = None

    def decode(self, picture: LosslessPicture) -> Image:
        """The picture (height, width, 3). Raises PackingError where it is damaged or of an unknown codec."""
        width, height = picture.width_px, picture.height_px
        if picture.codec != CODEC or not (0 < width <= SIDE_MAX_PX and 0 < height <= SIDE_MAX_PX):
            raise PackingError(f"camera {picture.camera}: no picture of {CODEC}, but {picture.codec!r:.40}")
        if self._context is None or (self._context.width, self._context.height) != (width, height):
            self._context = _context("r", width, height)
        try:
            (frame,) = self._context.decode(av.Packet(picture.data))
        except (av.FFmpegError, ValueError) as error:
            raise PackingError(f"camera {picture.camera}: a damaged picture: {error}") from None
        green, blue, red = map(_pixels, frame.planes)  # the planes of gbrp
        return np.asarray(cv2.merge((blue, green, red)), dtype=np.uint8)


def _pixels(plane: VideoPlane) -> NDArray[np.uint8]:
    """A plane (height, width), whose rows in memory may be longer."""
    return np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]


def _context(mode: Literal["r", "w"], width_px: int, height_px: int) -> VideoCodecContext:
    context = av.CodecContext.create(CODEC, mode)
    assert isinstance(context, VideoCodecContext)
    context.width, context.height, context.pix_fmt = width_px, height_px, PIXELS
    context.thread_count = 1  # with more, packets and pictures come late
    return context
