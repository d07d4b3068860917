"""Where perception runs: on a GPU in one CUDA graph a picture, or on the CPU; both give the same types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import cv2

from av_stack.errors import ConfigError
from av_stack.types import CameraImage, CameraModel, Detection, Image
from perception.lanes.detector import LaneDetector

DEVICES = ("auto", "cuda", "cpu")


@dataclass(frozen=True, slots=True)
class Eyes:
    """What looks at one camera's pictures; `detect` is None where nobody asked for it.

    `begin` starts on a picture that `detect` will be asked about, beside other work; None where nothing is gained.
    """

    lanes: LaneDetector
    detect: Callable[[CameraImage], tuple[Detection, ...]] | None
    begin: Callable[[Image], None] | None = None


def chosen_device(device: str, has_weights: bool) -> tuple[str, str]:
    """Which of "cuda" and "cpu" one of `DEVICES` means here, and a line that says so and why.

    `has_weights` tells whether a detector will run. Raises ConfigError for any other word, and where "cuda" is asked
    for and cannot be had.
    """
    if device not in DEVICES:
        raise ConfigError(f"--device {device}: allowed are {', '.join(DEVICES)}")
    if device == "cpu":
        return "cpu", "perception on the CPU"
    reason = _why_not_cuda(has_weights)
    if reason is None:
        import torch

        return "cuda", f"perception on {torch.cuda.get_device_name()}"
    if device == "cuda":
        raise ConfigError(f"--device cuda: {reason}")
    return "cpu", f"perception on the CPU: {reason}"


def eyes_for(camera: CameraModel, weights: Path | None, device: str) -> Eyes:
    """The eyes of `camera` on `device`, "cuda" or "cpu"; without `weights` none that detect.

    OpenCV works in the calling thread alone from then on: between two calls on such small pictures its threads spin on
    the cores that the network needs. Raises ConfigError as `detection.weights.exported` does.
    """
    cv2.setNumThreads(1)
    if device == "cuda":
        return _eyes_on_gpu(camera, weights)
    if weights is None:
        return Eyes(LaneDetector(), None)
    from perception.detection.detector import Detector
    from perception.detection.networks import network_for

    detector = Detector(network_for(weights, camera.width_px, camera.height_px, device))
    return Eyes(LaneDetector(), detector.detect, detector.begin)


def _eyes_on_gpu(camera: CameraModel, weights: Path | None) -> Eyes:
    from perception.detection.networks import TorchNetwork
    from perception.detection.weights import network_size
    from perception.on_gpu.frame import GpuFrame

    network = None
    if weights is not None:
        network = TorchNetwork(weights, network_size(camera.width_px, camera.height_px))
    frame = GpuFrame([camera], {} if network is None else {camera.name: network})
    begin = partial(frame.begin, camera.name)
    return Eyes(LaneDetector(frame.see), None if network is None else frame.detect, begin)


def _why_not_cuda(has_weights: bool) -> str | None:
    if find_spec("torch") is None:
        return "torch is not installed (pip install -c constraints.txt 'av-stack[cuda]')"
    import torch

    if not torch.cuda.is_available():
        return "torch sees no GPU"
    if has_weights and find_spec("ultralytics") is None:
        return "ultralytics is not installed (pip install -c constraints.txt 'av-stack[train]')"
    from cuda_ops.runtime.gpu import why_no_gpu

    return why_no_gpu()
