"""Markdown tables of the maps' results: the counts, then driven, refused, and only read maps."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from benchmarks.markdown_tables import rows

Maps = Mapping[str, Mapping[str, Any]]
TRAFFIC = ("cars", "removed by TM", "driven, m", "collisions with cars", "with other things")
STACK = ("stack: route", "end", "collisions")


def tables(maps: Maps) -> str:
    """All that the page says about the maps: a summary, then each map once, by name."""
    by_name = {name: maps[name] for name in sorted(maps, key=str.lower)}
    loaded = {name: row for name, row in by_name.items() if "seconds" in row}
    read = {name: row for name, row in by_name.items() if "only_read" in row}
    refused = {name: row for name, row in by_name.items() if name not in loaded and name not in read}
    return (
        f"## Summary\n\n{summary(maps)}\n"
        f"## Maps that were driven\n\n{_driven(loaded)}\n"
        f"## Maps that the server refuses\n\n{rows(('map', 'reason'), _refused(refused))}\n"
        f"## Maps that were only read\n\n{_only_read(read)}"
    )


def summary(maps: Maps) -> str:
    """Markdown table of the counts over all maps."""
    found = list(maps.values())
    driven = [row["traffic"] for row in found if "cars" in row.get("traffic", {})]
    stack = [row["stack"] for row in found if not row.get("stack", {"error": True}).get("error")]
    counts = [
        ("files", len(found)),
        ("loaded and built", sum("seconds" in row for row in found)),
        ("only read: a client can use the map, but it was not built here", sum("only_read" in row for row in found)),
        ("refused with one line", sum("seconds" not in row and "only_read" not in row for row in found)),
        ("servers that died", sum("server_died" in row for row in found)),
        ("driven by TrafficManager", len(driven)),
        (
            "driven by TrafficManager without a collision",
            sum(not row["collisions_with_vehicles"] and not row["collisions_with_others"] for row in driven),
        ),
        ("driven by the stack", len(stack)),
        ("driven by the stack to the end of the route", sum(row["end"] == "arrived" for row in stack)),
        ("driven by the stack without a collision", sum(not row["collisions"] for row in stack)),
    ]
    return rows(("what", "maps"), [(what, str(count)) for what, count in counts])


def _driven(maps: Maps) -> str:
    cells = []
    for name, figures in maps.items():
        row = [name, f"{figures['seconds']:.1f}", str(figures["spawn_points"])]
        cells.append((*row, *_traffic(name, figures), *_stack(name, figures)))
    return rows(("map", "s", "spawn points", *TRAFFIC, *STACK), cells)


def _refused(maps: Maps) -> list[tuple[str, str]]:
    return [(name, _error(name, figures)) for name, figures in maps.items()]


def _only_read(maps: Maps) -> str:
    """One paragraph for each repository with the names of its maps, and one for each fault of TrafficManager."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name, figures in maps.items():
        owner, repository, short = name.split(".", 2)
        if figures["traffic_fault"]:
            groups[f"These maps would {_plural(figures['traffic_fault'])}"].append(f"{owner}/{repository} {short}")
        else:
            groups[f"{owner}/{repository}"].append(short)
    paragraphs = []
    for group, names in groups.items():
        text = f"**{group}** ({len(names)}): {', '.join(f'`{name}`' for name in names)}."
        paragraphs.append("\n".join(textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)))
    return "\n\n".join(paragraphs) + "\n"


def _plural(fault: str) -> str:
    return fault.replace("crashes", "crash", 1)


def _error(name: str, figures: Mapping[str, Any]) -> str:
    died = "the server died: " if figures.get("server_died") else ""
    return died + str(figures["error"]).split(f"map {name}: ")[-1].replace("|", "\\|").replace("<", "&lt;")


def _traffic(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    if "traffic" not in figures:
        return ("no place to spawn", *[""] * (len(TRAFFIC) - 1))
    seen = figures["traffic"]
    if "error" in seen:
        return (_error(name, seen), *[""] * (len(TRAFFIC) - 1))
    keys = ("cars", "removed_by_traffic_manager", "driven_m", "collisions_with_vehicles", "collisions_with_others")
    return tuple(str(seen[key]) for key in keys)


def _stack(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    seen = figures.get("stack")
    if seen is None:
        return ("", "not run", "")
    if seen.get("error"):
        return ("", _error(name, seen), "")
    return (f"{100.0 * seen['route_completion']:.0f} %", str(seen["end"]), str(seen["collisions"]))
