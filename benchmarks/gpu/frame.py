"""Benchmark of a whole frame as one graph: the kernels alone, and with yolo26s from camera bytes to tracked objects."""

from __future__ import annotations

import statistics
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from av_core.types import CameraModel, Detection, EgoState, Stamp, TrackedObject
from benchmarks.gpu.effort import repeats
from benchmarks.gpu.operators import picture
from benchmarks.gpu.peers import GAP_PX, GROUND, GROUND_CAMERA, LENGTH_PX, VOTES_MIN, peers, weights
from benchmarks.gpu.timing import Bench, launch_alone, launch_cpu, on_cpu, p99, warm
from cuda_ops.canny.op import canny
from cuda_ops.detect.op import detect_dense, detect_end_to_end
from cuda_ops.frame import Branch, FrameGraph
from cuda_ops.hough.op import hough_lines
from cuda_ops.lanes.op import ground_mask
from cuda_ops.preprocess.op import preprocess
from perception.depth.ranging import range_objects
from perception.detection.classes import CLASSES
from perception.detection.detector import Detector
from perception.detection.networks import TorchNetwork
from perception.on_gpu.frame import SCORE_MIN, rows_of
from perception.tracking.tracker import Tracker

FRAMES, PACED_FRAMES = repeats(1000, 200), repeats(150, 50)
OBJECTS = 10
"""Boxes that replace the first rows of the network's output, so that tracking has work whatever the weights are."""


def bench_frame(bench: Bench) -> dict[str, Any]:
    """Time a frame without the network: in a graph without copies, and from Python with copies."""
    head = torch.rand((1, 84, 8400), device="cuda").half()
    head[:, :4] *= 500
    head[:, 4:] *= torch.where(torch.rand((80, 8400), device="cuda") < 0.0005, 1.0, 0.2).half()

    def program(image: torch.Tensor, depth: torch.Tensor) -> tuple[torch.Tensor, ...]:
        network_input = preprocess([image], 384, 640)
        found = detect_dense(head, depth=depth[None], depth_place=(0.0, 12.0, 2.0, 2.0))
        mask, _ = ground_mask(image, GROUND_CAMERA, GROUND)
        lines = hough_lines(canny(mask, 1, 2), VOTES_MIN, length_min_px=LENGTH_PX, gap_max_px=GAP_PX)
        assert found.depths is not None
        return (
            network_input[0, 0, 0],
            found.boxes,
            found.scores,
            found.labels,
            found.counts,
            found.depths,
            lines.segments,
        )

    frame, depth = picture(720, 1280, 4, 4), np.full((720, 1280), 20.0, np.float32)
    on_device = (torch.from_numpy(frame).cuda(), torch.from_numpy(depth).cuda())
    bench.add(
        "one frame without the network: preprocess, detect + depth, ground mask, Canny, Hough",
        lambda: program(*on_device),
        frame.nbytes,
        60.0,
        {},
    )
    graph = FrameGraph(program, [frame, depth], "cuda")
    found = []
    for _ in range(200):
        start = time.perf_counter()
        graph.run()
        found.append((time.perf_counter() - start) * 1e6)
    return {
        "launch_cpu_us": launch_alone(graph),
        "launch_cpu_queued_us": launch_cpu(graph.launch),
        "upload_to_results_median_us": statistics.median(found),
        "upload_to_results_p99_us": p99(found),
    }


