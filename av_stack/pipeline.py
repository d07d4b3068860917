"""The whole program as one pipeline: a sensor frame in, a control command out. Start reading here.

cameras, radars, GNSS, IMU, wheels -> health -> lanes -> localization -> objects, lights -> scene
-> prediction -> plan -> control

`av_stack.assembly` chooses the stages.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from av_core.types import (
    ControlCommand,
    DriveState,
    EgoState,
    Image,
    LaneEstimate,
    Plan,
    Scene,
    SensorFrame,
    StepResult,
    VehicleLights,
)
from av_stack.supervisor import STOP_REQUESTED, choose_state, restrict
from control import Controller
from control.lights import choose_lights
from perception.daylight import Daylight
from perception.lanes.detector import LaneDetector
from perception.scene import assemble_scene
from perception.stages.detection import CameraDetector
from perception.stages.ego import EgoSource
from perception.stages.health import RigHealth, RigHealthMonitor
from perception.stages.lights import LightSource
from perception.stages.objects import ObjectSource
from perception.stages.observation import Observation
from planning import Planner, Predictor


@dataclass(frozen=True, slots=True)
class PerceptionStages:
    """The stages of perception in the order of the data.

    `front` is the name of the camera whose pictures show the lanes.
    """

    front: str
    health: RigHealthMonitor
    lanes: LaneDetector
    localizer: EgoSource
    detector: CameraDetector
    objects: ObjectSource
    lights: LightSource


@dataclass(frozen=True, slots=True)
class Stages(PerceptionStages):
    """All stages: those of perception, then prediction, planning, control and the lights."""

    predictor: Predictor
    planner: Planner
    controller: Controller
    daylight: Daylight


@dataclass(frozen=True, slots=True)
class Perceived:
    """The result of perception for one sensor frame; `frame` is this frame without untrusted radar sweeps."""

    frame: SensorFrame
    health: RigHealth
    scene: Scene


class PerceptionPipeline:
    """Perceives with `stages`; call `perceive` with every sensor frame in order."""

    def __init__(self, stages: PerceptionStages) -> None:
        self._seeing = stages
        self._stage_ms: dict[str, float] = {}
        self._begun = 0
        self._running: tuple[int, str] | None = None

    @property
    def running(self) -> tuple[int, str] | None:
        """(number of stages begun so far, name of the stage that runs now); None between two stages."""
        return self._running

    def begin(self, camera: str, bgr: Image) -> None:
        """Start the detector on a picture in the background, before `perceive` gets the frame with the same array.

        May be called from any thread, but it must return before that call of `perceive`.
        """
        self._seeing.detector.begin(camera, bgr)

    def perceive(self, frame: SensorFrame) -> Perceived:
        """Run the stages of perception on one sensor frame.

        If `begin` was called, the detector runs in parallel to the stages before "detection". So the measured time of
        this stage is only the rest of the detector's time.
        """
        stages = self._seeing
        self._stage_ms = {}
        for name, image in frame.cameras.items():
            self.begin(name, image.bgr)
        with self._timed("health"):
            health = stages.health.update(frame)
            frame = replace(frame, radars={name: frame.radars[name] for name in frame.radars if name in health.trusted})
        with self._timed("lanes"):
            lanes = self._detect_lanes(frame, health)
        with self._timed("localization"):
            ego = stages.localizer.update(frame, lanes)
            health = replace(health, others={**health.others, "gnss": stages.localizer.gnss})
        with self._timed("detection"):
            detections = stages.detector.update(frame, health.trusted)
        with self._timed("objects and lights"):
            seen = Observation(frame, ego, lanes, detections)
            objects = stages.objects.update(seen)
            lights = stages.lights.update(seen)
        return Perceived(frame, health, assemble_scene(ego, lanes, objects, lights))

    def _detect_lanes(self, frame: SensorFrame, health: RigHealth) -> LaneEstimate:
        if self._seeing.front not in health.trusted:
            return LaneEstimate(frame.stamp, None, None)
        image, yaw_rate_radps = frame.cameras[self._seeing.front], frame.imu.gyro_radps[2]
        return self._seeing.lanes.update(image, frame.wheel_speed_mps, yaw_rate_radps)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        """Measure the time of a stage; no decision depends on it."""
        start = time.perf_counter()
        self._begun += 1
        self._running = self._begun, name
        yield
        self._running = None
        self._stage_ms[name] = 1e3 * (time.perf_counter() - start)


class Pipeline(PerceptionPipeline):
    """Drives with `stages`, whose planner has a route; call `step` with every sensor frame in order."""

    def __init__(self, stages: Stages) -> None:
        super().__init__(stages)
        self._stages = stages
        self._is_stop_requested = False

    def request_stop(self) -> None:
        """From the next step on, brake to a stop in the lane, whatever the sensors say, and stand there."""
        self._is_stop_requested = True

    def step(self, frame: SensorFrame) -> StepResult:
        """Run all stages on one sensor frame: the estimated scene, the plan and the command."""
        stages, perceived = self._stages, self.perceive(frame)
        health, scene = perceived.health, perceived.scene
        with self._timed("prediction"):
            prediction = stages.predictor.predict(scene)
        with self._timed("planning"):
            planned = stages.planner.plan(scene, prediction)
            state, reason = self._choose_state(health, scene.ego)
            plan = restrict(planned, state, reason, scene.ego.speed_mps)
        with self._timed("control"):
            command = stages.controller.step(plan, scene.ego)
        with self._timed("lights"):
            command = replace(command, lights=self._choose_lights(perceived.frame, health, plan, command, state))
        return StepResult(frame.stamp, scene, prediction, plan, command, self._stage_ms, state, reason)

    def _choose_state(self, health: RigHealth, ego: EgoState) -> tuple[DriveState, str]:
        if self._is_stop_requested:
            return DriveState.STOP, STOP_REQUESTED
        return choose_state(health.front, health.others, position_sigma_m(ego))

    def _choose_lights(
        self, frame: SensorFrame, health: RigHealth, plan: Plan, command: ControlCommand, state: DriveState
    ) -> VehicleLights:
        front = self._stages.front
        bgr = frame.cameras[front].bgr if front in health.trusted else None
        is_clear = self._stages.daylight.update(bgr, frame.stamp.time_s) and not frame.is_raining
        return choose_lights(command.brake, plan.indicator, not is_clear, state is DriveState.STOP)


def position_sigma_m(ego: EgoState) -> float:
    """The largest standard deviation of the estimated position, m."""
    return float(np.sqrt(max(0.0, float(np.linalg.eigvalsh(ego.covariance[:2, :2])[-1]))))
