"""Suites as a user starts them, with real drives of a few seconds on servers of their own."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from av_stack.cli import main
from tests.forked import ForkedProcess, forked

TABLE = """
name: {name}
map: city_grid
seed: 1
route: {{start: [423.2, -340.0], goal: [423.2, -322.0]}}
timeout_s: {timeout_s}
"""
ORACLES = ("--oracle", "detection,lights")
IDLE = ("--agent", "idle")
PATIENCE_S = 100.0


def suite(folder: Path, out: Path, *more: str) -> list[str]:
    return ["suite", str(folder), "--out", str(out), *more]


def tables(tmp_path: Path, **timeouts_s: float) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    for name, timeout_s in timeouts_s.items():
        (folder / f"{name}.yaml").write_text(TABLE.format(name=name, timeout_s=timeout_s))
    return folder


def suite_json(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "suite.json").read_text())
    return content


@pytest.mark.timeout(300)  # three processes load the wheel and compile, on two cores that others use too
def test_each_run_is_driven_and_judged(tmp_path: Path) -> None:
    folder, out = tables(tmp_path, arrives=30.0, late=1.0), tmp_path / "out"
    (folder / "wrong.yaml").write_text("nam: wrong\n")
    done = forked(main, suite(folder, out, "--workers", "2", *ORACLES), timeout_s=280.0)
    assert done.returncode == 1, done.stderr
    assert done.stderr.strip() == "av-stack: 2 of 3 runs did not pass: late, wrong"
    assert "wrong.yaml: unknown key nam" in done.stdout
    arrives, late, wrong = suite_json(out)["drives"]
    assert (arrives["route_completion"], arrives["shortcomings"], arrives["crash"]) == (1.0, [], None)
    assert arrives["oracles"] == ["detection", "lights"]
    assert arrives["mean_kmh"] > 1.0
    assert "time-out" in " ".join(late["shortcomings"])
    assert "unknown key nam" in wrong["error"]
    assert (out / "arrives" / "recording.mcap").is_file()


@pytest.mark.timeout(300)
def test_a_killed_client_is_repeated_and_a_killed_suite_goes_on(tmp_path: Path) -> None:
    # The first drive takes some seconds, so that on a busy machine it is not over before it is seen and killed.
    folder, out = tables(tmp_path, one=10.0, two=1.0), tmp_path / "out"
    first = ForkedProcess(main, suite(folder, out, *IDLE))
    [client] = wait_for(lambda: processes(out / "attempts" / "one.1"))
    wait_for(lambda: (out / "attempts" / "one.1" / "recording.mcap").is_file())
    os.kill(client, signal.SIGKILL)
    wait_for(lambda: (out / "one" / "run.json").is_file())
    wait_for(lambda: processes(out / "attempts" / "two.1"))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    wait_for(lambda: not processes(out / "attempts"))  # no run goes on without its suite
    last = forked(main, suite(folder, out, *IDLE, "--resume"), timeout_s=PATIENCE_S)
    assert "suite tables" in last.stdout
    content = suite_json(out)
    one, two = content["drives"]
    assert content["is_complete"]
    assert [attempt["crash"] for attempt in one["attempts"]] == ["the client was ended by SIGKILL", None]
    assert [attempt["end"] for attempt in two["attempts"]] == ["interrupted", "time-out after 1 s"]
    lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    assert Counter(line["run"] for line in lines if line["event"] == "kept") == {"one": 1, "two": 1}


def wait_for(found: Callable[[], Any]) -> Any:
    """The first true value of `found`."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    return value


def processes(out: Path) -> list[int]:
    """The runs that write to `out` or below."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdecimal() else []
        except OSError:  # it has just ended
            continue
        if "av_stack.suite.child" in words and any(word.startswith(str(out)) for word in words):
            found.append(int(entry.name))
    return found
