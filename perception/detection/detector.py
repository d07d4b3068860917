"""Detects road users, lights and signs in a picture with YOLO26 (Ultralytics); its one-to-one head needs no NMS."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraImage, Detection, Image, LightState
from perception.detection.classes import CLASSES, STOP_SIGN, light_class
from perception.detection.networks import Float32, Network
from perception.detection.rows_kernel import strongest

CONFIDENCE_MIN = 0.1
"""Minimum confidence of a detection; below the tracker's limit for weak detections, so that the tracker decides."""

GREY = 114
"""Grey level of the padding beside a picture."""

LIGHT_OF_COCO = "traffic light"
COCO = {
    "person": "pedestrian",
    "bicycle": "bicycle",
    "car": "car",
    "motorcycle": "motorcycle",
    "bus": "bus",
    "truck": "truck",
    "stop sign": STOP_SIGN,
}
"""Maps COCO's classes to ours. In COCO a rider is a person; here a rider is part of the cycle."""

SATURATED_MIN, BRIGHT_MIN = 90, 110
"""Minimum saturation and value (HSV, 0-255) of a lit lamp's pixels."""

LIT_SHARE_MIN = 0.03
"""Minimum fraction of lit pixels in one third of a signal head."""


class Detector:
    """Detects objects in pictures; returns them sorted by confidence, highest first."""

    def __init__(self, network: Network, confidence_min: float = CONFIDENCE_MIN) -> None:
        self._network, self._confidence_min = network, confidence_min
        self._names = [name if name in CLASSES else COCO.get(name) for name in network.names]
        self._lights = {i for i, name in enumerate(network.names) if name == LIGHT_OF_COCO}
        self._begun: tuple[Image, float, Callable[[], Float32]] | None = None
        if not any(self._names):
            raise ConfigError(f"these weights know none of {', '.join(CLASSES)}, but {', '.join(network.names)}")

    def begin(self, bgr: Image) -> None:
        """Start inference on a picture in the background; `detect` of the same array then waits for its end.

        Does nothing if inference on this picture was started by the last call.
        """
        if self._begun is None or self._begun[0] is not bgr:
            picture, scale = letterbox(bgr, self._network.size_px)
            self._begun = bgr, scale, self._network.start(picture)

    def detect(self, image: CameraImage) -> tuple[Detection, ...]:
        """Detections in `image` of at least the minimum confidence; boxes are clipped to the picture."""
        return self.detect_in(image.bgr)

    def detect_in(self, bgr: Image) -> tuple[Detection, ...]:
        """Detections in a picture (height, width, 3) of any size; the same as `detect`, without a camera."""
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] is bgr:
            _, scale, rows = begun
            return self.to_detections(rows(), scale, bgr)
        picture, scale = letterbox(bgr, self._network.size_px)
        return self.to_detections(self._network.infer(picture), scale, bgr)

    def to_detections(self, rows: Float32, scale: float, bgr: Image) -> tuple[Detection, ...]:
        """Detections from the network's `rows` for the picture `bgr`, which the network saw scaled by `scale`."""
        height, width = bgr.shape[:2]
        kept = strongest(rows.astype(np.float32), scale, width, height, self._confidence_min)
        out = []
        for u0, v0, u1, v1, score, number in kept.tolist():
            name = self._name(int(number), bgr, (u0, v0, u1, v1))
            if name is not None:
                out.append(Detection(name, (u0 - 0.5, v0 - 0.5, u1 - 0.5, v1 - 0.5), min(score, 1.0)))
        return tuple(out)

    def _name(self, number: int, bgr: Image, box: tuple[float, float, float, float]) -> str | None:
        if number in self._lights:
            u0, v0, u1, v1 = (int(edge) for edge in box)
            return light_class(lit_lamp_state(bgr[v0 : v1 + 1, u0 : u1 + 1]))
        return self._names[number]


def cpu_detector(confidence_min: float = CONFIDENCE_MIN) -> Detector:
    """The shipped detector on the CPU. Pictures larger than its 640x384 px are scaled down to fit."""
    from perception.detection.networks import OpenVinoNetwork
    from perception.detection.weights import COMPACT, COMPACT_SIZE_PX, exported

    return Detector(OpenVinoNetwork(exported(COMPACT, COMPACT_SIZE_PX)), confidence_min)


def letterbox(bgr: Image, size_px: tuple[int, int]) -> tuple[Image, float]:
    """(a picture of `size_px` (width, height) with `bgr` in its top left corner and grey beside it, the scale)."""
    height, width = bgr.shape[:2]
    if (width, height) == size_px:
        return bgr, 1.0
    to, scale = letterbox_size((width, height), size_px)
    scaled = bgr if scale == 1.0 else np.asarray(cv2.resize(bgr, to, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    out = np.full((size_px[1], size_px[0], 3), GREY, dtype=np.uint8)
    out[: scaled.shape[0], : scaled.shape[1]] = scaled
    return out, scale


def letterbox_size(size_px: tuple[int, int], into_px: tuple[int, int]) -> tuple[tuple[int, int], float]:
    """Size (width, height) and scale of a picture fitted into `into_px`; it is never enlarged."""
    scale = min(into_px[0] / size_px[0], into_px[1] / size_px[1], 1.0)
    return (max(round(scale * size_px[0]), 1), max(round(scale * size_px[1]), 1)), scale


def lit_lamp_state(bgr: Image) -> LightState:
    """The state of an upright signal head, by the third with the most bright, saturated pixels; OFF if none is lit."""
    if bgr.shape[0] < 3 or bgr.shape[1] < 1:
        return LightState.OFF
    hsv = cv2.cvtColor(bgr, cv2.COLOR_BGR2HSV)
    lit = (hsv[:, :, 1] >= SATURATED_MIN) & (hsv[:, :, 2] >= BRIGHT_MIN)
    thirds = [float(part.mean()) for part in np.array_split(lit, 3, axis=0)]
    if max(thirds) < LIT_SHARE_MIN:
        return LightState.OFF
    return (LightState.RED, LightState.YELLOW, LightState.GREEN)[int(np.argmax(thirds))]
