"""Replays one recorded drive: runs today's stack on the recorded inputs, open loop, and compares its decisions."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from av_core.errors import ConfigError
from av_core.types import CameraImage, ConstraintKind, Detection, SensorFrame, StepResult
from av_stack.agents.base import AgentStep
from av_stack.agents.names import STACK
from av_stack.assembly import Settings, build_stages
from av_stack.pipeline import Pipeline
from av_stack.recording.exact.packing import PackingError, Unpacker, packer
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import without_times
from av_stack.replay.ahead import DetectedAhead
from av_stack.replay.compare import Comparison, Rules
from av_stack.replay.modules import MODULES, SEEING, Memory, outputs, replay_pipeline
from av_stack.replay.reference import ReferenceWriter, read_reference
from av_stack.replay.report import ReplayReport
from av_stack.run import needed_weights, weights_label
from av_stack.suite.fingerprint import differences, version
from av_stack.world.factory import open_recorded
from av_stack.world.replay import ReplayWorld
from perception.device import build_backend
from planning import Route, continued
from planning.config import PlanningConfig
from scenarios.ego_route import ego_route
from scenarios.model import RouteTable
from sim_configs.load import StackConfig, load_stack

Watch = Callable[[float], None]
"""Function that is called after every step with the number of seconds of the drive that have been replayed."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay.

    * `modules`: the modules to run; the others return their recorded results. Without names, all modules run whose
      inputs were recorded.
    * `reference`: a file to compare with, instead of the recording. With `is_update` it is written instead.
    """

    modules: Sequence[str] = ()
    is_compared: bool = False
    reference: Path | None = None
    is_update: bool = False
    rules: Rules = field(default_factory=Rules)
    weights: Path | None = None
    device: str = "cpu"


def replay(path: Path, options: ReplayOptions, watch: Watch | None = None) -> ReplayReport:
    """Replay the recording `path` to its end, or as far as it can be read.

    Raises ConfigError if it cannot be replayed at all, or not with these options.
    """
    with closing(open_recorded(path)) as world, ExitStack() as closers:
        modules, notes = _choose(world, options)
        stack, changes = _stack_now(world)
        if not _needs_pictures(modules, world.setup):
            world.leave_out_pictures()
        memory = Memory()
        pipeline = _pipeline(world, stack, modules, memory, options)
        judge = _Judge(world, modules, options)
        writer = None
        if options.is_update and options.reference is not None:
            writer = closers.enter_context(ReferenceWriter(options.reference))
        spent_ms: dict[str, float] = defaultdict(float)
        steps, first_s, last_s, begin = 0, 0.0, 0.0, time.perf_counter()
        while (frame := world.tick()) is not None:
            memory.result = judge.recorded(modules)
            result = _decided(pipeline.step(frame), memory.result)
            packed = packer(AgentStep).pack(without_times(AgentStep(result.command, result)))
            judge.compare(frame, packed, result)
            if writer is not None:
                writer.write(packed, frame.stamp.time_s)
            for name, ms in result.stage_ms.items():
                spent_ms[name] += ms
            first_s = frame.stamp.time_s if steps == 0 else first_s
            steps, last_s = steps + 1, frame.stamp.time_s
            if watch is not None:
                watch(last_s)
        took_s = time.perf_counter() - begin
        return ReplayReport(
            recording=str(path),
            compared_with=judge.compared_with,
            modules=tuple(modules),
            steps=steps,
            first_s=first_s,
            last_s=last_s,
            step_s=world.setup.step_s,
            took_s=took_s,
            stage_ms={name: ms / steps for name, ms in spent_ms.items()},
            comparison=judge.comparison,
            byte_equal_steps=judge.byte_equal_steps,
            problem=world.problem,
            notes=(*notes, *changes, *_notes_at_the_end(world, judge)),
            versions_there=dict(world.setup.versions),
            versions_now=version(),
        )


def _choose(world: ReplayWorld, options: ReplayOptions) -> tuple[Sequence[str], list[str]]:
    """(the modules that run, notes for the report about this choice)."""
    setup, has_pictures = world.setup, world.reader.has_pictures
    if not setup.rig.cameras:
        raise ConfigError(f"{world.reader.path}: cannot be replayed: the drive had no camera")
    blind = [] if has_pictures else [name for name in SEEING if name in _seeing(setup)]
    if asked := [name for name in blind if name in options.modules]:
        raise ConfigError(
            f"{world.reader.path}: {', '.join(asked)} cannot be replayed without lossless pictures; "
            "record the drive with --record exact"
        )
    modules = [name for name in MODULES if name in (options.modules or MODULES) and name not in blind]
    if setup.agent != STACK and set(modules) != set(MODULES):
        raise ConfigError(
            f"{world.reader.path}: {setup.agent} drove, so no answers of the stack's modules are recorded: "
            "all modules have to run, on lossless pictures"
        )
    notes = []
    if blind and not options.modules:
        notes.append(f"no lossless pictures: {', '.join(blind)} answer as recorded")
    if not has_pictures and "planning" in modules:
        notes.append("no lossless pictures: plans in steps with a camera fault are not compared")
    if setup.device != options.device:
        notes.append(f"perception ran on {setup.device} there, on {options.device} now")
    if SEEING[1] in modules or SEEING[2] in modules:
        weights = needed_weights(setup.oracles, options.weights, options.device)
        if weights_label(weights) != setup.weights:
            notes.append(f"detector {setup.weights or 'none'} there, {weights_label(weights) or 'none'} now")
    return modules, notes


def _decided(result: StepResult, recorded: StepResult | None) -> StepResult:
    """The result; if not all modules ran, with the recorded lights of the vehicle, which depend on all modules."""
    if recorded is None:
        return result
    return replace(result, command=replace(result.command, lights=recorded.command.lights))


def _needs_pictures(modules: Sequence[str], setup: DriveSetup) -> bool:
    """Whether one of the modules uses pictures, or depends on the health of the cameras."""
    return "planning" in modules or bool(set(modules) & _seeing(setup))


def _from_truth(setup: DriveSetup) -> set[str]:
    """The modules that an oracle replaces; it uses the recorded truth."""
    of_oracle = {"detection": "objects", "lights": "lights", "localization": "localization"}
    return {of_oracle[name] for name in setup.oracles if name in of_oracle}


def _seeing(setup: DriveSetup) -> set[str]:
    """The modules that need pictures.

    An oracle of the lights needs none. An oracle of the objects does, because it says which road users are in the front
    camera's picture.
    """
    return set(SEEING) - (_from_truth(setup) & {"lights"})


def _pipeline(
    world: ReplayWorld, stack: StackConfig, modules: Sequence[str], memory: Memory, options: ReplayOptions
) -> Pipeline:
    setup, cameras = world.setup, world.setup.rig.cameras
    route = _route(world, stack.planning)
    detects = set(modules) & {"objects", "lights"} - _from_truth(setup)
    weights = needed_weights(setup.oracles, options.weights, options.device) if detects else None
    backend = build_backend(cameras, weights, options.device)
    if not detects:
        # the detector is not run, but must exist: the planner needs to know which cameras read the lights
        backend = replace(backend, detect=_nothing)
    elif options.device == "cpu" and backend.detect is not None:  # on a GPU, lanes and detection are one graph
        ahead = DetectedAhead(backend.detect)
        world.look_ahead(ahead.look)
        backend = replace(backend, detect=ahead.detect, begin=None)
    settings = Settings(stack.planning, stack.control, cameras, setup.rig.radars)
    stages = build_stages(world.lane_graph, world.vehicle, route, settings, world.truth, setup.oracles, backend)
    pipeline = replay_pipeline(stages, modules, memory, has_pictures=world.reader.has_pictures)
    world.show_pictures(pipeline.begin)
    return pipeline


def _nothing(_: CameraImage) -> tuple[Detection, ...]:
    """A detector without detections, for replays in which no running module uses them."""
    return ()


def _stack_now(world: ReplayWorld) -> tuple[StackConfig, list[str]]:
    """(today's content of the configuration that the scenario names, notes on how it differs from the recorded one).

    Where no configuration of that name can be loaded, it is the recorded one.
    """
    try:
        recorded = StackConfig.model_validate_json(world.setup.stack)
    except ValidationError as error:
        raise ConfigError(f"{world.reader.path}: {_told(error, 'stack configuration')}") from None
    try:
        now = load_stack(json.loads(world.setup.scenario)["ego"]["stack"])
    except ConfigError as error:
        return recorded, [f"configuration as recorded: {error}"]
    except (ValueError, LookupError, TypeError):
        return recorded, ["configuration as recorded: the scenario names none"]
    found = differences(json.loads(world.setup.stack), json.loads(now.model_dump_json()))
    return now, [f"configuration: {text}" for text in found]


def _route(world: ReplayWorld, config: PlanningConfig) -> Route:
    try:
        scenario = json.loads(world.setup.scenario)
        table = RouteTable.model_validate(scenario["route"])
        passes_end = scenario.get("route_id") is not None
    except ValidationError as error:
        raise ConfigError(f"{world.reader.path}: {_told(error, 'route')}") from None
    except (ValueError, LookupError, TypeError):
        raise ConfigError(f"{world.reader.path}: the recorded scenario has no route") from None
    route = ego_route(world.lane_graph, table, config)
    return continued(world.lane_graph, route, config.route) if passes_end else route


def _told(error: ValidationError, what: str) -> str:
    first = error.errors()[0]
    return f"the recorded {what} does not fit this version: {'.'.join(map(str, first['loc']))}: {first['msg']}"


def _notes_at_the_end(world: ReplayWorld, judge: _Judge) -> list[str]:
    notes = []
    if world.reader.missing_steps:
        notes.append(f"the recording lacks {world.reader.missing_steps} steps, so later answers may differ")
    if world.reader.is_cut_off:
        notes.append("the recording was cut off before the end of its drive")
    if judge.unknown_steps:
        notes.append(f"{judge.unknown_steps} steps are not in {judge.compared_with}")
    return notes


class _Judge:
    """Compares the recorded decisions with those of the replay."""

    def __init__(self, world: ReplayWorld, modules: Sequence[str], options: ReplayOptions) -> None:
        self.compared_with = ""
        self.comparison: Comparison | None = None
        self.byte_equal_steps = self.unknown_steps = 0
        self._world = world
        self._is_blind = not world.reader.has_pictures
        self._reference: Mapping[int, bytes] | None = None
        path = world.reader.path
        try:
            self._recorded: Unpacker[AgentStep] = world.reader.steps_unpacker()
        except PackingError as error:
            raise ConfigError(f"{path}: {error}") from None
        self._unpacker = self._recorded
        if options.is_update or not options.is_compared:
            return
        if options.reference is not None:
            self._reference, self._unpacker = read_reference(options.reference)
        elif world.setup.agent != STACK:
            raise ConfigError(f"{path}: {world.setup.agent} drove, so there is nothing to compare with")
        self.compared_with = str(options.reference or path)
        rules = options.rules
        self.comparison = Comparison(Rules(rules.ignored, rules.tolerances, outputs(modules)))

    def recorded(self, modules: Sequence[str]) -> StepResult | None:
        """The recorded result of the world's tick; None if all modules run, so that none needs it."""
        tick = self._world.recorded
        if tick is None or set(modules) == set(MODULES):
            return None
        return self._recorded.unpack(tick.step).result

    def compare(self, frame: SensorFrame, packed: bytes, now: StepResult) -> None:
        """Compare the result `now` of a step with the recorded one; `packed` is the same step packed."""
        tick = self._world.recorded
        if self.comparison is None or tick is None:
            return
        known = tick.step if self._reference is None else self._reference.get(frame.stamp.frame)
        if known is None:
            self.unknown_steps += 1
        elif known == packed:
            self.byte_equal_steps += 1
            self.comparison.add_equal()
        else:
            there = self._unpacker.unpack(known).result
            if there is None:
                self.unknown_steps += 1
                return
            self.comparison.add(there, now, _not_compared(there, is_blind=self._is_blind))


def _not_compared(there: StepResult, *, is_blind: bool) -> tuple[str, ...]:
    """The fields of a recorded result that cannot be compared: earlier versions recorded no decision."""
    if is_blind and _has_camera_fault(there):
        return ("plan",)
    return ("plan.decision",) if there.plan.decision is None else ()


def _has_camera_fault(result: StepResult) -> bool:
    constraint = result.plan.constraint
    return constraint is not None and constraint.kind.counted_as is ConstraintKind.CAMERA
