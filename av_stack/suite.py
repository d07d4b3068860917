"""Drives a suite: each scenario in its own process, then one table and suite.json for all of them.

CARLA's Python wheel keeps threads and a TrafficManager that outlive the server they spoke to. With a fresh process for
each drive, nothing of one drive reaches the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.box import SIMPLE_HEAD
from rich.table import Table

from av_core.errors import ConfigError, WorldError
from av_stack.recording.atomic_file import write_atomically
from av_stack.recording.recorder import RESULT, clear_outputs
from av_stack.world.spec import Address
from scenarios.model import Scenario

END_TIMEOUT_S = 15.0
"""Time that a drive has to end after an interruption."""

TABLE = "scenario.yaml"
"""File with the scenario in the folder of its drive."""

_KEPT = (
    "scenario",
    "map",
    "weather",
    "seed",
    "end",
    "route_completion",
    "route_length_m",
    "driving_score",
    "collisions",
    "red_lights",
    "stop_signs",
    "stops_at_red",
    "lateral_rms_m",
    "lateral_max_m",
    "time_s",
    "steps_per_s",
    "fastest_1000_m_mps",
    "oracles",
)


def drive_suite(
    name: str,
    scenarios: Sequence[Scenario],
    out: Path,
    maps: Path | None,
    address: Address | None,
    oracles: Sequence[str] = (),
    resume: bool = False,
) -> list[dict[str, Any]]:
    """Drive `scenarios` one after the other; returns the entries of suite.json, which is written after each drive.

    With `resume`, drives that `out` already holds are kept if they came to their end with the same scenario table and
    the same oracles. Each drive writes its files, including that table, to `out`/NAME: `av-stack run
    OUT/NAME/scenario.yaml` repeats it.
    """
    entries: list[dict[str, Any]] = []
    for scenario in scenarios:
        figures = _ended(scenario, out / scenario.name, oracles) if resume else None
        if figures is None:
            figures = _drive(scenario, out / scenario.name, maps, address, oracles)
        entries.append(_entry(figures, scenario.expect.shortcomings(figures)))
        text = json.dumps({"suite": name, "drives": entries}, indent=2)
        write_atomically(out / "suite.json", text + "\n")
    return entries


def suite_table(name: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each drive; the caption names what was read from the simulator."""
    oracles = ", ".join(dict.fromkeys(oracle for entry in entries for oracle in entry["oracles"])) or "nothing"
    rows = Table(title=f"suite {name}: errors in metres, RMS", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    rows.caption = f"read from the simulator (oracles): {oracles}"
    rows.add_column("scenario", no_wrap=True)
    for column in ("done", "of m", "score", "hits", "red", "lat.", "max", "pose", "km/h"):
        rows.add_column(column, justify="right", no_wrap=True)
    rows.add_column("lacks")
    for entry in entries:
        rows.add_row(
            entry["scenario"],
            f"{100 * entry['route_completion']:.0f} %",
            f"{entry['route_length_m']:.0f}",
            f"{entry['driving_score']:.1f}",
            str(entry["collisions"]),
            str(entry["red_lights"]),
            f"{entry['lateral_rms_m']:.2f}",
            f"{entry['lateral_max_m']:.2f}",
            "-" if entry["localization_rms_m"] is None else f"{entry['localization_rms_m']:.2f}",
            f"{entry['mean_kmh']:.1f}",
            "; ".join(entry["shortcomings"]) or "-",
        )
    return rows


def _table_text(scenario: Scenario) -> str:
    return yaml.safe_dump(scenario.model_dump(mode="json", exclude_none=True), sort_keys=False)


def _ended(scenario: Scenario, out: Path, oracles: Sequence[str]) -> dict[str, Any] | None:
    """result.json of an earlier drive of exactly this table and these oracles; None if it did not end properly."""
    path, result = out / TABLE, out / RESULT
    if not (result.is_file() and path.is_file() and path.read_text() == _table_text(scenario)):
        return None
    try:
        figures: dict[str, Any] = json.loads(result.read_text())
        is_complete = not figures["error"] and figures["oracles"] == list(oracles)
    except (ValueError, KeyError, TypeError):  # cut off, or written by another version: the drive is repeated
        return None
    return figures if is_complete else None


def _drive(
    scenario: Scenario, out: Path, maps: Path | None, address: Address | None, oracles: Sequence[str]
) -> dict[str, Any]:
    """result.json of one drive. Raises WorldError where its process ended without writing one."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror}") from None
    path, result = out / TABLE, out / RESULT
    path.write_text(_table_text(scenario))
    clear_outputs(out)  # they belong to an earlier table
    command = [sys.executable, "-m", "av_stack.cli", "run", str(path), "--out", str(out), "--oracle", ",".join(oracles)]
    command += ["--maps", str(maps)] if maps is not None else []
    command += ["--server", str(address)] if address is not None else []
    # A session of its own keeps Ctrl-C away from the drive. `_end` terminates it once, and it can release its
    # resources.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        status = process.wait()
    except KeyboardInterrupt:
        _end(process)
        raise
    if not result.is_file():
        raise WorldError(f"{scenario.name}: the drive ended with status {status} before it began")
    figures: dict[str, Any] = json.loads(result.read_text())
    if figures["error"] == "interrupted":
        raise KeyboardInterrupt
    return figures


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate the drive and let it release its resources; kill it only if it takes too long."""
    process.terminate()
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _entry(figures: Mapping[str, Any], lacks: Sequence[str]) -> dict[str, Any]:
    time_s = figures["time_s"]
    return {
        **{name: figures[name] for name in _KEPT},
        "localization_rms_m": (figures["localization_error"] or {}).get("rms_m"),
        "mean_kmh": 3.6 * figures["driven_m"] / time_s if time_s > 0.0 else 0.0,
        "shortcomings": list(lacks),
    }
