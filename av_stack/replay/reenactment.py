"""Leads a drive along a recorded one: the scenario runs anew, and the ego obeys the recorded commands.

The simulator is deterministic, so the world develops as in the recorded drive; this is checked in every step.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from av_core.errors import AvStackError, ConfigError
from av_core.types import SensorFrame
from av_stack.agents.base import Agent, AgentStep
from av_stack.mission import world_spec
from av_stack.recording.exact.setup import EMBEDDED
from av_stack.replay.divergence import First
from av_stack.replay.recorded_drive import DrivenStep, RecordedDrive
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.weather import weather_presets
from scenarios.model import Scenario
from scenarios.weather_course import start_weather
from sim_configs.load import load_weather

RIG = "recorded"
"""Name of the rig in the result: the rig is that of the recording."""

AUTOPILOT = "autopilot"


class NotReproducedError(AvStackError):
    """The world did not develop as in the recorded drive."""


def check_can_be_driven_again(drive: RecordedDrive, frame: int) -> None:
    """Raise ConfigError if the recording does not hold all that is needed to repeat the drive up to `frame`.

    A recorded map name that is a path is refused, too, so that a recording cannot name other files.
    """
    path, there = drive.path, drive.setup
    if there.server not in ("", EMBEDDED):
        raise ConfigError(
            f"{path}: it drove on the server at {there.server}; only drives on an embedded server that av-stack "
            "started itself can be repeated exactly"
        )
    if there.step_s != (step_s := world_spec(drive.scenario, there.rig, "ClearNoon").step_s):
        raise ConfigError(f"{path}: its steps are {there.step_s:g} s long, those of this version {step_s:g} s")
    if Path(drive.scenario.map).name != drive.scenario.map:
        raise ConfigError(f"{path}: the recorded scenario has no map, but {drive.scenario.map!r:.80}")
    missing = sorted(set(range(1, frame + 1)) - drive.steps.keys())
    if missing:
        raise ConfigError(
            f"{path}: {len(missing)} steps before the branch were not recorded, the first is {missing[0]}"
        )
    if any(drive.steps[number].command is None for number in range(1, frame)) or there.agent == AUTOPILOT:
        raise ConfigError(f"{path}: the simulator drove ({there.agent}), so its commands cannot be given again")


def check_out_is_elsewhere(drive: RecordedDrive, out: Path) -> None:
    """Raise ConfigError where the files of the new drive would replace the recorded ones."""
    if out.resolve() == drive.path.resolve().parent:
        raise ConfigError(f"--out {out}: the recorded drive is there; expected another folder")


def check_weather_is_constant(drive: RecordedDrive) -> None:
    """Raise ConfigError if the scenario itself changes the weather: then no other weather can replace it."""
    if len(drive.scenario.weather_keyframes) > 1:
        raise ConfigError(f"--weather: the weather of {drive.path} changes along its route")


def own_weather(scenario: Scenario) -> str | Mapping[str, float]:
    """The weather at the start of the drive. Raises ConfigError where its file is gone."""
    keyframes = scenario.weather_keyframes
    return start_weather(keyframes) if keyframes else load_weather(scenario.weather, weather_presets())


@contextmanager
def recorded_map(drive: RecordedDrive) -> Iterator[Path | None]:
    """A folder with the recorded map; None where the embedded server has the same map itself."""
    name, content = drive.scenario.map.removesuffix("_Opt"), drive.setup.map_text.encode()
    own = embedded_map_files().get(name)
    if own is not None and own.read_bytes() == content:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="av-stack-map-") as folder:
        (Path(folder) / f"{name}.xodr").write_bytes(content)
        yield Path(folder)


def check_world(drive: RecordedDrive, there: DrivenStep, now: DrivenStep) -> None:
    """Raise NotReproducedError if the truth of a step differs from the recorded truth in any bit."""
    if there.packed_truth == now.packed_truth:
        return
    first = First.of(now.stamp, "truth", there.truth, now.truth)
    found = first.difference if first is not None else None
    what = "its bits" if found is None else f"{found.field} was {found.there}, and is {found.now} now"
    raise NotReproducedError(
        f"{drive.path}: not the recorded world at {now.stamp.time_s:.2f} s: {what}; a world is repeated to the bit "
        "only by the same version of the server and its libraries on the same kind of processor, never by another "
        "CARLA server"
    )


@dataclass(frozen=True, slots=True)
class LedAgent:
    """Gives the recorded commands before `frame`, and the commands of `agent` from `frame` on.

    The agent sees every frame. With `has_own_lights` the vehicle's lights are always those of the agent, because lights
    do not affect the motion.
    """

    agent: Agent
    drive: RecordedDrive
    frame: int
    has_own_lights: bool = False

    def step(self, frame: SensorFrame) -> AgentStep:
        decided = self.agent.step(frame)
        if frame.stamp.frame >= self.frame:
            return decided
        command = self.drive.steps[frame.stamp.frame].command
        if self.has_own_lights and command is not None and decided.command is not None:
            command = replace(command, lights=decided.command.lights)
        return replace(decided, command=command)

    def close(self) -> None:
        self.agent.close()
