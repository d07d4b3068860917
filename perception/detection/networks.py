"""Inference backends of the detector: OpenVINO on the CPU, torch on a GPU, with the same inputs and outputs."""

from __future__ import annotations

import logging
import os
import platform
import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from av_core.disk_cache import DiskCache, key_of, user_folder
from av_core.errors import ConfigError
from av_core.types import Image
from perception.detection.offline import openvino, ultralytics
from perception.detection.weights import Exported, exported, network_size

LOG = logging.getLogger(__name__)
Float32 = NDArray[np.float32]
THREADS_MAX = 2

WEIGHT_LEVEL_MAX = 64
"""Largest level of eight-bit weights for which two products with a byte, 2 x 255 x 64, add up in 16 bits."""

MOST_NETWORKS = 20
"""Maximum number of networks in the cache, about 200 MB; there is one for each picture size and number of threads."""


class Network(Protocol):
    """A detection network; `size_px` is (width, height) of the pictures it takes, `names` are its classes."""

    size_px: tuple[int, int]
    names: tuple[str, ...]

    def start(self, bgr: Image) -> Callable[[], Float32]:
        """Start inference on a picture (height, width, 3) uint8 of `size_px`; the array must stay unchanged.

        Returns a function that waits for the rows (N, 6): u0, v0, u1, v1 (pixel edges at whole numbers), score, class.
        Only one picture can be in work at a time.
        """
        ...

    def infer(self, bgr: Image) -> Float32:
        """The rows of a picture, computed in the calling thread; the results of a started picture are lost."""
        ...


class OpenVinoNetwork:
    """Network on the CPU, in float32 on every processor: the same picture gives the same boxes on every run."""

    def __init__(self, source: Exported, threads: int | None = None) -> None:
        self.size_px, self.names = source.size_px, source.names
        options: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads or inference_threads(),
            "ENABLE_CPU_PINNING": False,  # a thread that is bound to a core waits while another uses that core
            "INFERENCE_PRECISION_HINT": "f32",
        }
        self._tensor = openvino().Tensor
        self._model = _compiled(source.model, options)
        if list(self._model.output(0).shape)[2:] != [6]:
            raise ConfigError(f"{source.model} has no one-to-one head: expected weights of YOLO26")
        self._request = self._model.create_infer_request()

    def with_own_request(self) -> OpenVinoNetwork:
        """A copy that shares the network but has its own inference request, for another picture at the same time."""
        other = copy(self)
        other._request = self._model.create_infer_request()
        return other

    def start(self, bgr: Image) -> Callable[[], Float32]:
        self._set_input(bgr)
        self._request.start_async()
        return self._rows

    def infer(self, bgr: Image) -> Float32:
        self._set_input(bgr)
        self._request.infer()
        return self._rows()

    def _set_input(self, bgr: Image) -> None:
        self._request.wait()  # an earlier picture whose rows were never fetched
        self._picture = np.ascontiguousarray(bgr[None])  # shared with OpenVINO, so it must outlive the request
        self._request.set_input_tensor(self._tensor(self._picture, shared_memory=True))

    def _rows(self) -> Float32:
        self._request.wait()
        return np.array(self._request.get_output_tensor(0).data[0], dtype=np.float32)


