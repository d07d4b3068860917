"""The whole program as one pipeline: a sensor frame in, a control command out. Start reading here.

cameras, GNSS, IMU, wheels -> health -> lanes -> localization -> objects, lights -> scene -> plan -> control
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress
from math import pi

from av_core.types import (
    CameraDetections,
    CameraModel,
    ControlCommand,
    Detection,
    EgoState,
    Image,
    LaneEstimate,
    LaneGraph,
    Plan,
    SensorFrame,
    StepResult,
    TrackedObject,
    TrafficLightView,
    Truth,
    VehicleLights,
    VehicleParameters,
)
from control import ControlConfig, Controller
from control.lights import choose_lights
from perception.daylight import Daylight
from perception.detection.oracle import oracle_objects
from perception.device import PerceptionBackend
from perception.health import Health, HealthMonitor, Response
from perception.lanes.detector import LaneDetector
from perception.lights import LightOracle, LightReader
from perception.localization import Localizer
from perception.map_index import MapIndex
from perception.objects import ObjectPerception
from perception.scene import along_lanes, assemble_scene
from planning import Planner, PlanningConfig, Route
from planning.fallback import drive_cautiously, safe_stop, slow_down

ORACLES = ("detection", "lights")
"""Modules whose output may come from the simulator instead of the camera."""

AHEAD_MAX_RAD = pi / 4.0
"""Cameras whose yaw is below this angle read the traffic lights."""

TruthSource = Callable[[], Truth]
"""Returns the simulator's truth for the current tick."""

Found = tuple[Sequence[TrackedObject], Mapping[str, TrafficLightView]]
"""Road users and traffic lights of one step."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Configurations of planning and control, and the cameras, the first of which looks ahead."""

    planning: PlanningConfig
    control: ControlConfig
    cameras: tuple[CameraModel, ...]


