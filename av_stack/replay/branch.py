"""Branches a recorded drive: the same world up to a step, and today's stack from then on, in closed loop.

The simulator is deterministic, so the world is restored by driving again: the scenario runs from its start and the ego
obeys the recorded commands. The agent that drives from the branch on sees every step, so its state is that of a drive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from av_core.errors import ConfigError
from av_core.types import SensorFrame, Truth
from av_stack.agents.base import Agent, AgentStep
from av_stack.agents.factory import AgentChoice, choose_agent
from av_stack.agents.names import STACK
from av_stack.checks import check_out_folder, check_weights
from av_stack.faults.fault import SERVER_FAULTS
from av_stack.mission import world_spec
from av_stack.replay.branch_report import BranchReport
from av_stack.replay.divergence import Divergence, First
from av_stack.replay.recorded_drive import DrivenStep, RecordedDrive
from av_stack.replay.reenactment import (
    RIG,
    LedAgent,
    check_can_be_driven_again,
    check_out_is_elsewhere,
    check_weather_is_constant,
    check_world,
    own_weather,
    recorded_map,
)
from av_stack.results.drive_log import Outcome
from av_stack.run import Options, Setup, Watcher, check_oracles, needed_weights, run_loaded, weights_label
from av_stack.suite import fingerprint
from av_stack.world.carla.weather import weather_presets
from av_stack.world.spec import LateWeather
from scenarios.judging.judge import Judge
from sim_configs.load import StackConfig, load_stack, load_weather


@dataclass(frozen=True, slots=True)
class BranchOptions:
    """How to branch at `from_s`, s of the drive.

    An option that is None keeps the value of the recorded drive. The files of the new drive go to the folder `out`, if
    it is given.
    """

    from_s: float
    out: Path | None
    weather: str | None = None
    agent: str | None = None
    oracles: Sequence[str] | None = None
    weights: Path | None = None
    device: str = "cpu"
    agents: Path | None = None  # the folder with CARLA's own agents


@dataclass(frozen=True, slots=True)
class Branch:
    """A recorded drive and the options of its branch, loaded and checked; the branch begins at `frame`."""

    drive: RecordedDrive
    options: BranchOptions
    frame: int
    setup: Setup
    agent: str
    oracles: Sequence[str]
    notes: Sequence[str]


def load_branch(drive: RecordedDrive, options: BranchOptions) -> Branch:
    """Check everything that can be checked before a server starts.

    Raises ConfigError, and AgentError for an agent class that cannot be loaded.
    """
    there, scenario = drive.setup, drive.scenario
    frame = _branch_frame(drive, options.from_s)
    check_can_be_driven_again(drive, frame)
    agent = options.agent or there.agent
    choice = replace(choose_agent(agent, options.agents), from_frame=frame)
    if choice.uses_cameras and not there.rig.cameras:
        raise ConfigError(f"{drive.path}: the drive had no camera, and {agent} needs one")
    for option, value in (("--oracle", options.oracles), ("--weights", options.weights)):
        if value and agent != STACK:
            raise ConfigError(f"{option}: only the stack uses it, and the agent is {agent}")
    oracles = (there.oracles if options.oracles is None else options.oracles) if agent == STACK else ()
    check_oracles(oracles)
    check_weights(options.weights)
    check_out_folder(options.out)
    if options.out is not None:
        check_out_is_elsewhere(drive, options.out)
    stack = load_stack(scenario.ego.stack)
    notes = _notes(drive, options, choice, oracles, stack)
    return Branch(drive, options, frame, _setup(drive, choice, stack, options.weather, frame), agent, oracles, notes)


def branch(
    plan: Branch, watch: Watcher | None = None, abandon: Callable[[str, int], None] | None = None
) -> tuple[BranchReport, Outcome]:
    """Drive to the end of the scenario; returns the report and the new drive's outcome, which holds its error.

    `abandon` is that of `run.Options`.
    """
    drive, options = plan.drive, plan.options
    reenacted = _Reenactment(drive, plan.frame, plan.agent == drive.setup.agent)
    watchers = [watch] if watch is not None else []
    with recorded_map(drive) as maps:
        driven = Options(
            maps=maps,
            out=options.out,
            oracles=plan.oracles,
            weights=options.weights,
            device=options.device,
            agent=plan.agent,
            faults=[fault for fault in drive.faults if fault.kind not in SERVER_FAULTS],
            abandon=abandon,
        )
        outcome = run_loaded(drive.scenario, plan.setup, driven, [*watchers, reenacted.watch], reenacted.around)
    report = BranchReport(
        recording=str(drive.path),
        branch_s=drive.steps[plan.frame].stamp.time_s,
        recorded_until_s=drive.last.stamp.time_s,
        agent=plan.agent,
        weather=options.weather,
        restored_steps=reenacted.restored_steps,
        decided=reenacted.decided,
        divergence=reenacted.divergence,
        outcome_there=drive.verdict,
        outcome_now=outcome.figures,
        problem=reenacted.problem(outcome),
        notes=plan.notes,
    )
    return report, outcome


def _branch_frame(drive: RecordedDrive, from_s: float) -> int:
    """The first recorded frame at or after `from_s`."""
    frames = sorted(drive.steps)
    half_s = drive.setup.step_s / 2
    first_s, last_s = (drive.steps[frame].stamp.time_s for frame in (frames[0], frames[-1]))
    if not first_s - half_s <= from_s < last_s + half_s:
        raise ConfigError(f"--from {from_s:g}: {drive.path} holds {first_s:.2f} s to {last_s:.2f} s")
    return next(frame for frame in frames if drive.steps[frame].stamp.time_s > from_s - half_s)


def _setup(drive: RecordedDrive, agent: AgentChoice, stack: StackConfig, weather: str | None, frame: int) -> Setup:
    scenario, rig = drive.scenario, drive.setup.rig
    if weather is not None:
        check_weather_is_constant(drive)
    late = None if weather is None else LateWeather(frame + 1, load_weather(weather, weather_presets()))
    return Setup(agent, RIG, rig, stack, replace(world_spec(scenario, rig, own_weather(scenario)), late_weather=late))


def _notes(
    drive: RecordedDrive, options: BranchOptions, agent: AgentChoice, oracles: Sequence[str], stack: StackConfig
) -> list[str]:
    """Sentences for the report about all differences from the recorded drive, apart from the code."""
    there = drive.setup
    notes = fingerprint.differences(there.versions, fingerprint.version())
    if agent.name != there.agent:
        notes.append(f"agent: {there.agent} there, {agent.name} now")
    if agent.name == STACK:
        now = json.loads(stack.model_dump_json())
        notes += [f"configuration: {text}" for text in fingerprint.differences(drive.stack, now)]
        weights = weights_label(needed_weights(oracles, options.weights, options.device))
        pairs: Mapping[str, tuple[str, str]] = {
            "oracles": (", ".join(there.oracles), ", ".join(oracles)),
            "perception": (there.device, options.device),
            "detector": (there.weights, weights),
        }
        notes += [f"{name}: {one or 'none'} there, {other or 'none'} now" for name, (one, other) in pairs.items()
                  if one != other and there.agent == STACK]  # fmt: skip
    if drive.problem is not None:
        notes.append(drive.problem)
    return notes


@dataclass(slots=True)
class _Reenactment:
    """Leads a drive along a recorded one until the branch, and compares the two.

    `restored_steps` counts the steps, up to and with that of the branch, whose world equals the recorded one. `decided`
    is the first step before the branch in which today's stack would give another command; it is computed only if
    `is_same_agent`.
    """

    drive: RecordedDrive
    frame: int
    is_same_agent: bool
    restored_steps: int = 0
    decided: First | None = None
    divergence: Divergence = field(default_factory=Divergence)
    last_s: float = 0.0

    def around(self, agent: Agent) -> Agent:
        return LedAgent(agent, self.drive, self.frame)

    def watch(self, frame: SensorFrame, step: AgentStep, truth: Truth, _: Judge) -> None:
        """Compare one step. Raises NotReproducedError if the world differs from the recorded one before the branch."""
        number, self.last_s = frame.stamp.frame, frame.stamp.time_s
        there = self.drive.steps.get(number)
        if there is None:
            return
        now = DrivenStep.of(frame, step, truth)
        if number <= self.frame:
            check_world(self.drive, there, now)
            self.restored_steps += 1
        if number >= self.frame:
            self.divergence.add(there, now)
        elif self.is_same_agent and self.decided is None and step.result is not None:
            self.decided = First.of(there.stamp, "command", there.command, step.result.command)

    def problem(self, outcome: Outcome) -> str | None:
        """Why there is no branch, or why the drive ended with an error; None where all went well."""
        if outcome.figures["error"] is not None:
            return str(outcome.figures["error"])
        if self.restored_steps < self.frame:
            return f"{self.drive.path}: now the drive ends before the branch, at {self.last_s:.2f} s"
        return None
