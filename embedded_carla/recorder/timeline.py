"""Finds the frames of a recording at a time that only moves forward."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from embedded_carla.recorder.format import RecordingError
from embedded_carla.recorder.reader import Frame, RecordingReader

_EPSILON_S = 1e-6


class Timeline:
    """Position in a recording: `here` is the last frame that has begun, `after` the next one (None at the end)."""

    def __init__(self, path: Path) -> None:
        """Open the recording. Raises RecordingError, also if it holds no complete frame."""
        self._reader = RecordingReader(path)
        self._frames = self._reader.frames()
        first = next(self._frames, None)
        if first is None:
            self._reader.close()
            raise RecordingError(f"{path} holds no whole frame")
        self.here = first
        self.after = next(self._frames, None)

    def until(self, time_s: float) -> Iterator[Frame]:
        """Advance to `time_s`, yielding each frame that begins up to then; during the yield `here` is that frame."""
        while self.after is not None and self.after.start.elapsed_s <= time_s + _EPSILON_S:
            self.here, self.after = self.after, next(self._frames, None)
            yield self.here

    def share(self, time_s: float) -> float:
        """Position of `time_s` between `here` and `after` as a fraction from 0 to 1."""
        if self.after is None:
            return 0.0
        begin_s, end_s = self.here.start.elapsed_s, self.after.start.elapsed_s
        return min(max((time_s - begin_s) / (end_s - begin_s), 0.0), 1.0) if end_s > begin_s else 0.0

    def close(self) -> None:
        self._reader.close()
