"""Repeats a recorded drive in another weather, with the recorded commands, to compare the results of perception.

Weather has no effect on motion, so the world equals the recorded one in both weathers; only the pictures differ.
Perception runs in both drives. Its results are compared with the truth, and pairwise with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from av_core.errors import ConfigError
from av_core.types import CameraModel, SensorFrame, Truth
from av_stack.agents.base import Agent, AgentStep
from av_stack.agents.factory import choose_agent
from av_stack.agents.names import STACK
from av_stack.checks import check_out_folder, check_weights
from av_stack.mission import world_spec
from av_stack.replay.perception_scores import StepScore, score_step
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
from av_stack.replay.weather_report import WeatherReport
from av_stack.results.drive_log import Outcome
from av_stack.run import RECORD_NONE, Options, Setup, Watcher, run_loaded
from av_stack.suite import fingerprint
from av_stack.world.carla.map import lane_graph_of_text
from av_stack.world.carla.weather import weather_presets
from perception.map_index import MapIndex
from scenarios.judging.judge import Judge
from scenarios.model import Scenario
from sim_configs.load import load_stack, load_weather


@dataclass(frozen=True, slots=True)
class WeatherOptions:
    """The other weather, and the folder for the files of the drive in it."""

    weather: str
    out: Path
    weights: Path | None = None
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class OtherWeather:
    """A recorded drive and another weather for it, loaded and checked."""

    drive: RecordedDrive
    options: WeatherOptions
    weather: str | Mapping[str, float]


def load_other_weather(drive: RecordedDrive, options: WeatherOptions) -> OtherWeather:
    """Check everything that can be checked before a server starts. Raises ConfigError."""
    check_can_be_driven_again(drive, max(drive.steps))
    check_weather_is_constant(drive)
    if not drive.setup.rig.cameras:
        raise ConfigError(f"{drive.path}: the drive had no camera, which could see the weather")
    if drive.scenario.handling != "carla":
        raise ConfigError(
            f"--weather: with handling: {drive.scenario.handling} the weather changes the grip of the tyres, so that "
            "the recorded commands lead elsewhere; --from TIME drives on in another weather"
        )
    check_weights(options.weights)
    check_out_folder(options.out)
    check_out_is_elsewhere(drive, options.out)
    return OtherWeather(drive, options, load_weather(options.weather, weather_presets()))


def compare_weathers(
    plan: OtherWeather, watch: Watcher | None = None, abandon: Callable[[str, int], None] | None = None
) -> tuple[WeatherReport, Outcome]:
    """Drive in the recorded weather, then in the other; returns the report and the outcome of the last drive.

    Only the second drive leaves files. `abandon` is that of `run.Options`.
    """
    drive, options = plan.drive, plan.options
    other = drive.scenario.model_copy(update={"weather": options.weather, "weather_keyframes": ()})
    watchers = [watch] if watch is not None else []
    driven = Options(weights=options.weights, device=options.device, abandon=abandon)
    there, outcome = look_again(
        drive, drive.scenario, own_weather(drive.scenario), replace(driven, record=RECORD_NONE), watchers
    )
    now: list[StepScore] = []
    if outcome.figures["error"] is None:
        now, outcome = look_again(drive, other, plan.weather, replace(driven, out=options.out), watchers)
    error = outcome.figures["error"]
    notes = list(fingerprint.differences(drive.setup.versions, fingerprint.version()))
    if drive.setup.oracles and not drive.setup.rig.radars:
        notes.append("the recorded drive had oracles and no radars, so there are none")
    report = WeatherReport(
        recording=str(drive.path),
        weather_there=drive.scenario.weather_label,
        weather_now=options.weather,
        there=there,
        now=now,
        problem=None if error is None else str(error),
        notes=[*notes, *([drive.problem] if drive.problem is not None else [])],
    )
    return report, outcome


def look_again(
    drive: RecordedDrive,
    scenario: Scenario,
    weather: str | Mapping[str, float],
    options: Options,
    watchers: Sequence[Watcher] = (),
) -> tuple[list[StepScore], Outcome]:
    """Repeat the drive in `weather` with the recorded commands; returns the scores of perception in each recorded step.

    `scenario` is the recorded one, except that its name and its weather may differ.
    """
    index = MapIndex(lane_graph_of_text(drive.setup.map_text, drive.setup.map_name))
    looks = _Looks(drive, drive.setup.rig.cameras[0], index)
    with recorded_map(drive) as maps:
        options = replace(options, maps=maps)
        outcome = run_loaded(scenario, _setup(drive, weather), options, [*watchers, looks.watch], looks.around)
    return looks.scores, outcome


def _setup(drive: RecordedDrive, weather: str | Mapping[str, float]) -> Setup:
    rig = drive.setup.rig
    spec = world_spec(drive.scenario, rig, weather)
    return Setup(choose_agent(STACK), RIG, rig, load_stack(drive.scenario.ego.stack), spec)


@dataclass(slots=True)
class _Looks:
    """Leads one of the drives, and scores perception.

    Raises NotReproducedError if the world differs from the recorded one.
    """

    drive: RecordedDrive
    camera: CameraModel
    index: MapIndex
    scores: list[StepScore] = field(default_factory=list)

    def around(self, agent: Agent) -> Agent:
        return LedAgent(agent, self.drive, max(self.drive.steps) + 1, has_own_lights=True)

    def watch(self, frame: SensorFrame, step: AgentStep, truth: Truth, _: Judge) -> None:
        there = self.drive.steps.get(frame.stamp.frame)
        if there is None or step.result is None:
            return
        check_world(self.drive, there, DrivenStep.of(frame, step, truth))
        self.scores.append(score_step(truth, step.result.scene, self.camera, self.index))
