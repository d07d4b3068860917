"""The data that viewers get of a drive, live or recorded: first the drive's own data, then every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from av_core.types import Rig, SensorFrame, Truth, VehicleParameters
from av_stack.agents.base import AgentStep
from scenarios.judging.judge import Progress


@dataclass(frozen=True, slots=True)
class ViewedDrive:
    """A drive before its first step; `roads` is the message of the recording's topic /map."""

    name: str
    agent: str
    roads: Mapping[str, Any]
    rig: Rig
    vehicle: VehicleParameters


@dataclass(frozen=True, slots=True)
class DriveStep:
    """One step of a drive, with the same data that the recording gets."""

    frame: SensorFrame
    step: AgentStep
    truth: Truth
    progress: Progress


class Viewer(Protocol):
    """Shows a running drive. The drive calls it, so no call may wait or raise: a viewer drops what it cannot show."""

    def begin(self, drive: ViewedDrive) -> None:
        """The world is loaded, and the drive begins."""
        ...

    def show(self, step: DriveStep) -> None:
        """One more step was driven."""
        ...

    def end(self, how: str) -> None:
        """The drive has ended, and its result is written."""
        ...
