"""Perception of one drive, as the pipeline has it, with and without the radars on the same pictures."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from av_core.types import EgoState, LaneEstimate, LaneGraph, Rig, SensorFrame, TrackedObject
from perception.device import PerceptionBackend
from perception.localization.localizer import Localizer
from perception.map_index import MapIndex
from perception.radar.returns import locate_returns
from perception.stages.detection import CameraDetector
from perception.stages.objects import CameraObjects
from perception.stages.observation import Observation
from perception.tracking.tracker import Tracker


@dataclass(frozen=True, slots=True)
class Perceived:
    """The ego's estimated state, the tracks by sensors, and what the radars' part of the tracking took, ms."""

    ego: EgoState
    tracks: dict[str, tuple[TrackedObject, ...]]
    radar_ms: float


class Perceiver:
    """Call `update` with each frame in order; without a `backend` only the radars are used."""

    def __init__(self, rig: Rig, graph: LaneGraph, index: MapIndex, backend: PerceptionBackend | None) -> None:
        self._localizer, self._backend = Localizer(graph), backend
        self._radar_only = Tracker(index=index)
        names = [camera.name for camera in rig.cameras]
        if backend is not None:
            self._detector = CameraDetector(names, backend)
            self._camera, self._both = (CameraObjects(rig.cameras, index) for _ in range(2))
        self._names = names

    def update(self, frame: SensorFrame) -> Perceived:
        lanes = LaneEstimate(frame.stamp, None, None)
        if self._backend is not None:
            image = frame.cameras[self._names[0]]
            lanes = self._backend.lanes.update(image, frame.wheel_speed_mps, frame.imu.gyro_radps[2])
        ego = self._localizer.update(frame, lanes)
        start = time.process_time()
        tracks = {"radar": self._radar_only.update(ego, (), radar=locate_returns(frame.radars.values(), ego))}
        radar_ms = 1e3 * (time.process_time() - start)
        if self._backend is not None:
            detections = self._detector.update(frame, self._names)
            blind = replace(frame, radars={})
            tracks["camera"] = tuple(self._camera.update(Observation(blind, ego, lanes, detections)))
            tracks["camera and radar"] = tuple(self._both.update(Observation(frame, ego, lanes, detections)))
        return Perceived(ego, tracks, radar_ms)
