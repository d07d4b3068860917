"""Chooses the stages that can run on a foreign recording, and says why the other stages cannot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from av_core.types import LaneGraph
from av_stack.foreign.optics import CAMERA
from av_stack.foreign.source import ForeignSource
from av_stack.pipeline import PerceptionPipeline, PerceptionStages
from perception.detection.detector import Detector
from perception.detection.networks import network_for
from perception.detection.weights import COMPACT_SIZE_PX
from perception.device import PerceptionBackend
from perception.lanes.detector import LaneDetector
from perception.localization.localizer import Localizer
from perception.map_index import MapIndex
from perception.stages.detection import CameraDetector
from perception.stages.ego import EgoSource, VehicleFrame
from perception.stages.health import RigHealthMonitor
from perception.stages.lights import CameraLights, LightSource, NoLights
from perception.stages.objects import CameraObjects

NO_MAP = "no map"
NEEDED = ("GNSS", "IMU")
"""Inputs without which the localizer cannot run; wheel speed is optional."""


def disabled(source: ForeignSource) -> Mapping[str, str]:
    """The modules that do not run on the recording, each with the reason."""
    out = {} if source.optics.turns_itself else {"self-calibration": "the camera's pitch is given"}
    lacking = [source.lacks[name] for name in NEEDED if name in source.lacks]
    if lacking:
        out["localization"] = f"{' and '.join(lacking)}; positions and speeds are relative to the vehicle"
    if _has_lanes(source.graph):
        return out | {"prediction": "nothing is planned", "planning": "no route", "control": "no plan"}
    out |= dict.fromkeys(("lights", "prediction"), NO_MAP)
    return out | dict.fromkeys(("planning", "control"), f"{NO_MAP} and no route")


def _has_lanes(graph: LaneGraph | None) -> bool:
    return graph is not None and bool(graph.lanes)


def build_perception(source: ForeignSource, weights: Path, device: str) -> PerceptionPipeline:
    """The stages of perception that can run on the recording. Raises ConfigError as `network_for` does."""
    camera = source.optics.camera
    detector = Detector(network_for(weights, *COMPACT_SIZE_PX, device))
    backend = PerceptionBackend(LaneDetector(), detector.detect, lambda _, bgr: detector.begin(bgr))
    localizer: EgoSource = VehicleFrame()
    lights: LightSource = NoLights()
    index, graph = None, source.graph
    if graph is not None and not any(name in source.lacks for name in NEEDED):
        localizer = Localizer(graph)
        if graph.lanes:
            index, lights = MapIndex(graph), CameraLights([camera], graph)
    return PerceptionPipeline(
        PerceptionStages(
            front=CAMERA,
            health=RigHealthMonitor(CAMERA),
            lanes=backend.lanes,
            localizer=localizer,
            detector=CameraDetector([CAMERA], backend),
            objects=CameraObjects([camera], index),
            lights=lights,
        )
    )
