"""Draws a map with the places that were found on it: the ego's waypoints as a line, the trigger as a numbered dot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from av_core.types import LaneGraph
from scenarios.leaderboard.placing.find import Places

mpl.use("Agg")

import matplotlib.pyplot as plt


def draw(graph: LaneGraph, found: Sequence[Places], path: Path) -> None:
    """Write the picture; its legend names the types by their numbers."""
    figure, axes = plt.subplots(figsize=(16.0, 11.0), layout="constrained")
    for lane in graph.lanes.values():
        axes.plot(lane.points[:, 0], lane.points[:, 1], color="0.8", linewidth=1.5, zorder=0)
    colours = plt.get_cmap("tab20")
    for number, places in enumerate(found, start=1):
        for index, route in enumerate(places.routes):
            (scenario,) = route.scenarios
            colour = colours(number % 20)
            x, y = ([getattr(w, name) for w in route.waypoints] for name in ("x_m", "y_m"))
            axes.plot(x, [-value for value in y], color=colour, linewidth=0.8, alpha=0.7)
            at = (scenario.trigger.x_m, -scenario.trigger.y_m)
            axes.plot(*at, "o", color=colour, label=f"{number} {places.type_name}" if index == 0 else None)
            axes.annotate(str(number), at, xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.set_aspect("equal")
    axes.set(title=graph.name, xlabel="x, m", ylabel="y, m (map frame)")
    figure.legend(loc="outside right upper", fontsize=7)
    figure.savefig(path, dpi=90)
    plt.close(figure)
