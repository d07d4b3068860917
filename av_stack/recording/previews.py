"""The previews of a recording's topics /camera/NAME: pictures for people, as an H.264 stream for each camera.

Each message is one picture (`foxglove.CompressedVideo`, Annex B): a keyframe with its parameter sets, or what changed
since the picture before. No picture refers to a later one, so none comes late. Recordings of older versions hold JPEG
(`foxglove.CompressedImage`); `PreviewReader` reads both.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import av
import cv2
import foxglove.messages as messages
import numpy as np
from av.video.codeccontext import VideoCodecContext

from av_core.types import Image
from av_stack.recording.exact.packing import PackingError

H264, JPEG = "h264", "jpeg"
KEYFRAME_EVERY_PICTURES = 20
"""Number of pictures from one keyframe to the next, one second of a drive.

It bounds the number of pictures that have to be decoded to read one, and the number that a damaged picture affects."""

OPTIONS = {
    "preset": "ultrafast",
    "tune": "zerolatency",
    "crf": "30",
    "g": str(KEYFRAME_EVERY_PICTURES),
    "x264-params": "repeat-headers=1:annexb=1:bframes=0:aq-mode=1",
}
"""Options of the encoder x264: its fastest preset. `aq-mode` spends the bits where errors are visible, which makes the
stream 15 % smaller in the same time."""

VIDEO_DATA, VIDEO_FORMAT = 3, 4
IMAGE_DATA, IMAGE_FORMAT = 2, 3
"""Numbers of the fields of the two messages, in Foxglove's protobuf definitions."""

VARINT, FIXED_64, LENGTH, FIXED_32 = 0, 1, 2, 5
"""Kinds of fields in protobuf's encoding."""

START_CODE = b"\x00\x00\x01"
KEYFRAME_UNIT = 5
"""Type of H.264's units that hold an IDR picture."""


class PreviewWriter:
    """Makes the messages of one camera, whose pictures all have one size.

    Widths that are not even and heights that are no multiple of 4 get a few pixels more, as PyAV's planes need.
    """

    def __init__(self, camera: str, width_px: int, height_px: int) -> None:
        self._camera, self._shape, self._count = camera, (height_px, width_px, 3), 0
        self._context = _context("libx264", "w")
        self._context.width, self._context.height = _padded(width_px, 2), _padded(height_px, 4)
        self._context.pix_fmt = "yuv420p"
        self._context.time_base = Fraction(1, KEYFRAME_EVERY_PICTURES)
        self._context.options = dict(OPTIONS)

    def message(self, bgr: Image, stamp: messages.Timestamp) -> messages.CompressedVideo:
        """The next picture (height, width, 3). Raises ValueError for another size than the first one's."""
        if bgr.shape != self._shape:
            raise ValueError(f"a picture of {bgr.shape} instead of {self._shape}")
        height_px, width_px = bgr.shape[:2]
        padding = ((0, self._context.height - height_px), (0, self._context.width - width_px), (0, 0))
        whole = np.pad(bgr, padding, mode="edge") if any(map(any, padding)) else bgr
        planes = np.asarray(cv2.cvtColor(whole, cv2.COLOR_BGR2YUV_I420), dtype=np.uint8)
        frame = av.VideoFrame.from_numpy_buffer(planes, format="yuv420p")
        frame.pts = self._count
        self._count += 1
        (packet,) = self._context.encode(frame)
        return messages.CompressedVideo(timestamp=stamp, frame_id=self._camera, data=bytes(packet), format=H264)


class PreviewReader:
    """Reads the messages of one camera: hand over all of them in order, by `read` or by `skip`.

    Only the pictures that are read are decoded, and those since the keyframe before.
    """

    def __init__(self) -> None:
        self._context: VideoCodecContext | None = None
        self._waiting: list[bytes] = []

    def skip(self, message: bytes) -> None:
        """Take in a message without decoding its picture. Raises PackingError if the message holds no picture."""
        form, data = _picture_data(message)
        if form == JPEG:
            return
        if is_keyframe(data):
            self._context, self._waiting = self._context or _context(H264, "r"), []
        if self._context is not None:
            self._waiting.append(data)

    def read(self, message: bytes) -> Image | None:
        """The picture (height, width, 3), or None before the first keyframe. Raises PackingError for a damaged one."""
        form, data = _picture_data(message)
        if form == JPEG:
            bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            if bgr is None:
                raise PackingError("a preview is damaged")
            return np.asarray(bgr, dtype=np.uint8)
        self.skip(message)
        if self._context is None:
            return None
        try:
            frames = [frame for each in self._waiting for frame in self._context.decode(av.Packet(each))]
        except (av.FFmpegError, ValueError) as error:
            raise PackingError(f"a preview is damaged: {error}") from None
        self._waiting = []
        if not frames:
            raise PackingError("a preview is damaged")
        return np.asarray(frames[-1].to_ndarray(format="bgr24"), dtype=np.uint8)


def is_keyframe(annex_b: bytes) -> bool:
    """Whether a picture of an H.264 stream can be decoded without those before it."""
    at = annex_b.find(START_CODE)
    while 0 <= at < len(annex_b) - len(START_CODE):
        kind = annex_b[at + len(START_CODE)] & 0x1F
        if kind == KEYFRAME_UNIT:
            return True
        if kind < KEYFRAME_UNIT:  # a part of another picture; what is left holds only more of it
            return False
        at = annex_b.find(START_CODE, at + len(START_CODE))
    return False


def _picture_data(message: bytes) -> tuple[str, bytes]:
    """Format and data of the picture in a message."""
    fields = _fields(message)
    if fields.get(VIDEO_FORMAT) == H264.encode():
        return H264, fields.get(VIDEO_DATA, b"")
    if fields.get(IMAGE_FORMAT) == JPEG.encode():
        return JPEG, fields.get(IMAGE_DATA, b"")
    raise PackingError("a preview is neither H.264 nor JPEG")


def _fields(message: bytes) -> dict[int, bytes]:
    """The fields of a protobuf message that hold bytes or text, by number."""
    fields, at = {}, 0
    try:
        while at < len(message):
            key, at = _varint(message, at)
            kind = key & 7
            if kind == LENGTH:
                size, at = _varint(message, at)
                fields[key >> 3] = message[at : at + size]
                at += size
            elif kind == VARINT:
                _, at = _varint(message, at)
            elif kind in (FIXED_64, FIXED_32):
                at += 8 if kind == FIXED_64 else 4
            else:
                raise PackingError("a preview is damaged")
    except IndexError:
        raise PackingError("a preview is damaged") from None
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and where it ends. Raises IndexError where it does not end."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _padded(size_px: int, multiple: int) -> int:
    return -(-size_px // multiple) * multiple


def _context(codec: str, mode: Literal["r", "w"]) -> VideoCodecContext:
    context = av.CodecContext.create(codec, mode)
    assert isinstance(context, VideoCodecContext)
    context.thread_count = 1  # with more, packets and pictures come late
    return context
