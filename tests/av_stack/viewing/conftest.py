"""A short real drive, as a viewer got it while it ran and as its recording holds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from av_stack.recording.recorder import RECORDING
from av_stack.run import Options, run
from av_stack.viewing.viewer import DriveStep, ViewedDrive
from av_stack.world.spec import Address
from scenarios.model import load_scenario

DRIVE_S = 2.0


class Memory:
    """A viewer that keeps what it gets."""

    def __init__(self) -> None:
        self.drives: list[ViewedDrive] = []
        self.steps: list[DriveStep] = []
        self.ends: list[str] = []

    def begin(self, drive: ViewedDrive) -> None:
        self.drives.append(drive)

    def show(self, step: DriveStep) -> None:
        self.steps.append(step)

    def end(self, how: str) -> None:
        self.ends.append(how)


@dataclass(frozen=True)
class ShortDrive:
    seen: Memory
    recording: Path


@pytest.fixture(scope="session")
def short_drive(city_server: Address, tmp_path_factory: pytest.TempPathFactory) -> ShortDrive:
    folder, seen = tmp_path_factory.mktemp("short_drive"), Memory()
    scenario = load_scenario("parked_car").model_copy(update={"timeout_s": DRIVE_S})
    run(scenario, Options(city_server, out=folder, oracles=("detection", "lights"), rig="compact", viewers=(seen,)))
    return ShortDrive(seen, folder / RECORDING)
