"""Runs the detector of a replay in advance of its ticks, so that two threads share the work of a step on two cores.

One thread reads in advance (`av_stack.world.replay`): it reads the recording, decodes its pictures and runs the network
on them. The other thread runs all other stages.

The detections of a picture can be computed in advance because they depend on this picture alone. Health and lanes could
be computed in advance, too, since they depend only on the recorded frames in their order. But they are mostly Python
code, of which only one thread runs at a time, and a step became slower when this was tried. The network and the decoder
release Python's lock. All other stages depend on the ego's state.
"""

from __future__ import annotations

from collections.abc import Callable

from av_core.types import CameraImage, Detection

Detections = tuple[Detection, ...]
Detect = Callable[[CameraImage], Detections]


class DetectedAhead:
    """Runs `detect` on each picture when it is read, and returns the detections when their tick asks for them.

    The thread that reads in advance calls `look`; the thread that runs the stages calls `detect`. Both must get the
    pictures in the same order. No third thread is used, since three busy threads would share two cores.
    """

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self._found: dict[tuple[str, int], Detections] = {}

    def look(self, image: CameraImage) -> None:
        """Run the detector on a picture of a later tick."""
        self._found[image.camera.name, image.stamp.frame] = self._detect(image)

    def detect(self, image: CameraImage) -> Detections:
        """The detections in a picture that `look` has seen; those in older pictures are forgotten."""
        frame = image.stamp.frame
        for key in [key for key in tuple(self._found) if key[1] < frame]:
            del self._found[key]
        return self._found[image.camera.name, frame]
