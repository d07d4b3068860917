"""The assembled pipeline: each oracle replaces one module, and the detector runs only where its results are used."""

from __future__ import annotations

import math

import numpy as np
import pytest

from av_core.types import (
    CameraImage,
    CameraModel,
    Detection,
    GnssFix,
    ImuSample,
    LaneGraph,
    Pose2D,
    SensorFrame,
    Stamp,
    Truth,
    VehicleParameters,
)
from av_stack.assembly import DETECTOR_ORACLES, ORACLES, Settings, build_pipeline
from perception.device import PerceptionBackend
from perception.lanes.detector import LaneDetector
from planning import find_route
from sim_configs.load import load_stack
from tests.planning.lanes_by_hand import chain

YAWS = {"left": math.pi / 2, "front": 0.0, "narrow": 0.1}
FRONT_FIRST = ("front", "left", "narrow")
CAMERAS = tuple(CameraModel(name, 640, 360, 1.0, 2.0, 0.0, 1.5, yaw_rad=YAWS[name]) for name in FRONT_FIRST)
CAR = VehicleParameters(4.9, 1.9, 1.5, 2.9, 1.4, 0.8, 1700.0)
STAMP = Stamp(1, 0.05)


@pytest.fixture(scope="module")
def graph() -> LaneGraph:
    return chain([("straight", 200.0, 0.0)])


def frame_of(*names: str) -> SensorFrame:
    rng = np.random.default_rng(1)
    texture = rng.integers(60, 200, (45, 80, 1), dtype=np.uint8).repeat(8, axis=0).repeat(8, axis=1).repeat(3, axis=2)
    cameras = {camera.name: CameraImage(STAMP, camera, texture) for camera in CAMERAS if camera.name in names}
    imu = ImuSample(STAMP, (0.0, 0.0, 9.8), (0.0, 0.0, 0.0), 0.0)
    return SensorFrame(STAMP, cameras, GnssFix(STAMP, 0.0, 0.0, 0.0), imu, 0.0)


@pytest.mark.parametrize(
    ("oracles", "detected", "truths"),
    [
        ((), ["front", "left", "narrow"], 0),
        (("lights",), ["front", "left", "narrow"], 1),
        (("detection",), ["front", "narrow"], 1),
        (DETECTOR_ORACLES, [], 2),
        (ORACLES, [], 3),
    ],
)
def test_the_detector_runs_where_it_is_needed(
    graph: LaneGraph, oracles: tuple[str, ...], detected: list[str], truths: int
) -> None:
    looked: list[str] = []
    begun: list[str] = []
    asked: list[Truth] = []

    def detect(image: CameraImage) -> tuple[Detection, ...]:
        looked.append(image.camera.name)
        return ()

    def truth() -> Truth:
        asked.append(Truth(STAMP, Pose2D(0.0, 0.0, 0.0), 0.0, 0.0, (), {}, ()))
        return asked[-1]

    stack = load_stack()
    route = find_route(graph, Pose2D(5.0, 0.0, 0.0), Pose2D(190.0, 0.0, 0.0))
    backend = PerceptionBackend(LaneDetector(), detect, lambda camera, _: begun.append(camera))
    settings = Settings(stack.planning, stack.control, CAMERAS)
    pipeline = build_pipeline(graph, CAR, route, settings, truth, oracles, backend)
    step = pipeline.step(frame_of(*FRONT_FIRST))
    assert looked == detected
    assert sorted(begun) == sorted(detected)
    assert len(asked) == truths
    assert step.stamp == step.scene.stamp == STAMP
    assert step.prediction.stamp == STAMP
    seen = ["health", "lanes", "localization", "detection", "objects and lights"]
    assert list(step.stage_ms) == [*seen, "prediction", "planning", "control", "lights"]


def test_a_module_without_oracle_needs_a_detector(graph: LaneGraph) -> None:
    stack = load_stack()
    route = find_route(graph, Pose2D(5.0, 0.0, 0.0), Pose2D(190.0, 0.0, 0.0))
    settings = Settings(stack.planning, stack.control, CAMERAS)

    def no_truth() -> Truth:
        raise AssertionError("nobody is driving yet")

    for oracles in ((), ORACLES[:1], ORACLES[1:]):
        with pytest.raises(ValueError, match="no detector is given for the cameras front"):
            build_pipeline(graph, CAR, route, settings, no_truth, oracles)
    build_pipeline(graph, CAR, route, settings, no_truth, DETECTOR_ORACLES)
