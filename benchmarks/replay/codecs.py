"""Size and CPU time of lossless codecs on the pictures of a drive, one thread each, of the preview and of JPEG."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import foxglove.messages as messages
import numpy as np
from av.video.codeccontext import VideoCodecContext

from av_core.types import Image
from av_stack.recording.exact.pictures import PictureDecoder, PictureEncoder
from av_stack.recording.exact.reader import DriveReader
from av_stack.recording.previews import PreviewReader, PreviewWriter

STILL: dict[str, tuple[str, list[int]]] = {
    "JPEG, quality 75": (".jpg", [cv2.IMWRITE_JPEG_QUALITY, 75]),
    "PNG, level 1": (".png", [cv2.IMWRITE_PNG_COMPRESSION, 1]),
    "WebP, lossless": (".webp", [cv2.IMWRITE_WEBP_QUALITY, 101]),
}
VIDEO: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "H.264, libx264rgb ultrafast, qp 0": (
        "libx264rgb", "h264", "bgr24", {"preset": "ultrafast", "qp": "0", "tune": "zerolatency", "g": "20"},
    ),
    "FFV1, level 3": ("ffv1", "ffv1", "bgr0", {"level": "3"}),
    "HuffYUV, left": ("huffyuv", "huffyuv", "rgb24", {"pred": "left"}),
    "FFVHuff, median": ("ffvhuff", "ffvhuff", "gbrp", {"pred": "median"}),
    "QOI": ("qoi", "qoi", "rgb24", {}),
}  # fmt: skip
"""For each its encoder, decoder, pixel format and options."""

PREVIEW = "H.264, libx264 ultrafast, CRF 30 (the preview)"
CHOSEN = "MagicYUV, median (chosen)"


def compare_codecs(path: Path, count: int) -> dict[str, Any]:
    """Per codec: kB a picture, ms of encoding and decoding, and whether the picture comes back in every bit."""
    reader = DriveReader(path)
    front = reader.setup.rig.cameras[0].name
    pictures = [tick.frame.cameras[front].bgr for tick in reader.ticks()]
    reader.close()
    pictures = pictures[len(pictures) // 2 :][:count]
    figures = {name: _still(pictures, end, options) for name, (end, options) in STILL.items()}
    figures |= {name: _video(pictures, *how) for name, how in VIDEO.items()}
    figures[PREVIEW] = _preview(pictures)
    figures[CHOSEN] = _chosen(pictures)
    height_px, width_px = pictures[0].shape[:2]
    return {"pictures": len(pictures), "size_px": [width_px, height_px], "codecs": figures}


def _still(pictures: Sequence[Image], end: str, options: list[int]) -> dict[str, Any]:
    return _measured(
        pictures,
        lambda: [bytes(cv2.imencode(end, picture, options)[1]) for picture in pictures],
        lambda data: [cv2.imdecode(np.frombuffer(one, np.uint8), cv2.IMREAD_COLOR) for one in data],
        len,
    )


def _preview(pictures: Sequence[Image]) -> dict[str, Any]:
    height_px, width_px = pictures[0].shape[:2]
    writer, reader, stamp = (
        PreviewWriter("front", width_px, height_px),
        PreviewReader(),
        messages.Timestamp(sec=0, nsec=0),
    )
    return _measured(
        pictures,
        lambda: [writer.message(picture, stamp).encode() for picture in pictures],
        lambda encoded: [reader.read(message) for message in encoded],
        len,
    )


def _chosen(pictures: Sequence[Image]) -> dict[str, Any]:
    height_px, width_px = pictures[0].shape[:2]
    encoder, decoder = PictureEncoder("front", width_px, height_px), PictureDecoder()
    return _measured(
        pictures,
        lambda: [encoder.encode(picture) for picture in pictures],
        lambda packed: [decoder.decode(one) for one in packed],
        lambda packed: len(packed.data),
    )


def _video(pictures: Sequence[Image], encoder: str, decoder: str, pixels: str, options: dict[str, str]) -> Any:
    height_px, width_px = pictures[0].shape[:2]

    def context(codec: str, mode: Any) -> VideoCodecContext:
        made = av.CodecContext.create(codec, mode)
        assert isinstance(made, VideoCodecContext)
        made.width, made.height, made.pix_fmt, made.thread_count = width_px, height_px, pixels, 1
        return made

    writer = context(encoder, "w")
    writer.options, writer.time_base = dict(options), Fraction(1, 20)

    def encode() -> list[Any]:
        packets = []
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24").reformat(format=pixels)
            frame.pts = number
            packets += writer.encode(frame)
        return packets + writer.encode(None)

    def decode(packets: Sequence[Any]) -> list[Image]:
        reader = context(decoder, "r")
        reader.extradata = writer.extradata
        frames = [frame for packet in [*packets, None] for frame in reader.decode(packet)]
        return [np.asarray(frame.to_ndarray(format="bgr24"), dtype=np.uint8) for frame in frames]

    return _measured(pictures, encode, decode, lambda packet: packet.size)


def _measured(
    pictures: Sequence[Image],
    encode: Callable[[], list[Any]],
    decode: Callable[[list[Any]], list[Any]],
    size: Callable[[Any], int],
) -> dict[str, Any]:
    begin = time.thread_time()
    data = encode()
    middle = time.thread_time()
    back = decode(data)
    end = time.thread_time()
    count = len(pictures)
    is_exact = len(back) == count and all(np.array_equal(one, other) for one, other in zip(back, pictures, strict=True))
    return {
        "kb_a_picture": round(sum(map(size, data)) / count / 1e3, 1),
        "encode_ms": round(1e3 * (middle - begin) / count, 2),
        "decode_ms": round(1e3 * (end - middle) / count, 2),
        "is_exact": is_exact,
    }
