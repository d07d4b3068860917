"""Encodes pictures to an mp4 video in a separate thread, so that encoding does not hold up the drive."""

from __future__ import annotations

import queue
import threading
from io import BytesIO
from pathlib import Path

import av

from av_core.errors import AvStackError
from av_core.types import Image
from av_stack.recording.atomic_file import AtomicFile
from av_stack.recording.fragments import whole_fragments_bytes

QUEUE_PICTURES = 64
"""Pictures that may wait for the encoder."""

FRAGMENT_S = 0.5
"""Length of a fragment; a video that is cut off lacks at most this much of its end."""

KEYFRAME_EVERY_S = 2


class VideoWriter:
    """Writes H.264 at `fps`. The file plays up to its last fragment at any time, also after a crash or on a full disk.

    `write` blocks only when the encoder is `QUEUE_PICTURES` behind. `close` encodes what is waiting. Both raise
    AvStackError where the file cannot be written.
    """

    def __init__(self, path: Path, width_px: int, height_px: int, fps: int) -> None:
        self._queue: queue.Queue[Image | None] = queue.Queue(QUEUE_PICTURES)
        self._file = _FragmentFile(path)
        self._container = av.open(
            self._file,
            "w",
            format="mp4",
            options={
                "movflags": "empty_moov+default_base_moof",
                "frag_duration": str(round(FRAGMENT_S * 1e6)),
                "flush_packets": "1",
            },
        )
        self._stream = self._container.add_stream("libx264", rate=fps)
        self._stream.width, self._stream.height = width_px, height_px
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "crf": "29",
            "g": str(KEYFRAME_EVERY_S * fps),
        }
        self._stream.thread_count = 1
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._encode, name="video", daemon=True)
        self._thread.start()

    def write(self, bgr: Image) -> None:
        """Queue one picture; it must not be changed afterwards."""
        self._raise_error()
        self._queue.put(bgr)

    def close(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._file.close()
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            reason = getattr(self._error, "strerror", None) or self._error
            raise AvStackError(f"{self._file.path}: the video cannot be written: {reason}")

    def _encode(self) -> None:
        try:
            while (picture := self._queue.get()) is not None:
                frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
                self._container.mux(self._stream.encode(frame))
            self._container.mux(self._stream.encode())
            self._container.close()
        except (OSError, ValueError, av.FFmpegError) as error:
            self._error = error
            while self._queue.get() is not None:  # `write` must not wait for a picture that nobody takes
                pass


class _FragmentFile:
    """The file object that the muxer writes to. It writes whole fragments only; before the first, there is no file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: AtomicFile | None = None
        self._pending = bytearray()

    def write(self, data: bytes) -> int:
        self._pending += data
        whole_bytes = whole_fragments_bytes(BytesIO(self._pending))
        if whole_bytes:
            self._file = self._file or AtomicFile(self.path)
            self._file.append(bytes(self._pending[:whole_bytes]))
            del self._pending[:whole_bytes]
        return len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
