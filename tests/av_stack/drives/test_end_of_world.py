"""A recorded world that ends before the drive does: the drive ends properly, with all its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mcap.reader import make_reader

from av_stack import run as runner
from av_stack.assembly import ORACLES
from av_stack.mission import world_spec
from av_stack.recording.recorder import RECORDING, RESULT
from av_stack.run import END_OF_WORLD, Options, run
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from scenarios.model import Scenario, load_scenario
from sim_configs.load import load_rig
from tests.contract.list_world import ListWorld, recorded

TICKS = 25


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario("town_drive")


@pytest.fixture(scope="module")
def recording(city_server: Address, scenario: Scenario) -> Iterator[ListWorld]:
    spec = world_spec(scenario, load_rig("compact"), "ClearNoon")
    with closing(CarlaWorld(city_server, spec)) as world:
        yield recorded(world, TICKS)


@pytest.mark.parametrize("ticks", [TICKS, 0])
def test_the_end_of_the_world_ends_the_drive(
    recording: ListWorld, scenario: Scenario, ticks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = recording.from_the_start(ticks)
    monkeypatch.setattr(runner, "open_world", lambda *_: world)
    options = Options(Address("127.0.0.1", 1), out=tmp_path, oracles=ORACLES)
    outcome = run(scenario, options)
    assert outcome.exit_status == 0
    assert outcome.figures["end"] == END_OF_WORLD
    assert outcome.figures["error"] is outcome.figures["recording_error"] is None
    assert outcome.figures["steps"] == len(world.commands) == ticks
    assert json.loads(json.dumps(outcome.figures)) == json.loads((tmp_path / RESULT).read_text())
    with (tmp_path / RECORDING).open("rb") as file:
        truths = [channel.topic for _, channel, _ in make_reader(file).iter_messages(topics=["/truth"])]
    assert len(truths) == ticks
