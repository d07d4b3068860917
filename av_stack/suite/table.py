"""The tables of a suite: one row for each run that was driven; crashes and runs that did not start are apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from av_stack.suite.entries import is_driven, summary


def suite_tables(name: str, entries: Sequence[Mapping[str, Any]]) -> Group:
    """Up to four tables: driven runs, their shortcomings, crashed runs, runs that did not start; none that is empty."""
    driven = [entry for entry in entries if is_driven(entry)]
    crashed = [(entry, entry["crash"]) for entry in entries if entry["crash"] is not None]
    refused = [(entry, entry["error"]) for entry in entries if entry["crash"] is None and not is_driven(entry)]
    failed = [(entry, "; ".join(entry["shortcomings"])) for entry in driven if entry["shortcomings"]]
    tables = [suite_table(name, driven)] if driven else []
    if failed:
        tables.append(_other_table("failed", "lacks", failed))
    if crashed:
        tables.append(_other_table("crashed: no verdict, not counted above", "why", crashed))
    if refused:
        tables.append(_other_table("not started", "why", refused))
    return Group(*tables, summary_line(entries))


def suite_table(name: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each driven run; the caption names what was read from the simulator."""
    rows = Table(title=f"suite {name}: errors in metres, RMS", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    agents = _all(entry["agent"] for entry in entries)
    oracles = _all(oracle for entry in entries for oracle in entry["oracles"] or ()) or "nothing"
    rows.caption = f"driven by {agents}; read from the simulator (oracles): {oracles}"
    rows.add_column("scenario", overflow="fold", max_width=28)
    for column in ("done", "of m", "score", "hits", "red", "lat.", "max", "pose", "km/h"):
        rows.add_column(column, justify="right", no_wrap=True)
    for entry in entries:
        rows.add_row(
            entry["scenario"],
            f"{100 * entry['route_completion']:.0f} %",
            _number(entry["route_length_m"], 0),
            _number(entry["driving_score"], 1),
            str(entry["collisions"]),
            str(entry["red_lights"]),
            _number(entry["lateral_rms_m"], 2),
            _number(entry["lateral_max_m"], 2),
            _number(entry["localization_rms_m"], 2),
            _number(entry["mean_kmh"], 1),
        )
    return rows


def summary_line(entries: Sequence[Mapping[str, Any]]) -> str:
    """The suite in one line."""
    found = summary(entries)
    parts = [f"{found['runs']} runs: {found['passed']} passed, {found['failed']} failed"]
    parts += [f"{found['not_started']} did not start"] if found["not_started"] else []
    parts += [f"{found['crashed']} crashed"] if found["crashed"] else []
    repeated = found["crashed_attempts"] - found["crashed"]
    parts += [f"{repeated} crashed attempts repeated"] if repeated > 0 else []
    scores = [
        f"{_number(found[key], 1)} ({words})"
        for key, words in (("driving_score", "2.0"), ("driving_score_2_1", "2.1"))
        if found[key] is not None
    ]
    return ", ".join(parts) + (f"; mean driving score {', '.join(scores)}" if scores else "")


def _other_table(title: str, what: str, rows: Sequence[tuple[Mapping[str, Any], str]]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("scenario", overflow="fold", max_width=28)
    table.add_column("attempts", justify="right")
    table.add_column(what)
    for entry, why in rows:
        table.add_row(entry["scenario"], str(len(entry["attempts"])), why)
    return table


def _all(names: Iterable[str | None]) -> str:
    """Each name once."""
    return ", ".join(dict.fromkeys(name for name in names if name is not None))


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
