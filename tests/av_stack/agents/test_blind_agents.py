"""The agents that look at nothing: they render nothing, end with a verdict, and leave a recording without a video."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcap.reader import make_reader

from av_stack.recording.recorder import RECORDING, RESULT, VIDEO
from av_stack.results.drive_log import Outcome
from av_stack.results.report import table
from av_stack.run import Options, run
from av_stack.world.spec import Address
from scenarios.model import Scenario, TrafficTable, load_scenario
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.drives.test_drive import messages, truths


def alone(timeout_s: float) -> Scenario:
    changes = {"timeout_s": timeout_s, "walkers": (), "traffic": TrafficTable(vehicles=0)}
    return load_scenario("town_drive").model_copy(update=changes)


def driven(server: Address, out: Path, agent: str, timeout_s: float, rig: str | None = None) -> Outcome:
    return run(alone(timeout_s), Options(address=server, out=out, agent=agent, rig=rig))


def topics(path: Path) -> set[str]:
    with path.open("rb") as file:
        return {channel.topic for _, channel, _ in make_reader(file).iter_messages()}


def test_the_idle_agent_stands(city_server: Address, tmp_path: Path) -> None:
    outcome = driven(city_server, tmp_path, "idle", 2.0)
    figures = outcome.figures
    assert (outcome.exit_status, figures["agent"], figures["rig"]) == (0, "idle", "none")
    assert figures["driven_m"] < 0.1
    assert figures["route_completion"] < 0.01
    assert figures["localization_error"] is figures["longest_stand"] is None
    assert figures["constraints"] == figures["behaviours"] == figures["stage_ms"] == {}
    assert "2.0 s" in figures["end"] or figures["end"].startswith("time-out")
    assert table(figures).row_count > 15
    assert sorted(path.name for path in tmp_path.iterdir()) == [RECORDING, RESULT]
    recorded = topics(tmp_path / RECORDING)
    assert {"/control", "/gnss", "/sensors", "/tf", "/truth"} <= recorded
    assert not {"/lanes", "/scene", "/plan"} & recorded, "only the stack estimates and plans"
    assert len(truths(tmp_path / RECORDING)) == figures["steps"]


def test_the_straight_agent_leaves_a_route_that_turns(city_server: Address, tmp_path: Path) -> None:
    figures = driven(city_server, tmp_path, "straight", 25.0).figures
    told = [json.loads(data) for data in truths(tmp_path / RECORDING)]
    yaws = [tick["yaw_rad"] for tick in told[:200]]
    assert max(yaws) - min(yaws) < 0.02
    assert max(tick["speed_mps"] for tick in told) == pytest.approx(30.0 / 3.6, abs=0.7)
    assert figures["route_completion"] < 1.0
    assert figures["end"].startswith("left the route")
    assert figures["driving_score"] < 50.0


def test_a_rig_gives_a_blind_agent_a_video(city_server: Address, tmp_path: Path) -> None:
    figures = driven(city_server, tmp_path, "straight", 1.5, rig="compact").figures
    assert figures["rig"] == "compact"
    assert (tmp_path / VIDEO).stat().st_size > 10_000
    assert len(messages(tmp_path / RECORDING, "/camera/front")) == figures["steps"]


def test_an_unknown_agent_and_options_that_are_for_the_stack() -> None:
    assert "--agent: unknown name 'idel' (did you mean idle?)" in complaint(
        av_stack("run", "town_drive", "--agent", "idel")
    )
    line = complaint(av_stack("run", "town_drive", "--agent", "idle", "--oracle", "lights"))
    assert "--oracle: only the stack uses it, and --agent is idle" in line
