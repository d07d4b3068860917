"""Writes pictures to an mp4 in a thread of its own, so that encoding does not hold up the drive."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

import av

from av_stack.errors import AvStackError
from av_stack.types import Image

QUEUE_PICTURES = 64


class VideoWriter:
    """H.264 at `fps`; the file is fragmented, so that it plays up to its last written second even after a crash.

    `write` blocks only when the encoder is `QUEUE_PICTURES` behind. `close` writes what is waiting.
    """

    def __init__(self, path: Path, width_px: int, height_px: int, fps: int) -> None:
        self._queue: queue.Queue[Image | None] = queue.Queue(QUEUE_PICTURES)
        self._container = av.open(str(path), "w", options={"movflags": "frag_keyframe+empty_moov+default_base_moof"})
        self._stream = self._container.add_stream("libx264", rate=fps)
        self._stream.width, self._stream.height = width_px, height_px
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {"preset": "ultrafast", "crf": "29", "g": str(2 * fps)}
        self._stream.thread_count = 1
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._encode, name="video", daemon=True)
        self._thread.start()

    def write(self, bgr: Image) -> None:
        """Queue one picture; it must not be changed afterwards."""
        if self._error is not None:
            raise AvStackError(f"the video cannot be written: {self._error}")
        self._queue.put(bgr)

    def close(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        if self._error is not None:
            raise AvStackError(f"the video cannot be written: {self._error}")

    def _encode(self) -> None:
        try:
            while (picture := self._queue.get()) is not None:
                frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
                self._container.mux(self._stream.encode(frame))
            self._container.mux(self._stream.encode())
            self._container.close()
        except (OSError, ValueError, av.FFmpegError) as error:
            self._error = error
            while self._queue.get() is not None:  # let the drive go on to its own end
                pass