def _compiled(model: Path, options: Mapping[str, Any]) -> Any:
    """OpenVINO's compiled form of the network `model` (.xml with its .bin beside it) for pictures BGR, uint8, NHWC.

    It is kept in the user's cache folder by `DiskCache`, which has checksums; OpenVINO's own cache (CACHE_DIR) loads a
    corrupt file without an error. The key is made of the network, the options, this source file, OpenVINO's build and
    the processor. A new network is also written and read back, so that it gives the same boxes as a cached one.
    """
    ov = openvino()
    core = ov.Core()
    if not adds_in_32_bits() and overflows(core.read_model(model)):
        options = {**options, **IN_FLOATING_POINT}
        LOG.warning("%s is computed in floating point: its weights of 8 bits need a processor with VNNI", model)
    device = [core.get_property("CPU", name) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")]
    about = (ov.get_version(), f"{device}", _processor_flags(), f"{sorted(options.items())}")
    files = (model, model.with_suffix(".bin"), Path(__file__))
    networks = DiskCache(user_folder("networks"), "blob", "networks are compiled anew for each drive", MOST_NETWORKS)

    def compile_anew() -> bytes:
        steps = ov.preprocess.PrePostProcessor(core.read_model(model))
        tensor = steps.input().tensor()
        tensor.set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
        tensor.set_color_format(ov.preprocess.ColorFormat.BGR)
        steps.input().model().set_layout(ov.Layout("NCHW"))
        rgb = steps.input().preprocess().convert_element_type(ov.Type.f32)
        rgb.convert_color(ov.preprocess.ColorFormat.RGB).scale(255.0)
        return bytes(core.compile_model(steps.build(), "CPU", dict(options)).export_model().getvalue())

    data = networks.get(key_of([*about, *(file.read_bytes() for file in files)]), compile_anew)
    return core.import_model(data, "CPU", dict(options))


IN_FLOATING_POINT = {"LP_TRANSFORMS_MODE": False}
"""OpenVINO's option to compute an eight-bit network in floating point, rounded to the same levels."""


def adds_in_32_bits() -> bool:
    """Whether this processor adds products of bytes in 32 bits; older ones of x86 add pairs of them in 16 bits."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    return bool(re.search(r"\b(avx512_vnni|avx_vnni|amx_int8)\b", _processor_flags()))


def overflows(model: Any) -> bool:
    """Whether sums of 16 bits can overflow in the eight-bit convolutions of `model`, a network that OpenVINO has read.

    Depthwise convolutions cannot: they add nothing over channels.
    """
    return any(
        _weight_level(operation.input_value(1).get_node()) > WEIGHT_LEVEL_MAX
        for operation in model.get_ops()
        if operation.get_type_name() == "Convolution"
    )


def _weight_level(node: Any) -> int:
    """The largest level of the weight that `node` computes from int8 levels; 0 if it is not such a weight."""
    while node.get_type_name() != "Constant":
        if not node.get_input_size():
            return 0
        node = node.input_value(0).get_node()
    levels = node.data
    return int(np.abs(levels.astype(np.int16)).max()) if levels.dtype == np.int8 else 0


def _processor_flags() -> str:
    """The instruction sets of this machine's processor, as Linux names them; empty elsewhere."""
    try:
        found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except FileNotFoundError:
        return ""
    return found[1] if found else ""


class TorchNetwork:
    """Network in torch on `device` ("cuda", "cuda:1"; "cpu" for comparison); half precision on a GPU.

    Box corners are computed in float32 on a GPU too: half precision resolves 600 px only to half a pixel.
    """

    def __init__(self, weights: Path, size_px: tuple[int, int], device: str = "cuda") -> None:
        import torch

        from perception.networks.fake_quantization import rounds

        model = ultralytics().YOLO(str(weights))
        if device != "cpu" and rounds(model.model):
            raise ConfigError(f"weights {weights} were trained in eight bits, which only a CPU runs here")
        self.size_px, self.names = size_px, tuple(model.names[i] for i in range(len(model.names)))
        self._torch, self.device = torch, torch.device(device)
        self.dtype = torch.half if self.device.type == "cuda" else torch.float32
        model.model.end2end = True  # before `fuse`, which drops the other head
        self._model = model.model.fuse(verbose=False).eval()
        if type(self._model.model[0]).__name__ == "TorchVision":
            from perception.detection.resnet.network import fuse_backbone

            fuse_backbone(self._model)
        self._model.to(self.device, self.dtype)
        head = self._model.model[-1]
        if not getattr(head, "end2end", False):
            raise ConfigError(f"weights {weights} have no one-to-one head: expected weights of YOLO26")
        self.takes_packed = self.device.type == "cuda" and _optimize_yolo(self._model)
        """Whether `rows` also takes the packed pictures of `cuda_ops.preprocess`, which need no copy."""
        with torch.inference_mode():
            self._model(torch.zeros((1, 3, size_px[1], size_px[0]), device=self.device, dtype=self.dtype))
        head.anchors, head.strides = head.anchors.float(), head.strides.float()  # computed by the forward pass above

    def rows(self, rgb: Any, score_min: float = 0.0) -> Any:
        """Rows (N, rows, 6) float32 on `device`, as `start` returns them, of pictures on `device`.

        `rgb` is (N, 3, height, width) of `dtype`, RGB in 0..1. Rows with a score of at most `score_min` may be zeros.
        """
        self._model.model[-1].score_min = score_min  # only the head of `optimize_yolo` reads it
        with self._torch.inference_mode():
            return self._model(rgb.contiguous(memory_format=self._torch.channels_last))[0].float()

    def start(self, bgr: Image) -> Callable[[], Float32]:
        return partial(self.infer, bgr)

    def infer(self, bgr: Image) -> Float32:
        torch = self._torch
        picture = torch.from_numpy(np.ascontiguousarray(bgr)).to(self.device)
        rgb = picture.permute(2, 0, 1).flip(0)[None].to(self.dtype) / 255.0
        return np.asarray(self.rows(rgb)[0].cpu().numpy(), dtype=np.float32)


def _optimize_yolo(model: Any) -> bool:
    from cuda_ops.runtime.gpu import why_no_gpu
    from perception.on_gpu.optimize_yolo import optimize_yolo

    return why_no_gpu() is None and optimize_yolo(model)  # torch alone works with older drivers and without NVRTC


def inference_threads() -> int:
    """Number of threads for the network; one core is left to other work, because a waiting network thread spins."""
    return min(max(len(os.sched_getaffinity(0)) - 1, 1), THREADS_MAX)


def network_for(weights: Path, width_px: int, height_px: int, device: str) -> Network:
    """The network for pictures of the given size on `device`, "cuda" or "cpu".

    Raises the ConfigErrors of `weights.exported`.
    """
    size = network_size(width_px, height_px)
    return TorchNetwork(weights, size) if device == "cuda" else OpenVinoNetwork(exported(weights, size))
