"""A drive that ends early, with its world or by another thread: its result and its recording end with one step."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from av_stack import run as runner
from av_stack.assembly import DETECTOR_ORACLES
from av_stack.ending import Ending
from av_stack.mission import world_spec
from av_stack.recording.recorder import RECORDING, RESULT
from av_stack.results.report import Statistics
from av_stack.run import END_OF_WORLD, RECORD_NONE, Options, run
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from scenarios.model import Scenario, load_scenario
from sim_configs.load import load_rig
from tests.av_stack.cli.test_bad_input import recorded_steps
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
    options = Options(Address("127.0.0.1", 1), out=tmp_path, oracles=DETECTOR_ORACLES)
    outcome = run(scenario, options)
    assert outcome.exit_status == 0
    assert outcome.figures["end"] == END_OF_WORLD
    assert outcome.figures["error"] is outcome.figures["recording_error"] is None
    assert outcome.figures["steps"] == len(world.commands) == ticks
    assert json.loads(json.dumps(outcome.figures)) == json.loads((tmp_path / RESULT).read_text())
    assert recorded_steps(tmp_path / RECORDING) == ticks


def test_a_drive_that_is_not_recorded_leaves_its_result_alone(
    recording: ListWorld, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "open_world", lambda *_: recording.from_the_start(3))
    (tmp_path / RECORDING).write_text("of an earlier drive")
    outcome = run(
        scenario, Options(Address("127.0.0.1", 1), out=tmp_path, oracles=DETECTOR_ORACLES, record=RECORD_NONE)
    )
    assert outcome.exit_status == 0
    assert outcome.figures["steps"] == 3
    assert [path.name for path in tmp_path.iterdir()] == [RESULT]


def test_a_drive_that_another_thread_ends_within_a_step(
    recording: ListWorld, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watchdog's thread does so when the server is lost."""
    updates: list[object] = []
    endings: list[Ending] = []
    enders: list[threading.Thread] = []
    update, begin = Statistics.update, Ending.begin

    def end_the_drive() -> None:
        endings[0].finish("error", "the server went away", 3)

    def update_and_end(statistics: Statistics, *values: object) -> None:
        update(statistics, *values)  # type: ignore[arg-type]
        updates.append(values)
        if len(updates) == 10:
            enders.append(threading.Thread(target=end_the_drive))
            enders[0].start()
            enders[0].join(0.5)

    def begin_and_keep(ending: Ending, *values: object) -> None:
        endings.append(ending)
        begin(ending, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "open_world", lambda *_: recording.from_the_start(TICKS))
    monkeypatch.setattr(Statistics, "update", update_and_end)
    monkeypatch.setattr(Ending, "begin", begin_and_keep)
    outcome = run(scenario, Options(Address("127.0.0.1", 1), out=tmp_path, oracles=DETECTOR_ORACLES))
    enders[0].join()
    assert outcome.figures["steps"] == recorded_steps(tmp_path / RECORDING) == 10
