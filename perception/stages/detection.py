"""Runs the detector on the pictures of those cameras whose detections a later stage needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from av_core.types import Detection, Image, SensorFrame
from perception.device import PerceptionBackend


class CameraDetector:
    """Detects objects in the pictures of `cameras` (names) with `backend`.

    Raises ValueError where there are cameras, but the backend has no detector.
    """

    def __init__(self, cameras: Sequence[str], backend: PerceptionBackend) -> None:
        if cameras and backend.detect is None:
            raise ValueError(f"no detector is given for the cameras {', '.join(cameras)}")
        self._cameras, self._detect, self._begin = tuple(cameras), backend.detect, backend.begin

    def begin(self, camera: str, bgr: Image) -> None:
        """Start on a picture in the background, before `update` is called with the same array in a frame.

        May be called from another thread, as long as that is before `update`.
        """
        if self._begin is not None and camera in self._cameras:
            self._begin(camera, bgr)

    def update(self, frame: SensorFrame, trusted: Collection[str]) -> Mapping[str, Sequence[Detection]]:
        """Detections in the picture of each camera that is among `trusted`."""
        if self._detect is None:
            return {}
        return {name: self._detect(frame.cameras[name]) for name in self._cameras if name in trusted}
