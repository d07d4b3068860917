"""Recordings of one short drive: exact, and small."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from av_stack.recording.recorder import RECORDING
from av_stack.run import RECORD_EXACT, RECORD_SMALL, Options, run
from av_stack.world.spec import Address
from scenarios.model import TrafficTable, load_scenario

SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Drives:
    """Paths of the recordings, and the number of their steps."""

    exact: Path
    small: Path
    steps: int


@pytest.fixture(scope="session")
def drives(city_server: Address, tmp_path_factory: pytest.TempPathFactory) -> Drives:
    changes = {"timeout_s": SECONDS, "traffic": TrafficTable(vehicles=6)}
    scenario = load_scenario("town_drive").model_copy(update=changes)
    folder = tmp_path_factory.mktemp("drives")
    figures = {}
    for record in (RECORD_EXACT, RECORD_SMALL):
        figures[record] = run(scenario, Options(city_server, out=folder / record, record=record)).figures
        assert figures[record]["recording_dropped_steps"] == 0
    steps = figures[RECORD_EXACT]["steps"]
    assert figures[RECORD_SMALL]["steps"] == steps
    return Drives(folder / RECORD_EXACT / RECORDING, folder / RECORD_SMALL / RECORDING, steps)
