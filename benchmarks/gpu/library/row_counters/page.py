"""The table of the counters of version 6 on rows, from what `python -m benchmarks.gpu.library.row_counters` wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.gpu.library.chosen_page import LAUNCH, launch
from benchmarks.markdown_tables import rows

WAITS = 3
"""Reasons for which a warp waits that the table shows."""
AT_WORK = ("selected", "not_selected")
"""What a warp's cycles are that are no wait: it issues, or another warp does."""
SECTOR_BYTES, REQUEST_BYTES = 32, 128
"""What the L2 cache delivers: pieces of a line of 128 bytes, and at most one line by a request."""
NAMES = (
    *LAUNCH,
    "threads",
    "time, us",
    "read, of the fewest bytes",
    "written, of the fewest bytes",
    "memory, of its peak",
    "loads through L2: bytes, requests, of the fewest",
    "L2 hits of reads",
    "sectors of a load, of a store",
    "warps resident",
    "processors active",
    "the least active",
    "issuing",
    "waits, of a warp's cycles",
)


def table(counted: Sequence[dict[str, Any]]) -> str:
    """One line for each launch."""
    return rows(NAMES, [_line(row) for row in counted])


COUNTED_TWICE = ("loads through L2: bytes, of the fewest", "requests, of the fewest", "memory, of its peak")
"""What the table of two records shows of each."""


def before_and_after(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> str:
    """One line for each launch that two records have, with some counters of both."""
    earlier = {_launched(row): row for row in before}
    pairs = [(earlier[_launched(row)], row) for row in after if _launched(row) in earlier]
    cells = [
        [*launch(new)[:4], *(f"{one}, {other}" for one, other in zip(_some(old), _some(new), strict=True))]
        for old, new in pairs
    ]
    return rows((*LAUNCH[:4], *(f"{name}: before, after" for name in COUNTED_TWICE)), cells)


def _some(row: dict[str, Any]) -> tuple[str, str, str]:
    """The cells of `COUNTED_TWICE`."""
    bytes_of = _times(row, "l2_sectors_of_loads", SECTOR_BYTES)
    return bytes_of, _times(row, "l2_requests_of_loads", REQUEST_BYTES), f"{row['dram_percent_of_peak']:.1f} %"


def _launched(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["operator"], row["element"], row["rows"], row["columns"], row["contender"]


def _line(row: dict[str, Any]) -> list[str]:
    half = row["fewest_bytes"] / 2
    return [
        *launch(row),
        f"{row['threads_a_block']:.0f}",
        f"{row['time_ns'] / 1e3:.1f}",
        f"{row['dram_read_bytes'] / half:.2f}",
        f"{row['dram_write_bytes'] / half:.2f}",
        f"{row['dram_percent_of_peak']:.0f} %",
        f"{_times(row, 'l2_sectors_of_loads', SECTOR_BYTES)}, {_times(row, 'l2_requests_of_loads', REQUEST_BYTES)}",
        _share(row, "l2_sectors_read_hit", "l2_sectors_read"),
        ", ".join(f"{row[name]:.1f}" if row.get(name) else "-" for name in ("sectors_per_load", "sectors_per_store")),
        f"{row['warps_resident_percent']:.0f} %",
        _share(row, "active_cycles", "cycles"),
        _share(row, "active_cycles_least", "cycles"),
        f"{row['issuing_percent_of_cycles']:.0f} %",
        ", ".join(f"{name} {share:.0f} %" for name, share in waits_of(row)[:WAITS]),
    ]


def _share(row: dict[str, Any], part: str, whole: str) -> str:
    """A counter as a share of another one; empty where one was not counted."""
    return f"{100 * row[part] / row[whole]:.0f} %" if row.get(whole) and row.get(part) is not None else ""


def _times(row: dict[str, Any], counter: str, size_bytes: int) -> str:
    """A counter of pieces of `size_bytes`, as a multiple of the fewest that hold the input."""
    return f"{row[counter] * size_bytes / (row['fewest_bytes'] / 2):.2f}" if row.get(counter) is not None else "-"


def waits_of(row: dict[str, Any]) -> list[tuple[str, float]]:
    """For what a warp waits, and in how many percent of its cycles, the longest wait first."""
    cycles = {name: one for name, one in row["cycles_waited_for"].items() if not name.endswith("_not_issued")}
    total = sum(cycles.values()) or 1.0
    found = [(name, 100 * one / total) for name, one in cycles.items() if name not in AT_WORK]
    return sorted(found, key=lambda wait: -wait[1])
