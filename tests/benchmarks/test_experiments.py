"""The experiment report agrees with the result files."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import experiments
from benchmarks.experiments import EXPERIMENTS, PAGE, filled, read
from benchmarks.experiments.driving import agents
from benchmarks.experiments.seeing import weather_limits
from benchmarks.tour import README


def test_every_table_of_the_page_is_what_its_files_give() -> None:
    page = PAGE.read_text()
    assert filled(page) == page, "run: make experiments"


def test_a_figure_that_changes_in_its_file_changes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(name: str) -> Any:
        content = read(name)
        if name == "perception/closed_loop.json":
            content["closed_loop_steps_per_s"] += 1.0
        return content

    page = PAGE.read_text()
    monkeypatch.setattr(experiments, "read", changed)
    assert filled(page) != page


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: str(one.mark))
def test_a_page_that_lacks_a_table_is_refused(experiment: experiments.Experiment) -> None:
    page = PAGE.read_text().replace(f"<!-- {experiment.mark}: begin -->", "")
    with pytest.raises(ValueError, match=experiment.mark):
        filled(page)


def test_an_agent_that_drove_one_route_stands_beside_the_stack_on_that_route() -> None:
    rows: list[dict[str, Any]] = [
        {"verdicts": {"stack": {"passed": True, "score": 90.0}, "behavior": {"passed": False, "score": 30.0}}},
        {"verdicts": {"stack": {"passed": False, "score": 50.0}, "idle": {"passed": False, "score": None}}},
    ]
    assert agents(rows).splitlines()[2:] == [
        "| stack | 2 | 1 of 2 | 70.0 |  |",
        "| behavior | 1 | 0 of 1 | 30.0 | 1 of 1 |",
        "| idle | 1 | 0 of 1 | – | 0 of 1 |",
    ]


def weather_rows(limits_found: list[dict[str, Any]], failed_first: dict[str, list[str]]) -> list[str]:
    axis = {"name": "wetness", "first": 0.0, "second": 100.0}
    search = {"name": "street", "search": axis, "limits_found": limits_found, "failed_first": failed_first}
    return [row.split("| `wetness` from 0 to 100 | ")[1] for row in weather_limits([search]).splitlines()[2:]]


def test_a_weather_limit_says_where_it_lies() -> None:
    limits = [
        {"kept": 50.0, "missed": 53.125, "is_known": True},
        {"kept": None, "missed": 0.0, "is_known": True},
        {"kept": 100.0, "missed": None, "is_known": True},
        {"kept": 100.0, "missed": None, "is_known": False},
    ]
    interval = {"mean": 50.52083, "low": 0.0, "high": 100.0}
    told = weather_rows([{"module": "lanes", "limits": limits, "interval": interval}], {"one": ["lanes"], "two": []})
    missed = "53.125 (kept at 50), 0 (missed from the mild end on), never, unknown"
    assert told[0] == f"lanes | {missed} | 50.52, 0 to 100 |"
    assert told[1] == "first of perception to fail | lanes, none |  |"


def test_parts_with_equal_limits_share_a_row() -> None:
    never: dict[str, Any] = {"limits": [{"kept": 100.0, "missed": None, "is_known": True}], "interval": None}
    mean = {"mean": 62.5, "low": None}
    missed: dict[str, Any] = {"limits": [{"kept": 50.0, "missed": 75.0, "is_known": True}], "interval": mean}
    found = [{"module": "drive", **missed}, {"module": "lanes", **never}, {"module": "depth", **never}]
    assert weather_rows(found, {})[:2] == ["drive | 75 (kept at 50) | 62.5 |", "lanes, depth | never |  |"]


def test_the_readme_names_the_share_of_passed_routes_of_the_verdicts() -> None:
    passed = [row["verdicts"]["stack"]["passed"] for row in read("scenarios/verdicts.json")]
    assert f"| {sum(passed)} of {len(passed)} routes passed |" in README.read_text()
