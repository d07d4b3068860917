"""Draws the results of `make bench-gpu` as a chart: `python -m benchmarks.gpu.chart FILE.json OUT.png`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS, GOAL, PEER = "#1f6f8b", "#c0392b", "#8a8a8a"


def draw(figures: Path, out: Path) -> None:
    """Draw one row per operator with a goal or a peer, in microseconds on a log axis.

    The bar is our time in a graph, the diamond on it our time called from Python. A filled dot is a peer in a graph. A
    hollow dot is a peer that cannot be captured, called from Python on the GPU or on the CPU.
    """
    data = json.loads(figures.read_text())
    rows = [row for row in data["rows"] if row["goal_us"] or row["peers"]]
    figure, axes = plt.subplots(figsize=(9.0, 0.36 * len(rows) + 1.2))
    for place, row in enumerate(reversed(rows)):
        peers = {name: best_way(times) for name, times in row["peers"].items()}
        axes.barh(
            place, row["warm_us"], left=0.0, height=0.5, color=OURS, label="ours in a graph" if place == 0 else None
        )
        if row["goal_us"]:
            axes.plot(row["goal_us"], place, "|", color=GOAL, markersize=14, markeredgewidth=2.5)
        axes.plot(row["eager_us"], place, "d", color=OURS, markersize=5)
        ordered = sorted(peers.items(), key=lambda peer: peer[1])
        followers = [*(value for _, (value, _) in ordered[1:]), float("inf")]
        for (name, (value, is_graph)), following in zip(ordered, followers, strict=False):
            axes.plot(value, place, "o", color=PEER, markersize=5, fillstyle="full" if is_graph else "none")
            label = name.replace(" on the CPU", ", CPU").replace(", then upload", "")
            # to the right of its dot or, if the next dot is close, above it
            shift, side = ((0, 6), "center") if following < 6.0 * value else ((6, -3), "left")
            axes.annotate(
                label, (value, place), textcoords="offset points", xytext=shift, ha=side, fontsize=6, color=PEER
            )
    axes.plot([], [], "|", color=GOAL, markersize=10, markeredgewidth=2.5, label="goal")
    axes.plot([], [], "d", color=OURS, markersize=5, label="ours, called from Python")
    axes.plot([], [], "o", color=PEER, markersize=5, label="peer in a graph")
    axes.plot([], [], "o", color=PEER, markersize=5, fillstyle="none", label="peer called from Python")
    axes.set_yticks(range(len(rows)), [row["name"].split(":")[0] for row in reversed(rows)], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlim(1.0, 1e5)
    axes.set_xlabel(f"microseconds a call, {data['machine']['gpu']}")
    axes.legend(loc="lower right", fontsize=7)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(out, dpi=110, bbox_inches="tight")


def best_way(times: dict[str, float | None]) -> tuple[float, bool]:
    """Time of a peer, microseconds, and whether it was in a graph; in a graph if it can be captured."""
    if (graph_us := times["graph_us"]) is not None:
        return graph_us, True
    called_us = times["eager_us"] if times["cpu_us"] is None else times["cpu_us"]
    assert called_us is not None
    return called_us, False


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("gpu.chart: needed are the file with figures and the picture to write")
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
