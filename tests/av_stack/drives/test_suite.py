"""A suite runs each scenario in a process of its own and writes down what each did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import av_stack.suite as suite_module
from av_core.errors import WorldError
from av_stack.suite import drive_suite, suite_table
from av_stack.world.spec import Address
from scenarios.model import RouteTable, Scenario

ROUTE = RouteTable(start=(423.2, -340.0), goal=(423.2, -322.0))


def test_each_drive_is_run_and_judged(city_server: Address, tmp_path: Path) -> None:
    arrives = Scenario(name="arrives", map="city_grid", seed=1, route=ROUTE, timeout_s=30.0)
    late = arrives.model_copy(update={"name": "late", "timeout_s": 1.0})
    entries = drive_suite("two", (arrives, late), tmp_path, None, city_server)
    assert entries[0]["route_completion"] == 1.0
    assert entries[0]["shortcomings"] == []
    assert entries[0]["mean_kmh"] > 1.0
    assert "time-out" in " ".join(entries[1]["shortcomings"])
    assert json.loads((tmp_path / "suite.json").read_text())["drives"] == entries
    assert (tmp_path / "arrives" / "recording.mcap").is_file()
    assert [entry["oracles"] for entry in entries] == [[], []]
    assert suite_table("two", entries).caption == "read from the simulator (oracles): nothing"


def test_oracles_are_used_where_they_are_asked_for_and_named(city_server: Address, tmp_path: Path) -> None:
    short = Scenario(name="short", map="city_grid", seed=1, route=ROUTE, timeout_s=1.0)
    entries = drive_suite("one", (short,), tmp_path, None, city_server, ("lights",))
    assert entries[0]["oracles"] == ["lights"]
    assert suite_table("one", entries).caption == "read from the simulator (oracles): lights"


def test_a_suite_that_was_stopped_goes_on_where_it_was(
    city_server: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Scenario(name="one", map="city_grid", seed=1, route=ROUTE, timeout_s=0.5)
    two = one.model_copy(update={"name": "two"})
    [first] = drive_suite("short", (one,), tmp_path, None, city_server)
    driven: list[str] = []
    drive = suite_module._drive

    def noted(what: Scenario, *rest: Any) -> Any:
        driven.append(what.name)
        return drive(what, *rest)

    monkeypatch.setattr(suite_module, "_drive", noted)
    entries = drive_suite("short", (one, two), tmp_path, None, city_server, resume=True)
    assert driven == ["two"]
    assert entries[0] == first


def test_only_a_whole_drive_of_the_same_scenario_counts_as_driven(city_server: Address, tmp_path: Path) -> None:
    one = Scenario(name="one", map="city_grid", seed=1, route=ROUTE, timeout_s=0.5)
    drive_suite("short", (one,), tmp_path, None, city_server)
    folder, result = tmp_path / "one", tmp_path / "one" / "result.json"
    whole = result.read_text()
    assert suite_module._ended(one, folder, ())
    assert suite_module._ended(one, folder, ("lights",)) is None
    assert suite_module._ended(one.model_copy(update={"timeout_s": 0.6}), folder, ()) is None
    result.write_text(json.dumps({**json.loads(whole), "error": "interrupted"}))
    assert suite_module._ended(one, folder, ()) is None
    result.write_text(whole[:100])  # cut off by a full disk or a kill
    assert suite_module._ended(one, folder, ()) is None


def test_a_drive_that_never_began_ends_the_suite(city_server: Address, tmp_path: Path) -> None:
    nowhere = Scenario(name="nowhere", map="no_such_town", seed=1, route=ROUTE, timeout_s=30.0)
    with pytest.raises(WorldError, match=r"nowhere: the drive ended with status [^0]"):
        drive_suite("one", (nowhere,), tmp_path, None, city_server)
