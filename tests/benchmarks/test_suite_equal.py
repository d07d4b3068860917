"""Two folders of one suite: what counts as equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcap.writer import Writer

from benchmarks.suite_equal import compare


def write_suite(
    folder: Path, late_ms: float = 0.0, score: float = 100.0, steer: float = 0.0, state: str = "normal"
) -> Path:
    """A suite of one run of the stack whose first stage was late by `late_ms`."""
    run = folder / "one"
    run.mkdir(parents=True)
    machine = {"processor": "one"}
    print_of = {"options": {"agent": "stack"}, "version": {"code": "abc"}, "machine": machine}
    suite = {"suite": "quick", "fingerprint": print_of, "drives": [{"scenario": "one"}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    late = {"lanes": {"steps": 1, "longest_ms": late_ms}} if late_ms else {}
    figures = {"end": "arrived", "driving_score": score, "stage_ms": {"lanes": late_ms}, "steps_per_s": late_ms}
    supervision = {"states": [{"state": state}], "late_stages": late}
    (run / "result.json").write_text(json.dumps({**figures, "supervision": supervision}))
    with (run / "recording.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start()
        topics: dict[str, dict[str, Any]] = {
            "/control": {"steer": steer},
            "/stage_ms": {"stage_ms": {"lanes": late_ms}},
            "/supervision": {"state": state, "late_stages": late},
        }
        for topic, message in topics.items():
            channel = writer.register_channel(topic, "json", 0)
            writer.add_message(channel, 50_000_000, json.dumps(message).encode(), 50_000_000)
        writer.finish()  # type: ignore[no-untyped-call]
    return folder


def compared(tmp_path: Path, **changed: Any) -> dict[str, Any]:
    found = compare(write_suite(tmp_path / "first"), write_suite(tmp_path / "second", **changed))
    run: dict[str, Any] = found["runs"]["one"]
    assert found["is_equal"] == run["is_equal"]
    return run


def test_time_on_a_clock_makes_no_difference(tmp_path: Path) -> None:
    run = compared(tmp_path, late_ms=478.0)
    assert run["is_equal"]
    assert run["messages"] == 2


def test_another_command_is_told_by_its_topic(tmp_path: Path) -> None:
    run = compared(tmp_path, steer=1e-9)
    assert (run["is_equal"], run["is_verdict_equal"], run["different_topics"]) == (False, True, ["/control"])


def test_another_state_is_told(tmp_path: Path) -> None:
    run = compared(tmp_path, state="slow", late_ms=478.0)
    assert (run["different_figures"], run["different_topics"]) == (["supervision"], ["/supervision"])


def test_another_score_is_another_verdict(tmp_path: Path) -> None:
    run = compared(tmp_path, score=60.0)
    assert (run["is_verdict_equal"], run["different_figures"]) == (False, ["driving_score"])
