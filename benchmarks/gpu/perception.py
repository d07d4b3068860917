"""Benchmark of camera perception as the stack's pipeline calls it, on a GPU and on the CPU of the same machine."""

from __future__ import annotations

import time
from typing import Any

import cv2
import numpy as np

from av_core.types import CameraImage, CameraModel, Stamp
from benchmarks.gpu.effort import repeats
from benchmarks.gpu.operators import picture
from benchmarks.gpu.timing import Bench, on_cpu
from perception.detection.networks import TorchNetwork
from perception.detection.weights import COMPACT, network_size
from perception.lanes.detector import detect_paint_on_cpu
from perception.lanes.lines import CANNY_HIGH, CANNY_LOW, segments_of
from perception.lanes.road_view import road_view
from perception.lanes.segmentation import columns_of
from perception.on_gpu.frame import GpuFrame
from sim_configs.load import load_rig

ROUNDS = repeats(50, 10)


def bench_perception(bench: Bench) -> dict[str, Any]:
    """Wall time from pictures in host memory to Python values, by camera size and for a rig; microseconds."""
    found = {f"{width}x{height}": _at(width, height) for width, height in ((640, 360), (1280, 720))}
    return {**found, "rig full": _rig()}


def _rig() -> dict[str, float]:
    """Time all cameras of the rig for GPUs, as the pipeline calls them; each picture is uploaded on its own."""
    cameras = load_rig("full").cameras
    sizes = [network_size(camera.width_px, camera.height_px) for camera in cameras]
    pictures = [np.ascontiguousarray(picture(camera.height_px, camera.width_px, 4, 5)[..., :3]) for camera in cameras]
    view = road_view(cameras[0])
    assert view is not None
    columns, found = columns_of(view), {}
    for name, wanted in (("by size", sizes), ("all 640x384", [(640, 384)] * len(cameras))):
        networks = {size: TorchNetwork(COMPACT, size) for size in wanted}
        by_camera = {camera.name: networks[size] for camera, size in zip(cameras, wanted, strict=True)}
        frame = GpuFrame(cameras, by_camera)
        times = []
        for number in range(ROUNDS + 5):
            images = [
                CameraImage(Stamp(number, 0.05 * number), camera, bgr.copy())
                for camera, bgr in zip(cameras, pictures, strict=True)
            ]
            start = time.perf_counter()
            for image in images:
                frame.begin(image.camera.name, image.bgr)
            begun = time.perf_counter()
            for image in images:
                frame.detect(image)
            detected = time.perf_counter()
            frame.detect_paint(images[0], view, columns)
            times.append((begun - start, detected - begun, time.perf_counter() - detected))
        for part, values in zip(
            ("upload", "to detections", "segments on the CPU"), np.transpose(times[5:]), strict=True
        ):
            found[f"{name}: {part}"] = 1e6 * float(np.median(values))
    return found


def _at(width: int, height: int) -> dict[str, float]:
    camera = CameraModel("front", width, height, 1.05, 2.1, 0.0, 1.6, 0.03)
    view = road_view(camera)
    assert view is not None
    columns, bgr = columns_of(view), np.ascontiguousarray(picture(height, width, 4, 5)[..., :3])
    images = [CameraImage(Stamp(number, 0.05 * number), camera, bgr.copy()) for number in range(ROUNDS + 2)]
    frame = GpuFrame([camera], {camera.name: TorchNetwork(COMPACT, network_size(width, height))})

    def on_gpu() -> Any:
        image = images.pop()  # a new array each time: a picture that was seen before would not run again
        return frame.detect_paint(image, view, columns), frame.detect(image)

    both = on_cpu(on_gpu, ROUNDS)
    mask, _ = detect_paint_on_cpu(images[0], view, columns)
    edges = np.asarray(cv2.Canny(mask.contrast, CANNY_LOW, CANNY_HIGH), dtype=np.uint8)
    return {
        "paint, segments and detections, GPU": both,
        "paint and segments, CPU": on_cpu(lambda: detect_paint_on_cpu(images[0], view, columns), ROUNDS),
        "in both, Hough segments on the CPU": on_cpu(lambda: segments_of(edges), ROUNDS),
    }