class WholeFrame:
    """From BGRA bytes of 1280x720 to tracked objects and lane segments in Python, with yolo26s in half precision.

    Lanes run in parallel with the network. The depth picture stays on the GPU, since no camera sends one.
    """

    def __init__(self) -> None:
        self.network = TorchNetwork(weights(), (640, 384))
        if not set(self.network.names) & set(CLASSES):  # random weights have numbers for names
            self.network.names = (*CLASSES, *self.network.names[len(CLASSES) :])
        self.detector, self.tracker = Detector(self.network), Tracker()
        self.camera = CameraModel("front", 1280, 720, 1.57, 2.1, 0.0, 1.6, 0.03)
        self._branch = Branch()
        names = self.network.names
        self._car, self._walker = names.index("car"), names.index("person" if "person" in names else "pedestrian")
        picture_like = np.zeros((720, 1280, 4), np.uint8)
        self._depth = torch.full((1, 720, 1280), 20.0, device=self.network.device)
        self.graph = FrameGraph(self.program, [picture_like, self.boxes(0)], "cuda", handed=1)
        self._frame = 0

    def boxes(self, frame: int) -> np.ndarray[Any, Any]:
        """Rows (1, OBJECTS, 6) of boxes that move from frame to frame."""
        index = np.arange(OBJECTS)
        height = 20.0 + 4.0 * index
        left, foot = 20.0 + 55.0 * index + 0.25 * frame, 210.0 + 2.0 * index
        number = np.where(index % 3 == 0, self._walker, self._car)
        width = height * np.where(index % 3 == 0, 0.4, 1.5)
        score = np.full(OBJECTS, 0.8)
        return np.stack([left, foot - height, left + width, foot, score, number], axis=1)[None].astype(np.float32)

    def program(self, image: torch.Tensor, boxes: torch.Tensor) -> list[torch.Tensor]:
        with self._branch.beside():
            mask, _ = ground_mask(image, GROUND_CAMERA, GROUND)
            lines = hough_lines(canny(mask, 1, 2), VOTES_MIN, length_min_px=LENGTH_PX, gap_max_px=GAP_PX)
        rows = self.network.rows(preprocess([image], 384, 640, corner=(360, 640), is_packed=True), SCORE_MIN)
        rows = torch.cat([boxes, rows[:, OBJECTS:]], dim=1)
        found = detect_end_to_end(rows, SCORE_MIN, depth=self._depth, depth_place=(0.0, 0.0, 2.0, 2.0))
        self._branch.join()
        assert found.depths is not None
        return [found.boxes, found.scores, found.labels, found.counts, found.depths, lines.segments, lines.count]

    def see(self, picture: np.ndarray[Any, Any], times: list[float]) -> tuple[Detection, ...]:
        """From bytes to detections in Python; appends the clock before the first and after each step to `times`."""
        times.append(time.perf_counter())
        self.graph.upload(picture)
        times.append(time.perf_counter())
        results = self.graph.run()
        times.append(time.perf_counter())
        found = self.detector.to_detections(rows_of(results[:4], 0), 0.5, picture[..., :3])
        times.append(time.perf_counter())
        return found

    def track(self, detections: tuple[Detection, ...]) -> tuple[TrackedObject, ...]:
        self._frame += 1
        time_s = 0.05 * self._frame
        ego = EgoState(Stamp(self._frame, time_s), 8.0 * time_s, 0.0, 0.0, 8.0, 0.0, 0.0, 0.01 * np.eye(4))
        return self.tracker.update(ego, range_objects(detections, self.camera, 0.005))


def bench_whole_frame(bench: Bench) -> dict[str, Any]:
    """Time from frame bytes in host memory to tracked objects in Python, and that of each step; microseconds.

    First frame after frame, then 20 per second, as a simulator sends them: then cores sleep and caches are cold between
    two frames.
    """
    whole, picture_bytes = WholeFrame(), picture(720, 1280, 4, 4)
    found: dict[str, Any] = {"weights": weights().name, "threads_that_copy": _threads(whole.graph)}
    found |= _clocked(whole, picture_bytes, FRAMES, 0.0)
    found["at_20_hz"] = _clocked(whole, picture_bytes, PACED_FRAMES, 0.05)
    with patch.object(whole.graph, "_carrier", None):
        found["copied_by_the_driver"] = _clocked(whole, picture_bytes, FRAMES, 0.0)
    found["bytes_to_detections_alone_us"] = on_cpu(lambda: whole.see(picture_bytes, []), 199)
    found["launch_to_results_us"] = on_cpu(whole.graph.run, 99)
    found["launch_cpu_us"] = launch_alone(whole.graph)
    given = [torch.from_numpy(array).cuda() for array in (picture_bytes, *whole.graph.inputs)]
    fitted = preprocess(given[:1], 384, 640, corner=(360, 640), is_packed=True)
    found["network_in_a_graph_us"] = warm(lambda: whole.network.rows(fitted, SCORE_MIN), 4)[0]
    found["eager_launches_us"] = launch_cpu(lambda: whole.program(*given))
    found["peers_us"] = peers(picture_bytes)
    return found


def _threads(graph: FrameGraph) -> int:
    return 1 + (len(graph._carrier._workers) if graph._carrier is not None else 0)


def _clocked(whole: WholeFrame, picture_bytes: np.ndarray[Any, Any], frames: int, rest_s: float) -> dict[str, Any]:
    """Median and 99th percentile of each step, with `rest_s` of sleep before each frame."""
    clocks: list[list[float]] = []
    tracked: tuple[TrackedObject, ...] = ()
    for frame in range(50 + frames):
        whole.graph.inputs[0][:] = whole.boxes(frame % 400)
        if rest_s > 0.0:
            time.sleep(rest_s)
        times: list[float] = []
        tracked = whole.track(whole.see(picture_bytes, times))
        clocks.append([*times, time.perf_counter()])
    start, copied, ran, decoded, end = 1e6 * np.array(clocks[50:]).T
    parts = {
        "bytes_to_tracked": end - start, "bytes_to_detections": decoded - start, "upload": copied - start,
        "graph": ran - copied, "decode": decoded - ran, "tracking": end - decoded,
    }  # fmt: skip
    found: dict[str, Any] = {"objects": len(tracked)}
    for name, values in parts.items():
        found[f"{name}_median_us"], found[f"{name}_p99_us"] = float(np.median(values)), p99(values.tolist())
    return found
