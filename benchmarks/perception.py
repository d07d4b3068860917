"""Perception on the CPU at 640x360: what each stage takes on pictures of a drive, detections given."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict

import numpy as np

from av_stack.evaluation.ranging import true_detections, true_ego
from av_stack.evaluation.visits import spawn_point
from av_stack.server_process import ServerProcess
from av_stack.types import Detection, SensorFrame
from av_stack.world.carla_survey import Survey, SurveyFrame
from av_stack.world.spec import WorldSpec
from perception.health import HealthMonitor
from perception.lanes.detector import LaneDetector
from perception.objects import ObjectSense
from sim_configs.load import load_rig

FRAMES, WARM_UP = 120, 20
MAP = "city_grid"


def record() -> list[SurveyFrame]:
    """A drive through traffic; nothing is timed while the server renders."""
    with ServerProcess(("--map", MAP)) as address:
        start = spawn_point(address, 0)
        spec = WorldSpec(MAP, start, (start,), load_rig("compact"), seed=3, traffic_vehicles=40)
        survey = Survey(address, spec)
        try:
            return [survey.look() for _ in range(WARM_UP + FRAMES)]
        finally:
            survey.close()


def measure(frames: list[SurveyFrame]) -> dict[str, list[float]]:
    """Milliseconds of each stage for each frame."""
    health, lanes, sense = HealthMonitor(), LaneDetector(), {True: ObjectSense(True), False: ObjectSense(False)}
    took: dict[str, list[float]] = defaultdict(list)
    for frame in frames:
        sensors: SensorFrame = frame.sensors
        image, ego = sensors.cameras["front"], true_ego(frame)
        boxes: list[Detection] = [box for _, box in true_detections(frame)]
        started = time.perf_counter()
        health.update(image, sensors.stamp.time_s, sensors.wheel_speed_mps)
        well = time.perf_counter()
        seen = lanes.update(image, sensors.wheel_speed_mps, sensors.imu.gyro_radps[2])
        lined = time.perf_counter()
        sense[False].update(image, ego, sensors.imu, seen, boxes)
        placed = time.perf_counter()
        full = sense[True].update(image, ego, sensors.imu, seen, boxes)
        followed = time.perf_counter()
        full.depth()
        ended = time.perf_counter()
        stages = ("health", "lanes", "ranging and tracking", "the same with corners", "depth image")
        for name, start, end in zip(
            stages,
            (started, well, lined, placed, followed),
            (well, lined, placed, followed, ended),
            strict=True,
        ):
            took[name].append(1e3 * (end - start))
    return took


def main() -> int:
    took = measure(record())
    medians = {name: round(float(np.median(values[WARM_UP:])), 2) for name, values in took.items()}
    driving = medians["health"] + medians["lanes"] + medians["ranging and tracking"]
    print(json.dumps({"stage_median_ms": medians, "driving_without_detector_ms": round(driving, 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
