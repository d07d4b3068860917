"""What the stack's pipeline asks of its camera, on a GPU and on the CPU of the same machine."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from av_stack.types import CameraImage, CameraModel, Stamp
from benchmarks.gpu_operators import picture
from benchmarks.gpu_timing import Bench, on_cpu
from perception.detection.networks import TorchNetwork
from perception.detection.weights import COMPACT, network_size
from perception.lanes.detector import see_paint
from perception.lanes.lines import CANNY_HIGH, CANNY_LOW, segments_of
from perception.lanes.road_view import road_view
from perception.lanes.segmentation import columns_of
from perception.on_gpu.frame import GpuFrame

ROUNDS = 50


def bench_perception(bench: Bench) -> dict[str, Any]:
    """Microseconds by camera size, wall clock, from the picture in host memory to Python's values."""
    return {f"{width}x{height}": _at(width, height) for width, height in ((640, 360), (1280, 720))}


def _at(width: int, height: int) -> dict[str, float]:
    camera = CameraModel("front", width, height, 1.05, 2.1, 0.0, 1.6, 0.03)
    view = road_view(camera)
    assert view is not None
    columns, bgr = columns_of(view), np.ascontiguousarray(picture(height, width, 4, 5)[..., :3])
    images = [CameraImage(Stamp(number, 0.05 * number), camera, bgr.copy()) for number in range(ROUNDS + 2)]
    frame = GpuFrame([camera], {camera.name: TorchNetwork(COMPACT, network_size(width, height))})

    def on_gpu() -> Any:
        image = images.pop()  # each array runs once: asked for again, a picture is not run again
        return frame.see(image, view, columns), frame.detect(image)

    both = on_cpu(on_gpu, ROUNDS)
    mask, _ = see_paint(images[0], view, columns)
    edges = np.asarray(cv2.Canny(mask.contrast, CANNY_LOW, CANNY_HIGH), dtype=np.uint8)
    return {
        "paint, segments and detections, GPU": both,
        "paint and segments, CPU": on_cpu(lambda: see_paint(images[0], view, columns), ROUNDS),
        "in both, Hough segments on the CPU": on_cpu(lambda: segments_of(edges), ROUNDS),
    }
