"""Chooses where perception runs: on a GPU with one CUDA graph per frame, or on the CPU; both give the same types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import cv2

from av_core.errors import ConfigError, install_hint
from av_core.types import CameraImage, CameraModel, Detection, Image
from perception.lanes.detector import LaneDetector

DEVICES = ("auto", "cuda", "cpu")


@dataclass(frozen=True, slots=True)
class PerceptionBackend:
    """Perception backend of a rig: `lanes` for the first camera's pictures, `detect` for each camera's own.

    `begin` starts detection on a picture, given with its camera's name, in parallel with other work; `detect` fetches
    the result later. Both are None where no detector is wanted.
    """

    lanes: LaneDetector
    detect: Callable[[CameraImage], tuple[Detection, ...]] | None
    begin: Callable[[str, Image], None] | None = None


def resolve_device(device: str, has_weights: bool) -> tuple[str, str]:
    """Resolve one of `DEVICES` to "cuda" or "cpu", with a line for the user that says which and why.

    `has_weights` tells whether a detector will run. Raises ConfigError for any other word, and where "cuda" is asked
    for and not available.
    """
    if device not in DEVICES:
        raise ConfigError(f"--device {device!r:.40}: allowed are {', '.join(DEVICES)}")
    if device == "cpu":
        return "cpu", "perception on the CPU"
    reason = _why_not_cuda(has_weights)
    if reason is None:
        import torch

        return "cuda", f"perception on {torch.cuda.get_device_name()}"
    if device == "cuda":
        raise ConfigError(f"--device cuda: {reason}")
    return "cpu", f"perception on the CPU: {reason}"


def build_backend(cameras: Sequence[CameraModel], weights: Path | None, device: str) -> PerceptionBackend:
    """The backend for `cameras`, which have distinct names, on `device`, "cuda" or "cpu".

    Without `weights` it has no detector. OpenCV is limited to the calling thread from then on: between two calls on
    such small pictures its threads would spin on the cores that the network needs. Raises ConfigError as
    `detection.weights.exported` does.
    """
    cv2.setNumThreads(1)
    if device == "cuda":
        return _gpu_backend(cameras, weights)
    if weights is None:
        return PerceptionBackend(LaneDetector(), None)
    return _cpu_backend(cameras, weights)


def _cpu_backend(cameras: Sequence[CameraModel], weights: Path) -> PerceptionBackend:
    """One network for all cameras, sized for the smallest picture; larger pictures are scaled down to it."""
    from perception.detection.detector import Detector
    from perception.detection.networks import OpenVinoNetwork
    from perception.detection.weights import exported, network_size

    size = min((network_size(camera.width_px, camera.height_px) for camera in cameras), key=math.prod)
    network = OpenVinoNetwork(exported(weights, size))
    detectors = {
        camera.name: Detector(network if i == 0 else network.with_own_request()) for i, camera in enumerate(cameras)
    }
    return PerceptionBackend(
        LaneDetector(),
        lambda image: detectors[image.camera.name].detect(image),
        lambda camera, bgr: detectors[camera].begin(bgr),
    )


def _gpu_backend(cameras: Sequence[CameraModel], weights: Path | None) -> PerceptionBackend:
    """All cameras in one graph; cameras with pictures of one size share a network and form a batch."""
    from perception.on_gpu.frame import GpuFrame

    if weights is None:
        return PerceptionBackend(LaneDetector(GpuFrame(cameras[:1], {}).detect_paint), None)
    from perception.detection.networks import TorchNetwork
    from perception.detection.weights import network_size

    sizes = {camera.name: network_size(camera.width_px, camera.height_px) for camera in cameras}
    networks = {size: TorchNetwork(weights, size) for size in dict.fromkeys(sizes.values())}
    frame = GpuFrame(cameras, {name: networks[size] for name, size in sizes.items()})
    return PerceptionBackend(LaneDetector(frame.detect_paint), frame.detect, frame.begin)


def _has_nvidia_driver() -> bool:
    """Whether the system has a device file of an NVIDIA GPU or, under WSL 2, of Windows' GPU."""
    return any(Path(path).exists() for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"))


def _why_not_cuda(has_weights: bool) -> str | None:
    if not _has_nvidia_driver():
        return "this machine has no NVIDIA GPU, or no driver for it"
    if find_spec("torch") is None:
        return f"torch is not installed; {install_hint('cuda')}"
    import torch

    if not torch.cuda.is_available():
        return "torch sees no GPU"
    if has_weights and find_spec("ultralytics") is None:
        return f"ultralytics is not installed; {install_hint('train')}"
    from cuda_ops.runtime.gpu import why_no_gpu

    return why_no_gpu()
