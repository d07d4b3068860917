"""Previews are an H.264 stream as Foxglove wants it; any of its pictures can be read, and old JPEG previews too."""

from __future__ import annotations

import av
import cv2
import foxglove.messages as messages
import numpy as np
import pytest
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType

from av_core.types import Image
from av_stack.recording.exact.packing import PackingError
from av_stack.recording.previews import (
    KEYFRAME_EVERY_PICTURES,
    START_CODE,
    PreviewReader,
    PreviewWriter,
    is_keyframe,
)

STAMP = messages.Timestamp(sec=0, nsec=0)
COUNT = 2 * KEYFRAME_EVERY_PICTURES + 3
SEQUENCE_SET, PICTURE_SET, KEYFRAME, DELTA = 7, 8, 5, 1


def picture(number: int, width_px: int = 160, height_px: int = 92) -> Image:
    """A smooth picture with a box that moves on."""
    ramp = np.linspace(40, 200, width_px)[None, :, None] * np.linspace(0.5, 1.0, height_px)[:, None, None]
    bgr = np.repeat(ramp, 3, axis=2).astype(np.uint8)
    bgr[20:60, 3 * number % 100 : 3 * number % 100 + 30] = (30, 60, 220)
    return bgr


def stream(width_px: int = 160, height_px: int = 92) -> list[messages.CompressedVideo]:
    writer = PreviewWriter("front", width_px, height_px)
    return [writer.message(picture(number, width_px, height_px), STAMP) for number in range(COUNT)]


def units(annex_b: bytes) -> list[int]:
    """The types of the units of an Annex B stream."""
    kinds, at = [], annex_b.find(START_CODE)
    while at >= 0:
        kinds.append(annex_b[at + len(START_CODE)] & 0x1F)
        at = annex_b.find(START_CODE, at + len(START_CODE))
    return kinds


def is_like(read: Image | None, number: int) -> bool:
    assert read is not None
    assert read.shape == picture(number).shape
    return float(np.abs(read.astype(float) - picture(number)).mean()) < 4.0


def data_of(message: bytes) -> bytes:
    return message[message.index(b"\x00" + START_CODE) : message.rindex(b'"\x04h264')]


def test_every_message_is_one_picture_and_keyframes_have_their_parameters() -> None:
    for number, message in enumerate(stream()):
        data = data_of(message.encode())
        kinds = [kind for kind in units(data) if kind in (SEQUENCE_SET, PICTURE_SET, KEYFRAME, DELTA)]
        is_key = number % KEYFRAME_EVERY_PICTURES == 0
        assert kinds == ([SEQUENCE_SET, PICTURE_SET, KEYFRAME] if is_key else [DELTA]), number
        assert is_keyframe(data) == is_key


def test_a_plain_decoder_gives_each_picture_at_once() -> None:
    decoder = av.CodecContext.create("h264", "r")
    assert isinstance(decoder, VideoCodecContext)
    decoder.thread_count = 1
    for message in stream():
        (frame,) = decoder.decode(av.Packet(data_of(message.encode())))
        assert frame.pict_type in (PictureType.I, PictureType.P)


def test_pictures_are_read_in_a_row_and_alone() -> None:
    encoded = [message.encode() for message in stream()]
    reader = PreviewReader()
    assert all(is_like(reader.read(message), number) for number, message in enumerate(encoded))
    whole = PreviewReader()
    expected = [whole.read(message) for message in encoded]
    alone, wanted = PreviewReader(), (3, 4, KEYFRAME_EVERY_PICTURES + 7, COUNT - 1)
    for number, message in enumerate(encoded):
        if number in wanted:
            read, right = alone.read(message), expected[number]
            assert read is not None
            assert right is not None
            assert np.array_equal(read, right)
        else:
            alone.skip(message)


def test_before_the_first_keyframe_there_is_no_picture() -> None:
    encoded = [message.encode() for message in stream()][5:]
    reader = PreviewReader()
    read = [reader.read(message) for message in encoded]
    first = KEYFRAME_EVERY_PICTURES - 5
    assert read[:first] == [None] * first
    assert is_like(read[first], KEYFRAME_EVERY_PICTURES)


def test_old_recordings_hold_jpeg() -> None:
    _, jpeg = cv2.imencode(".jpg", picture(3))
    old = messages.CompressedImage(timestamp=STAMP, frame_id="front", data=jpeg.tobytes(), format="jpeg")
    reader = PreviewReader()
    reader.skip(old.encode())
    assert is_like(reader.read(old.encode()), 3)


def test_an_odd_size_gets_some_pixels_more() -> None:
    read = PreviewReader().read(stream(161, 91)[0].encode())
    assert read is not None
    assert read.shape == (92, 162, 3)
    assert np.abs(read[:91, :161].astype(float) - picture(0, 161, 91)).mean() < 4.0


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x1a",
        b"\xff\xff\xff",
        messages.CompressedVideo(
            timestamp=STAMP, frame_id="front", data=b"\x00\x00\x01\x65???", format="h264"
        ).encode(),
        messages.CompressedImage(timestamp=STAMP, frame_id="front", data=b"none", format="jpeg").encode(),
        messages.CompressedVideo(timestamp=STAMP, frame_id="front", data=b"", format="vp9").encode(),
    ],
)
def test_a_damaged_preview_is_told(message: bytes) -> None:
    with pytest.raises(PackingError, match="preview"):
        PreviewReader().read(message)