class Pipeline:
    """Drives along `route`; call `step` with every sensor frame in order.

    `truth` serves the oracles, for the tick of the frame given to `step`; the modules that are not among `oracles` use
    `backend`. Raises `ValueError` where a module has neither an oracle nor a detector.
    """

    def __init__(
        self,
        graph: LaneGraph,
        vehicle: VehicleParameters,
        route: Route,
        settings: Settings,
        truth: TruthSource,
        oracles: Collection[str] = (),
        backend: PerceptionBackend | None = None,
    ) -> None:
        backend = backend if backend is not None else PerceptionBackend(LaneDetector(), None)
        if backend.detect is None and set(ORACLES) - set(oracles):
            raise ValueError(f"{', '.join(sorted(set(ORACLES) - set(oracles)))}: neither oracle nor detector is given")
        self._oracles = frozenset(oracles)
        self._detect, self._begin = (None, None) if self._oracles >= set(ORACLES) else (backend.detect, backend.begin)
        first, *others = settings.cameras
        self._camera = first.name
        self._others = tuple(one for one in others if self._detect is not None and self._is_needed(one))
        self._truth = truth
        self._health, self._healths = HealthMonitor(), tuple(HealthMonitor() for _ in self._others)
        self._lanes = backend.lanes
        self._localizer = Localizer(graph)
        self._map = MapIndex(graph)
        self._objects = ObjectPerception(use_parallax=False, index=self._map)
        self._light_oracle, self._lights = LightOracle(graph), LightReader(graph)
        self._detected_cameras = {self._camera, *(camera.name for camera in self._others)}
        self._looks_ahead = tuple(map(looks_ahead, self._others))
        looks = [first, *compress(self._others, self._looks_ahead)]
        looks = [] if "lights" in oracles else looks  # the light oracle does not need a camera
        self._planner = Planner(graph, vehicle, settings.planning, looks)
        self._planner.set_route(route)
        self._controller = Controller(vehicle, settings.control)
        self._daylight = Daylight()
        self._stage_ms: dict[str, float] = {}

    def begin(self, camera: str, bgr: Image) -> None:
        """Start the detector on a picture in the background, before `step` is called with the same array.

        May be called from another thread, as long as that is before `step`.
        """
        if self._begin is not None and camera in self._detected_cameras:
            self._begin(camera, bgr)

    def step(self, frame: SensorFrame) -> StepResult:
        """Run all stages on one sensor frame: the estimated scene, the plan and the command.

        The detector runs in parallel to the stages before its own, so the time of its own stage is only what remains.
        """
        self._stage_ms = {}
        for name, image in frame.cameras.items():
            self.begin(name, image.bgr)
        with self._stage("health"):
            health, healths = self._check(frame)
        with self._stage("lanes"):
            lanes = self._detect_lanes(frame, health)
        with self._stage("localization"):
            ego = self._localizer.update(frame, lanes)
        with self._stage("detection"):
            detections = self._detect_objects(frame, health)
            others = self._detect_in_others(frame, healths)
        with self._stage("objects and lights"):
            objects, lights = self._locate_objects_and_lights(frame, ego, lanes, detections, health, others)
        scene = assemble_scene(ego, lanes, objects, lights)
        with self._stage("planning"):
            plan = react_to_health(health, self._planner.plan(scene), ego.speed_mps, healths)
        with self._stage("control"):
            command = self._controller.step(plan, ego)
        with self._stage("lights"):
            command = replace(command, lights=self._choose_lights(frame, health, plan, command))
        return StepResult(frame.stamp, scene, plan, command, self._stage_ms)

    def _choose_lights(self, frame: SensorFrame, health: Health, plan: Plan, command: ControlCommand) -> VehicleLights:
        bgr = None if health.faults else frame.cameras[self._camera].bgr
        is_clear = self._daylight.update(bgr, frame.stamp.time_s) and not frame.is_raining
        return choose_lights(command.brake, plan.indicator, not is_clear, health.response is Response.STOP)

    def _is_needed(self, camera: CameraModel) -> bool:
        """Whether a camera other than the first is of use: for lights alone, it has to look ahead."""
        return "detection" not in self._oracles or looks_ahead(camera)

    def _check(self, frame: SensorFrame) -> tuple[Health, Mapping[str, Health]]:
        """Health of the front camera, and of the other cameras by name."""
        time_s, speed_mps = frame.stamp.time_s, frame.wheel_speed_mps
        others = {
            camera.name: monitor.update(frame.cameras.get(camera.name), time_s, speed_mps)
            for camera, monitor in zip(self._others, self._healths, strict=True)
        }
        return self._health.update(frame.cameras.get(self._camera), time_s, speed_mps), others

    def _detect_lanes(self, frame: SensorFrame, health: Health) -> LaneEstimate:
        if health.faults:  # the content of a faulty picture is not trusted
            return LaneEstimate(frame.stamp, None, None)
        yaw_rate_radps = frame.imu.gyro_radps[2]
        return self._lanes.update(frame.cameras[self._camera], frame.wheel_speed_mps, yaw_rate_radps)

    def _detect_objects(self, frame: SensorFrame, health: Health) -> Sequence[Detection]:
        if self._detect is None or health.faults:
            return ()
        return self._detect(frame.cameras[self._camera])

    def _detect_in_others(self, frame: SensorFrame, healths: Mapping[str, Health]) -> list[CameraDetections | None]:
        """Pictures and detections of the other cameras; None where a picture has a fault."""
        assert self._detect is not None or not self._others
        return [
            None
            if self._detect is None or healths[camera.name].faults
            else (frame.cameras[camera.name], self._detect(frame.cameras[camera.name]))
            for camera in self._others
        ]

    def _locate_objects_and_lights(
        self,
        frame: SensorFrame,
        ego: EgoState,
        lanes: LaneEstimate,
        detections: Sequence[Detection],
        health: Health,
        others: Sequence[CameraDetections | None],
    ) -> Found:
        """Road users and traffic lights, each from its oracle or from the pictures.

        Without usable pictures, the tracks are predicted.
        """
        image = frame.cameras.get(self._camera)
        truth = self._truth() if self._oracles else None
        if truth is not None and "detection" in self._oracles:
            objects = oracle_objects(truth, camera=None if image is None else image.camera)
        else:
            seen = self._objects.update(image, ego, frame.imu, lanes, detections, others)
            objects = along_lanes(seen.tracked, self._map)
        if truth is not None and "lights" in self._oracles:
            return objects, self._light_oracle.update(truth)
        ahead = list(compress(others, self._looks_ahead))
        return objects, self._lights.update(ego, detections, None if health.faults else image, ahead)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Measure the time of a stage; no decision depends on it."""
        start = time.perf_counter()
        yield
        self._stage_ms[name] = 1e3 * (time.perf_counter() - start)


def looks_ahead(camera: CameraModel) -> bool:
    """Whether a camera's yaw is small enough to read traffic lights ahead."""
    return abs(camera.yaw_rad) < AHEAD_MAX_RAD


def react_to_health(health: Health, plan: Plan, speed_mps: float, others: Mapping[str, Health] | None = None) -> Plan:
    """Adapt the plan to camera health: slower while the front camera cannot be trusted, a safe stop if that lasts.

    `others` is the health of the other cameras by name: the plan is limited to a moderate speed while one of them
    fails.
    """
    if health.response is Response.DRIVE:
        unwell = {name: one for name, one in (others or {}).items() if one.response is not Response.DRIVE}
        if not unwell:
            return plan
        told = "; ".join(f"{name} {one}" for name, one in unwell.items())
        return drive_cautiously(plan, speed_mps, f"camera {told}: slower")
    if health.response is Response.SLOW:
        return slow_down(plan, speed_mps, f"camera {health}: slowing down")
    return safe_stop(plan, speed_mps, f"camera {health}: safe stop")
