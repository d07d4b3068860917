"""What a replay works out ahead of its ticks: the detections. Two threads share a step, for two cores.

The thread ahead (`av_stack.world.replay`) reads the recording, decodes its pictures and runs the network on them; the
other one drives, with all other stages.

Detections may be found ahead because they follow from one picture alone: not from what the stack knows or decides, and
not from the pictures before. Health and lanes would be next: they follow from the recorded frames alone, in their
order. They stay with the thread that drives because they are Python for the most part, of which only one thread can run
at a time: ahead, they made a step slower. The network and the decoder leave Python to the other thread. All other
stages build on the ego's state.
"""

from __future__ import annotations

from collections.abc import Callable

from av_core.types import CameraImage, Detection

Detections = tuple[Detection, ...]
Detect = Callable[[CameraImage], Detections]


class DetectedAhead:
    """Runs `detect` on each picture when it is read, and gives the answer when its tick asks for it.

    It is not begun in the background: a third busy thread would only take turns with these two on two cores.

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
