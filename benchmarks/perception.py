"""Time of perception on the CPU at 640x360, on the pictures of a drive: each stage alone, and all stages together.

`whole_median_ms` is the time from the picture to tracked objects and lights, with the detector in parallel with health
and lanes as in `av_stack.pipeline`. `stage_median_ms` has each stage alone; `for_depth_median_ms` has the stages that a
drive does not need. If ultralytics is installed, its own `predict` runs on the same pictures with the same weights.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np

from av_core.types import CameraImage, Detection, LaneGraph, SensorFrame
from av_stack.evaluation.eval_visits import spawn_point
from av_stack.evaluation.ranging import true_ego
from av_stack.server_process import ServerProcess
from av_stack.world.carla.survey import Survey, SurveyFrame
from av_stack.world.spec import WorldSpec
from perception.detection.offline import ultralytics
from perception.detection.weights import COMPACT, network_size
from perception.device import PerceptionBackend, build_backend
from perception.health.monitor import HealthMonitor
from perception.lanes.detector import LaneDetector
from perception.lights.reader import LightReader
from perception.objects import ObjectPerception
from sim_configs.load import load_rig

FRAMES, WARM_UP = 120, 20
MAP = "city_grid"
WHOLE, PREDICT = "whole", "ultralytics predict"
STAGES = ("health", "lanes", "detector", "ranging, motion and tracking", "lights")
FOR_DEPTH = ("corners of what stands", "depth image")


class Took:
    """Collects the time of each named stage, ms, picture by picture."""

    def __init__(self) -> None:
        self._ms: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._ms[name].append(1e3 * (time.perf_counter() - started))

    def median_ms(self, name: str) -> float | None:
        """Median without the first `WARM_UP` pictures; None if nothing was measured."""
        return round(float(np.median(self._ms[name][WARM_UP:])), 2) if name in self._ms else None


def record() -> tuple[list[SurveyFrame], LaneGraph]:
    """Frames of a drive through traffic, and its map; recorded first, so that no rendering disturbs the timing."""
    with ServerProcess(("--map", MAP)) as address:
        start = spawn_point(address, 0)
        spec = WorldSpec(MAP, start, (start,), load_rig("compact"), seed=3, traffic_vehicles=40)
        survey = Survey(address, spec)
        try:
            return [survey.look() for _ in range(WARM_UP + FRAMES)], survey.world.lane_graph
        finally:
            survey.close()


def image_of(frame: SurveyFrame) -> CameraImage:
    return frame.sensors.cameras["front"]


def measure_whole(frames: list[SurveyFrame], graph: LaneGraph, backend: PerceptionBackend, took: Took) -> None:
    """Time all stages together, in the order of a drive."""
    health, sense, lights = HealthMonitor(), ObjectPerception(use_parallax=False), LightReader(graph)
    assert backend.begin is not None
    assert backend.detect is not None
    for frame in frames:
        sensors, image, ego = frame.sensors, image_of(frame), true_ego(frame)
        with took.of(WHOLE):
            backend.begin(image.camera.name, image.bgr)
            health.update(image, sensors.stamp.time_s, sensors.wheel_speed_mps)
            lanes = backend.lanes.update(image, sensors.wheel_speed_mps, sensors.imu.gyro_radps[2])
            found = backend.detect(image)
            sense.update(image, ego, sensors, lanes, found)
            lights.update(ego, found, image)


def measure_stages(frames: list[SurveyFrame], graph: LaneGraph, backend: PerceptionBackend, took: Took) -> None:
    """Time each stage with nothing running in parallel."""
    health, lights, lines = HealthMonitor(), LightReader(graph), LaneDetector()
    driving, mapping = ObjectPerception(use_parallax=False), ObjectPerception(use_parallax=True)
    assert backend.detect is not None
    for frame in frames:
        sensors: SensorFrame = frame.sensors
        image, ego = image_of(frame), true_ego(frame)
        with took.of("health"):
            health.update(image, sensors.stamp.time_s, sensors.wheel_speed_mps)
        with took.of("lanes"):
            lanes = lines.update(image, sensors.wheel_speed_mps, sensors.imu.gyro_radps[2])
        with took.of("detector"):
            found: tuple[Detection, ...] = backend.detect(image)
        with took.of("ranging, motion and tracking"):
            driving.update(image, ego, sensors, lanes, found)
        with took.of("lights"):
            lights.update(ego, found, image)
        with took.of("all with corners"):
            seen = mapping.update(image, ego, sensors, lanes, found)
        with took.of("depth image"):
            seen.depth()


def measure_predict(frames: list[SurveyFrame], took: Took) -> None:
    """Time ultralytics' `predict`, from a picture to boxes, with torch on this CPU."""
    model = ultralytics().YOLO(str(COMPACT))
    for frame in frames:
        image = image_of(frame)
        width, height = network_size(image.camera.width_px, image.camera.height_px)
        with took.of(PREDICT):
            model.predict(image.bgr, imgsz=(height, width), device="cpu", conf=0.1, verbose=False)


def main() -> int:
    frames, graph = record()
    camera, took = image_of(frames[0]).camera, Took()
    measure_whole(frames, graph, build_backend([camera], COMPACT, "cpu"), took)
    measure_stages(frames, graph, build_backend([camera], COMPACT, "cpu"), took)
    if find_spec("ultralytics") is not None:
        measure_predict(frames, took)
    corners = (took.median_ms("all with corners") or 0.0) - (took.median_ms("ranging, motion and tracking") or 0.0)
    figures = {
        "pictures": FRAMES,
        "cores": len(os.sched_getaffinity(0)),
        "whole_median_ms": took.median_ms(WHOLE),
        "wanted_ms": 30.0,
        "stage_median_ms": {name: took.median_ms(name) for name in STAGES},
        "for_depth_median_ms": {FOR_DEPTH[0]: round(corners, 2), FOR_DEPTH[1]: took.median_ms(FOR_DEPTH[1])},
        "ultralytics_predict_median_ms": took.median_ms(PREDICT),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
