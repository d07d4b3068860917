"""Runs lane paint and object detection of all cameras as one CUDA graph; results have the types of the CPU path."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from av_core.types import CameraImage, CameraModel, Detection, Image
from cuda_ops.detect.op import detect_end_to_end
from cuda_ops.frame import Branch, FrameGraph
from cuda_ops.preprocess.op import preprocess
from perception.detection.detector import CONFIDENCE_MIN, Detector, letterbox_size
from perception.detection.networks import TorchNetwork
from perception.lanes.detector import Paint, detect_paint_on_cpu
from perception.lanes.lines import segments_of
from perception.lanes.road_view import RoadView, road_view
from perception.lanes.segmentation import Columns, PaintMask
from perception.on_gpu.paint import PaintSteps, fits

SCORE_MIN = float(np.nextafter(np.float32(CONFIDENCE_MIN), np.float32(0.0)))
"""Limit for the kernel: the largest float32 below `CONFIDENCE_MIN`.

The kernel keeps scores above its limit, the CPU path keeps scores of at least `CONFIDENCE_MIN`."""

PAINT_RESULTS, ROWS_RESULTS = 6, 4
"""Numbers of result tensors of the lane paint, and of each batch of cameras."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Cameras whose pictures one network processes together.

    `cameras` are their indices in `GpuFrame`; `corner_px` is the size (height, width) to which they are scaled.
    """

    network: TorchNetwork
    corner_px: tuple[int, int]
    cameras: tuple[int, ...]


class GpuFrame:
    """Lane paint (`detect_paint`) and detections (`detect`) of one or more cameras, as one CUDA graph per frame.

    The graph uploads each picture once, runs one preprocessing and one network pass for all cameras that share a
    network, and computes the lane paint of the first camera in parallel.

    Order of use: call `begin` with each picture of a frame as soon as it arrives, from any thread; the graph starts
    when every camera has a new picture. Then call `detect_paint` and `detect`, which wait for the results. If `begin`
    was not called for a picture, or its frame is not complete, the first request for its results starts the graph. Then
    the results of the other cameras belong to their previous pictures and must not be requested.

    Pictures are recognised by the identity of their arrays: each picture needs its own array, which must not change
    until its results have been fetched. Raises ValueError for pictures of other cameras.

    Paint and line segments are bit-equal to those of the CPU path. Boxes and scores are those of the network in half
    precision; docs/cuda.md gives their error. The lane steps after Canny run on the CPU; for a camera whose picture
    size is not supported (`paint.fits`), all lane steps run on the CPU.
    """

    def __init__(
        self, cameras: Sequence[CameraModel], networks: Mapping[str, TorchNetwork], device: str = "cuda"
    ) -> None:
        """`cameras` have distinct names; lanes are detected in the pictures of the first one.

        `networks` are given by camera name. Cameras that share a network form one batch. `detect` cannot be called for
        a camera without a network. Raises ValueError if no camera is given or two have the same name.
        """
        self._cameras = {camera.name: camera for camera in cameras}
        if not cameras or len(self._cameras) < len(cameras):
            raise ValueError(f"cameras {[camera.name for camera in cameras]}: expected one or more with distinct names")
        self._numbers = {camera.name: number for number, camera in enumerate(cameras)}
        self._networks = {name: networks[name] for name in self._cameras if name in networks}
        self._detectors = {name: Detector(network) for name, network in self._networks.items()}
        self._batches = _batches(cameras, self._networks)
        self._branches = [Branch() for _ in self._batches]  # one for the paint, one per further batch
        first = cameras[0]
        view = road_view(first)
        has_paint = view is not None and fits(first, view)
        self._paint = PaintSteps(first, view, device) if has_paint and view is not None else None
        pictures = [np.zeros((camera.height_px, camera.width_px, 3), np.uint8) for camera in cameras]
        self._graph = FrameGraph(self._program, pictures, device, handed=len(pictures))
        self._lock = threading.Lock()
        self._begun: dict[str, Image] = {}
        self._new: set[str] = set()
        self._seen: dict[str, Image] = {}
        self._results: Sequence[NDArray[Any]] | None = None

    def begin(self, camera: str, bgr: Image) -> None:
        """Upload a picture of the next frame; start the graph when the frame is complete."""
        with self._lock:
            self._upload(camera, bgr)
            if len(self._new) == len(self._cameras):
                self._start()

    def detect_paint(self, image: CameraImage, view: RoadView, columns: Columns) -> Paint:
        """The same result as `detect_paint_on_cpu`, for the first camera; the next frame overwrites the arrays.

        For other cameras, and for picture sizes that `paint.fits` does not support, it is computed on the CPU.
        """
        if self._paint is None or self._numbers.get(image.camera.name) != 0:
            return detect_paint_on_cpu(image, view, columns)
        white, yellow, contrast, lab, lane_light, edges = self._results_of(image)[:PAINT_RESULTS]
        mask = PaintMask(white, yellow, contrast, lab, columns.left, columns.right, lane_light)
        return mask, segments_of(edges)

    def detect(self, image: CameraImage) -> tuple[Detection, ...]:
        """The same result as `Detector.detect`. Raises ValueError for a camera without a network."""
        name = image.camera.name
        results = self._results_of(image)
        if name not in self._detectors:
            raise ValueError(f"camera {name!r}: this frame has no network for it")
        place = 0 if self._paint is None else PAINT_RESULTS
        for batch in self._batches:
            if self._numbers[name] in batch.cameras:
                break
            place += ROWS_RESULTS
        rows = rows_of(results[place : place + ROWS_RESULTS], batch.cameras.index(self._numbers[name]))
        size = image.camera.width_px, image.camera.height_px
        return self._detectors[name].to_detections(rows, letterbox_size(size, batch.network.size_px)[1], image.bgr)

    def _results_of(self, image: CameraImage) -> Sequence[NDArray[Any]]:
        """The graph's results for the frame that contains this picture."""
        name = image.camera.name
        if image.camera != self._cameras.get(name):
            raise ValueError(f"camera {name!r}: the graph was captured for {tuple(self._cameras.values())}")
        with self._lock:
            if self._seen.get(name) is not image.bgr:
                self._upload(name, image.bgr)
                self._start()
            if self._results is None:
                self._results = self._graph.wait()
            return self._results

    def _upload(self, name: str, bgr: Image) -> None:
        camera = self._cameras.get(name)
        if camera is None or bgr.shape != (camera.height_px, camera.width_px, 3):
            raise ValueError(f"camera {name!r}, {bgr.shape}: the graph was captured for {(*self._cameras.values(),)}")
        if self._begun.get(name) is not bgr:
            self._graph.upload_one(self._numbers[name], bgr)
            self._begun[name] = bgr
            self._new.add(name)

    def _start(self) -> None:
        self._graph.launch()
        self._results, self._seen = None, dict(self._begun)
        self._new.clear()

    def _program(self, *pictures: torch.Tensor) -> list[torch.Tensor]:
        """The operations of the graph: paint and all batches run in parallel; the results are in batch order."""
        paint, *others = self._branches or [Branch()]
        parts: list[Sequence[torch.Tensor]] = []
        with paint.beside():
            parts.append(() if self._paint is None else self._paint(pictures[0]))
        for batch, branch in zip(self._batches[1:], others, strict=True):
            with branch.beside():
                parts.append(self._batch_results(batch, pictures))
        parts[1:1] = [self._batch_results(batch, pictures) for batch in self._batches[:1]]
        for branch in (paint, *others):
            branch.join()
        return [result for part in parts for result in part]

    def _batch_results(self, batch: _Batch, pictures: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Boxes, scores, labels and counts of a batch.

        The pictures are fitted like `detector.letterbox` does: never enlarged, in the top left corner, grey beside it.
        """
        network, (width, height) = batch.network, batch.network.size_px
        own = [pictures[number] for number in batch.cameras]
        fitted = preprocess(
            own, height, width, "bgr", network.dtype, corner=batch.corner_px, is_packed=network.takes_packed
        )
        found = detect_end_to_end(network.rows(fitted, SCORE_MIN), SCORE_MIN)
        return found.boxes, found.scores, found.labels, found.counts


def rows_of(results: Sequence[NDArray[Any]], picture: int) -> NDArray[np.float32]:
    """One picture's rows (N, 6) float32 for `to_detections`, from the batch's boxes, scores, labels and counts."""
    boxes, scores, labels, counts = (part[picture] for part in results)
    count = int(counts[0])
    rows = np.empty((count, 6), np.float32)
    rows[:, :4], rows[:, 4], rows[:, 5] = boxes[:count], scores[:count], labels[:count]
    return rows


def _batches(cameras: Sequence[CameraModel], networks: Mapping[str, TorchNetwork]) -> list[_Batch]:
    """Group the cameras by their network and the size to which their pictures are scaled."""
    together: dict[tuple[int, tuple[int, int]], list[int]] = {}
    for number, camera in enumerate(cameras):
        if camera.name in networks:
            network = networks[camera.name]
            (width, height), _ = letterbox_size((camera.width_px, camera.height_px), network.size_px)
            together.setdefault((id(network), (height, width)), []).append(number)
    return [
        _Batch(networks[cameras[numbers[0]].name], corner_px, tuple(numbers))
        for (_, corner_px), numbers in together.items()
    ]
