"""Reads a recorded drive into memory: its scenario, and the truth, measurements and command of every step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from av_core.config import validate
from av_core.errors import ConfigError
from av_core.types import ControlCommand, SensorFrame, Stamp, Truth
from av_stack.agents.base import AgentStep
from av_stack.faults.fault import Fault, parse_faults
from av_stack.recording.exact.packing import PackingError, packer
from av_stack.recording.exact.reader import DriveReader
from av_stack.recording.exact.setup import DriveSetup
from scenarios.model import Scenario


@dataclass(frozen=True, slots=True)
class DrivenStep:
    """One step of a drive: the truth, the sensor frame without pictures, and the command that the ego obeyed."""

    truth: Truth
    frame: SensorFrame
    command: ControlCommand | None

    @classmethod
    def of(cls, frame: SensorFrame, step: AgentStep, truth: Truth) -> DrivenStep:
        """The step without its pictures and without the agent's other results."""
        return cls(truth, replace(frame, cameras={}), step.applied)

    @property
    def stamp(self) -> Stamp:
        return self.truth.stamp

    @property
    def packed_truth(self) -> bytes:
        return packer(Truth).pack(self.truth)

    @property
    def packed_frame(self) -> bytes:
        return packer(SensorFrame).pack(self.frame)


@dataclass(frozen=True, slots=True)
class RecordedDrive:
    """A recording in memory, without pictures.

    * `steps`: the recorded steps by frame number.
    * `stack`: the stack's configuration.
    * `faults`: the faults that were injected into the drive.
    * `verdict`: the end of the drive and its scores; empty if the drive was cut off.
    * `problem`: why the recording could not be read to its end; None if it could.
    """

    path: Path
    setup: DriveSetup
    scenario: Scenario
    stack: Mapping[str, Any]
    steps: Mapping[int, DrivenStep]
    faults: Sequence[Fault]
    verdict: Mapping[str, Any]
    problem: str | None

    @property
    def last(self) -> DrivenStep:
        return self.steps[max(self.steps)]


def read_drive(path: Path) -> RecordedDrive:
    """The drive in the recording `path`. Raises ConfigError where it cannot be read, or holds no step."""
    with closing(DriveReader(path)) as reader:
        reader.has_pictures = False
        scenario = _scenario(path, reader.setup)
        stack = _values(path, reader.setup.stack, "stack configuration")
        steps = {}
        try:
            unpacker = reader.steps_unpacker()
            for tick in reader.ticks():
                steps[tick.frame.stamp.frame] = DrivenStep.of(tick.frame, unpacker.unpack(tick.step), tick.truth)
        except PackingError as error:
            raise ConfigError(f"{path}: {error}") from None
        if not steps:
            raise ConfigError(reader.problem or f"{path}: holds no step")
        faults = parse_faults(reader.faults)
        return RecordedDrive(path, reader.setup, scenario, stack, steps, faults, reader.verdict, reader.problem)


def _scenario(path: Path, setup: DriveSetup) -> Scenario:
    values = _values(path, setup.scenario, "scenario")
    if values.get("weather_keyframes"):
        values.pop("weather", None)  # a scenario must not have both a weather and keyframes
    return validate(values, Scenario, f"{path}: the recorded scenario does not fit this version")


def _values(path: Path, text: str, what: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: the recorded {what} cannot be read")
    return values
