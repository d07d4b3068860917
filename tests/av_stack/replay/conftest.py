"""Recordings of one short drive: exact, and as a small one would be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import PICTURES, SETUP
from av_stack.recording.recorder import RECORDING
from av_stack.run import RECORD_EXACT, Options, run
from av_stack.world.spec import Address
from scenarios.model import TrafficTable, load_scenario
from tests.av_stack.replay.edited import changed, edited

SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Drives:
    """Paths of the recordings, and the number of their steps."""

    exact: Path
    small: Path
    steps: int


@pytest.fixture(scope="session")
def drives(city_server: Address, tmp_path_factory: pytest.TempPathFactory) -> Drives:
    changes = {"timeout_s": SECONDS, "traffic": TrafficTable(vehicles=4)}
    scenario = load_scenario("town_drive").model_copy(update=changes)
    folder = tmp_path_factory.mktemp("drives")
    figures = run(scenario, Options(city_server, out=folder / "exact", record=RECORD_EXACT)).figures
    assert figures["recording_dropped_steps"] == 0
    exact = folder / "exact" / RECORDING
    return Drives(exact, edited(exact, folder / "small.mcap", _without_pictures), figures["steps"])


def _without_pictures(topic: str, number: int, schema: bytes, data: bytes) -> tuple[bytes, bytes] | None:
    if topic.startswith(PICTURES):
        return None
    if topic == SETUP:
        return changed(DriveSetup, lambda setup: replace(setup, has_pictures=False))(number, schema, data)
    return schema, data
