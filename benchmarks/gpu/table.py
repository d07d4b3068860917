"""Tables of the operators' and their peers' times in Markdown: `python -m benchmarks.gpu.table FILE.json PAGE.md`.

It writes the tables of a file of `python -m benchmarks.gpu` into the page, between the marks of `NAME`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu.timing import PeerTimes
from benchmarks.markdown_tables import placed, rows

NAME = "hot path"
HEADER = (
    "operator", "in a graph, us", "spread", "cold, us", "of the copy rate, cold", "eager, us",
    "CPU time of an eager call, us", "goal in a graph, us",
)  # fmt: skip
PEERS_HEADER = (
    "operator", "peer", "in a graph, us", "ratio to ours in a graph", "eager, us", "ours eager, us",
    "ratio to ours eager",
)  # fmt: skip


def tables(figures: dict[str, Any]) -> str:
    """The tables of a file of figures. The share of the copy's rate is of the cold time: warm data is in a cache."""
    machine, copy_bytes_per_s = figures["machine"], figures["copy_bytes_per_s"]
    lines = []
    for row in figures["rows"]:
        share = row["moved_bytes"] / (row["cold_us"] * 1e-6) / copy_bytes_per_s
        lines.append(
            [
                row["name"],
                *(f"{row[name]:.2f}" for name in ("warm_us", "warm_spread_us", "cold_us")),
                f"{100 * share:.0f} %",
                *(f"{row[name]:.1f}" for name in ("eager_us", "launch_cpu_us")),
                f"{row['goal_us'] or ''}",
            ]
        )
    peers = [
        [row["name"], title, *cells(PeerTimes(**times))]
        for row in figures["rows"]
        for title, times in row["peers"].items()
    ]
    return (
        f"{machine['gpu']}, driver {machine['driver']}, torch {machine['torch']}, OpenCV {machine['opencv']}; copy "
        f"{copy_bytes_per_s / 1e12:.2f} TB/s; an empty launch takes {figures['empty_launch_us']:.2f} us in a graph and "
        f"{figures['empty_launch_cold_us']:.2f} us cold.\n\n{rows(HEADER, lines)}\n{rows(PEERS_HEADER, peers)}"
    )


def cells(times: PeerTimes) -> list[str]:
    """The last five columns of a peer's row."""
    called_us = times.eager_us if times.cpu_us is None else times.cpu_us
    eager = [f"{called_us:.0f}", f"{times.ours_eager_us:.0f}", f"{times.eager_ratio:.1f}x"]
    if times.cpu_us is not None:
        return ["runs on the CPU", "", *eager]
    if times.graph_us is None:
        return [f"cannot be captured: {times.not_captured}", "", *eager]
    return [f"{times.graph_us:.1f}", f"{times.graph_ratio:.1f}x", *eager]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("gpu.table: needed are the file with figures and the page")
    page = Path(sys.argv[2])
    page.write_text(placed(page.read_text(), NAME, tables(json.loads(Path(sys.argv[1]).read_text()))))
