"""Markdown table and summary of the maps' results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def summary(maps: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown list of the counts over all maps."""
    rows = list(maps.values())
    driven = [row["traffic"] for row in rows if "cars" in row.get("traffic", {})]
    stack = [row["stack"] for row in rows if not row.get("stack", {"error": True}).get("error")]
    counts = [
        ("files", len(rows)),
        ("loaded", sum("seconds" in row for row in rows)),
        ("read and proved, not loaded", sum("only_read" in row for row in rows)),
        ("refused with one line", sum("seconds" not in row and "only_read" not in row for row in rows)),
        ("servers that died", sum("server_died" in row for row in rows)),
        ("driven by TrafficManager", len(driven)),
        (
            "of these without a collision",
            sum(not row["collisions_with_vehicles"] and not row["collisions_with_others"] for row in driven),
        ),
        ("driven by the stack", len(stack)),
        ("of these to the end of the route", sum(row["end"] == "arrived" for row in stack)),
        ("of these without a collision", sum(not row["collisions"] for row in stack)),
    ]
    return "\n".join(f"- {what}: {count}" for what, count in counts) + "\n"


def table(maps: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown table with one row per map, sorted by name."""
    rows = [
        "| map | loads | s | spawn points | 10 TrafficManager cars, 60 s | stack, 60 s |",
        "|---|---|--:|--:|---|---|",
    ]
    rows += [_row(name, maps[name]) for name in sorted(maps, key=str.lower)]
    return "\n".join(rows) + "\n"


def _row(name: str, figures: Mapping[str, Any]) -> str:
    if "only_read" in figures:
        return f"| {name} | is read | | | {figures['traffic_fault'] or 'not run'} | not run |"
    if "seconds" not in figures:
        return f"| {name} | {_error(name, figures)} | | | | |"
    stack = figures.get("stack")
    driven = "not run" if stack is None else _stack(name, stack)
    traffic = _traffic(name, figures)
    return f"| {name} | yes | {figures['seconds']:.1f} | {figures['spawn_points']} | {traffic} | {driven} |"


def _error(name: str, figures: Mapping[str, Any]) -> str:
    died = "the server died: " if figures.get("server_died") else ""
    return died + str(figures["error"]).split(f"map {name}: ")[-1].replace("|", "\\|").replace("<", "&lt;")


def _traffic(name: str, figures: Mapping[str, Any]) -> str:
    if "traffic" not in figures:
        return "no place to spawn"
    seen = figures["traffic"]
    if "error" in seen:
        return _error(name, seen)
    hits = f"{seen['collisions_with_vehicles']} with cars, {seen['collisions_with_others']} with other things"
    clean = not seen["collisions_with_vehicles"] and not seen["collisions_with_others"]
    removed = seen["removed_by_traffic_manager"]
    gone = f" ({removed} taken away by TrafficManager)" if removed else ""
    return f"{seen['cars']} cars{gone}, {seen['driven_m']} m, collisions: {'0' if clean else hits}"


def _stack(name: str, figures: Mapping[str, Any]) -> str:
    if figures.get("error"):
        return _error(name, figures)
    share = 100.0 * figures["route_completion"]
    return f"{share:.0f} % of the route ({figures['end']}), collisions: {figures['collisions']}"
