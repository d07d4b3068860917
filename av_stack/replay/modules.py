"""The modules that a replay can run, and the stages that return recorded results instead of the other modules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from av_core.types import (
    CameraModel,
    ControlCommand,
    EgoState,
    LaneEstimate,
    Plan,
    Prediction,
    Scene,
    SensorFrame,
    StepResult,
    TrackedObject,
    TrafficLightView,
)
from av_stack.pipeline import Pipeline, Stages
from perception.health.monitor import WELL, Health
from perception.stages.health import RigHealth, RigHealthMonitor
from perception.stages.observation import Observation

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "lanes": ("scene.lanes",),
    "localization": ("scene.ego",),
    "objects": ("scene.objects",),
    "lights": ("scene.lights",),
    "prediction": ("prediction",),
    "planning": ("plan",),
    "control": ("command.throttle", "command.brake", "command.steer"),
}
"""For each module, the fields of `StepResult` that it decides. The vehicle's lights depend on all modules."""

MODULES = tuple(OUTPUTS)
SEEING = ("lanes", "objects", "lights")
"""The modules that need pictures."""


def outputs(modules: Collection[str]) -> tuple[str, ...]:
    """The fields that `modules` decide; empty for all fields, where these are all modules."""
    if set(modules) == set(MODULES):
        return ()
    return tuple(field for module in MODULES if module in modules for field in OUTPUTS[module])


@dataclass(slots=True)
class Memory:
    """The recorded results of the tick that is replayed now."""

    result: StepResult | None = None

    @property
    def now(self) -> StepResult:
        assert self.result is not None
        return self.result


def replay_pipeline(stages: Stages, modules: Collection[str], memory: Memory, *, has_pictures: bool) -> Pipeline:
    """The pipeline of `stages`, in which all modules except `modules` return their recorded results from `memory`.

    The health of the sensors has an effect only if the planner is among `modules`: a recorded plan was already changed
    for it.
    """
    answers = _Recorded(memory)
    changes: dict[str, Any] = {}
    if "localization" not in modules:
        changes["localizer"] = answers.ego
    if "objects" not in modules:
        changes["objects"] = answers.objects
    if "lights" not in modules:
        changes["lights"] = answers.lights
    if "prediction" not in modules:
        changes["predictor"] = answers
    if "planning" not in modules:
        changes["planner"] = answers
    if "control" not in modules:
        changes["controller"] = answers
    if not has_pictures:
        changes["health"] = _Blind()
    elif "planning" not in modules:
        changes["health"] = _Unconcerned(stages.health)
    stages = replace(stages, **changes)
    return Pipeline(stages) if "lanes" in modules else _WithRecordedLanes(stages, memory)


class _WithRecordedLanes(Pipeline):
    """A pipeline with the recorded lanes, even if the front camera is not trusted or the replay has no pictures."""

    def __init__(self, stages: Stages, memory: Memory) -> None:
        super().__init__(stages)
        self._memory = memory

    def _detect_lanes(self, frame: SensorFrame, health: RigHealth) -> LaneEstimate:
        return self._memory.now.scene.lanes


class _Recorded:
    """Returns recorded results; it has the method of each stage that it replaces."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.ego, self.objects, self.lights = _RecordedEgo(memory), _RecordedObjects(memory), _RecordedLights(memory)

    def predict(self, scene: Scene) -> Prediction:
        return self._memory.now.prediction

    def plan(self, scene: Scene, prediction: Prediction) -> Plan:
        return self._memory.now.plan

    def step(self, plan: Plan, ego: EgoState) -> ControlCommand:
        return self._memory.now.command


@dataclass(frozen=True, slots=True)
class _RecordedEgo:
    memory: Memory

    @property
    def gnss(self) -> Health:
        return WELL

    def update(self, *_: Any) -> EgoState:
        return self.memory.now.scene.ego


@dataclass(frozen=True, slots=True)
class _RecordedObjects:
    memory: Memory
    cameras: Sequence[CameraModel] = ()

    def update(self, seen: Observation) -> Sequence[TrackedObject]:
        return self.memory.now.scene.objects


@dataclass(frozen=True, slots=True)
class _RecordedLights:
    memory: Memory
    cameras: Sequence[CameraModel] = ()

    def update(self, seen: Observation) -> Mapping[str, TrafficLightView]:
        return self.memory.now.scene.lights


class _Blind:
    """Stage for the health in a replay without pictures: no camera is trusted, but the ego does not slow down."""

    def update(self, frame: SensorFrame) -> RigHealth:
        return RigHealth(Health((), 1.0, 0.0), {}, frozenset())


class _Unconcerned:
    """Stage for the health that says which pictures are trusted, but never restricts the drive."""

    def __init__(self, monitor: RigHealthMonitor) -> None:
        self._monitor = monitor

    def update(self, frame: SensorFrame) -> RigHealth:
        return replace(_Blind().update(frame), trusted=self._monitor.update(frame).trusted)
