"""A chart of what `make bench-gpu` wrote: `python -m benchmarks.gpu_chart FILE.json OUT.png`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS, GOAL, PEER = "#1f6f8b", "#c0392b", "#8a8a8a"


def draw(figures: Path, out: Path) -> None:
    """A line for each operator with a goal or a peer: ours, the goal, the peers, in microseconds on a log axis."""
    data = json.loads(figures.read_text())
    rows = [row for row in data["rows"] if row["goal_us"] or row["peers_us"]]
    figure, axes = plt.subplots(figsize=(9.0, 0.36 * len(rows) + 1.2))
    for place, row in enumerate(reversed(rows)):
        peers = row["peers_us"]
        axes.barh(place, row["warm_us"], left=0.0, height=0.5, color=OURS, label="ours" if place == 0 else None)
        if row["goal_us"]:
            axes.plot(row["goal_us"], place, "|", color=GOAL, markersize=14, markeredgewidth=2.5)
        ordered = sorted(peers.items(), key=lambda peer: peer[1])
        for (name, value), (_, following) in zip(ordered, [*ordered[1:], ("", float("inf"))], strict=True):
            axes.plot(value, place, "o", color=PEER, markersize=5)
            label = name.replace(" on the CPU", ", CPU").replace(", then upload", "")
            # to the right of its dot or, where the next one is close, above it
            shift, side = ((0, 6), "center") if following < 4.0 * value else ((6, -3), "left")
            axes.annotate(
                label, (value, place), textcoords="offset points", xytext=shift, ha=side, fontsize=6, color=PEER
            )
    axes.plot([], [], "|", color=GOAL, markersize=10, markeredgewidth=2.5, label="goal")
    axes.plot([], [], "o", color=PEER, markersize=5, label="peer")
    axes.set_yticks(range(len(rows)), [row["name"].split(":")[0] for row in reversed(rows)], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlim(1.0, 1e5)
    axes.set_xlabel(f"microseconds a call in a graph, {data['machine']['gpu']}")
    axes.legend(loc="lower right", fontsize=7)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(out, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("gpu_chart: needed are the file with figures and the picture to write")
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
