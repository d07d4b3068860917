"""One picture in, paint of the lanes and rows of the detector out: one CUDA graph, in the CPU path's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from av_stack.types import CameraImage, CameraModel, Detection
from cuda_ops.detect.op import detect_end_to_end
from cuda_ops.frame import Branch, FrameGraph
from cuda_ops.preprocess.op import preprocess
from perception.detection.detector import CONFIDENCE_MIN, Detector, fitted_size
from perception.detection.networks import TorchNetwork
from perception.lanes.detector import Paint, see_paint
from perception.lanes.lines import segments_of
from perception.lanes.road_view import RoadView, road_view
from perception.lanes.segmentation import Columns, PaintMask
from perception.on_gpu.paint import PaintSteps, fits

SCORE_MIN = float(np.nextafter(np.float32(CONFIDENCE_MIN), np.float32(0.0)))
"""The kernel takes what lies above; the CPU path what is not below."""


class GpuFrame:
    """`see` for `LaneDetector` and `detect` for the pipeline; a picture that both ask for runs once.

    Takes pictures of `camera` only: raises ValueError for others. Paint and segments equal the CPU path's to the bit.
    Boxes and scores are those of the network in half precision: docs/cuda.md tells how near they come. Of the lanes'
    work what follows Canny stays on the CPU, as does all of it for a camera whose pictures `paint.fits` refuses.
    """

    def __init__(self, camera: CameraModel, network: TorchNetwork | None, device: str = "cuda") -> None:
        self._camera, self._network = camera, network
        self._detector = None if network is None else Detector(network)
        view = road_view(camera)
        has_paint = view is not None and fits(camera, view)
        self._paint = PaintSteps(camera, view, device) if has_paint and view is not None else None
        self._branch = Branch()
        picture = np.zeros((camera.height_px, camera.width_px, 3), np.uint8)
        self._graph = FrameGraph(self._program, [picture], device, handed=1)
        self._seen: CameraImage | None = None
        self._results: list[NDArray[Any]] = []

    def see(self, image: CameraImage, view: RoadView, columns: Columns) -> Paint:
        """What `perception.lanes.detector.see_paint` gives; the next picture overwrites it."""
        if self._paint is None:
            return see_paint(image, view, columns)
        white, yellow, contrast, lab, lane_light, edges = self._look(image)[:6]
        mask = PaintMask(white, yellow, contrast, lab, columns.left, columns.right, lane_light)
        return mask, segments_of(edges)

    def detect(self, image: CameraImage) -> tuple[Detection, ...]:
        """What `Detector.detect` gives; the graph has no network without one: raises ValueError."""
        if self._detector is None or self._network is None:
            raise ValueError("this frame has no network")
        boxes, scores, labels, counts = self._look(image)[-4:]
        count = int(counts[0, 0])
        rows = np.column_stack([boxes[0, :count], scores[0, :count], labels[0, :count]]).astype(np.float32)
        size = (self._camera.width_px, self._camera.height_px)
        return self._detector.named(rows, fitted_size(size, self._network.size_px)[1], image.bgr)

    def _look(self, image: CameraImage) -> Sequence[NDArray[Any]]:
        if image is not self._seen:
            if image.camera != self._camera or image.bgr.shape != (self._camera.height_px, self._camera.width_px, 3):
                raise ValueError(f"camera {image.camera.name!r}: the graph was captured for {self._camera}")
            self._results = self._graph.run(image.bgr)
            self._seen = image
        return self._results

    def _program(self, picture: torch.Tensor) -> list[torch.Tensor]:
        out: list[torch.Tensor] = []
        if self._paint is not None:
            with self._branch.beside():
                out += self._paint(picture)
        if self._network is not None:
            found = detect_end_to_end(self._network.rows(self._network_input(picture), SCORE_MIN), SCORE_MIN)
            out += [found.boxes, found.scores, found.labels, found.counts]
        self._branch.join()
        return out

    def _network_input(self, picture: torch.Tensor) -> torch.Tensor:
        """What `detector.fit` makes of it: at most as large as it is, in the corner, grey beside it."""
        assert self._network is not None
        width, height = self._network.size_px
        (fit_width, fit_height), _ = fitted_size((picture.shape[1], picture.shape[0]), (width, height))
        corner, is_packed = (fit_height, fit_width), self._network.takes_packed
        dtype = self._network.dtype
        return preprocess([picture], height, width, "bgr", dtype, corner=corner, is_packed=is_packed)
