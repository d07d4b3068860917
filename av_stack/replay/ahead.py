"""Detection ahead of time: a recording's pictures are known before their tick, so two threads share the work."""

from __future__ import annotations

from collections.abc import Callable

from av_core.types import CameraImage, Detection

Detections = tuple[Detection, ...]
Detect = Callable[[CameraImage], Detections]


class DetectedAhead:
    """Runs `detect` on each picture when it is read, and gives the answer when its tick asks for it.

    `look` is for the thread that is ahead, `detect` for the one that drives; the answers are those that `detect` of the
    constructor gives, in the order of the pictures.
    """

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self._found: dict[tuple[str, int], Detections] = {}

    def look(self, image: CameraImage) -> None:
        """Detect what is in a picture of a tick to come."""
        self._found[image.camera.name, image.stamp.frame] = self._detect(image)

    def detect(self, image: CameraImage) -> Detections:
        """The detections in a picture that `look` has seen; those in older pictures are forgotten."""
        frame = image.stamp.frame
        for key in [key for key in tuple(self._found) if key[1] < frame]:
            del self._found[key]
        return self._found[image.camera.name, frame]
