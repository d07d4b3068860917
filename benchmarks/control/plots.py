"""Draws the study's figures as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from benchmarks.control.drives import Trace
from benchmarks.control.tables import OURS, PUBLISHED, measure
from benchmarks.dynamics.plots import finish  # chooses matplotlib's backend

Traces = dict[tuple[str, str, float, str], Trace]
"""The drives by road, manoeuvre, speed in m/s and controller."""

_SHOWN_S = 6.0


def draw_all(folder: Path, drives: Sequence[Mapping[str, Any]], traces: Traces) -> None:
    _steps(folder / "step.png", traces)
    _double_lane_changes(folder / "double_lane_change.png", traces)
    _errors(folder / "errors.png", drives)


def _roads(traces: Traces) -> list[str]:
    return list(dict.fromkeys(road for road, *_ in traces))


def _steps(path: Path, traces: Traces) -> None:
    """The lateral error after a step of 1 m, one line for each speed."""
    roads = _roads(traces)
    figure, grid = plt.subplots(2, len(roads), figsize=(3.4 * len(roads), 5.4), sharex=True, sharey=True, squeeze=False)
    shades = plt.get_cmap("viridis")
    for (road, manoeuvre, speed, controller), trace in traces.items():
        if manoeuvre == "step":
            axes = grid[0 if controller == OURS else 1][roads.index(road)]
            axes.plot(trace.time_s, -trace.lateral_m, color=shades((speed - 5.0) / 33.0), label=f"{speed:g} m/s")
            axes.set(title=f"{road}: {controller}", xlim=(0.0, _SHOWN_S))
    for line in grid:
        line[0].set_ylabel("m from the path")
    for axes in grid[-1]:
        axes.set_xlabel("s after the step")
    grid[0][-1].legend(fontsize=7)
    finish(figure, path)


def _double_lane_changes(path: Path, traces: Traces) -> None:
    """The error in the double lane change at three speeds."""
    roads, speeds = _roads(traces), (10.0, 20.0, 35.0)
    figure, grid = plt.subplots(1, len(roads), figsize=(3.4 * len(roads), 3.2), sharey=True, squeeze=False)
    for (road, manoeuvre, speed, controller), trace in traces.items():
        if manoeuvre == "double lane change" and speed in speeds:
            axes = grid[0][roads.index(road)]
            style = "-" if controller == OURS else "--"
            name = f"{controller}, {speed:g} m/s"
            axes.plot(trace.time_s, trace.lateral_m, style, color=f"C{speeds.index(speed)}", label=name)
            axes.set(title=road, xlabel="s", ylim=(-0.8, 0.8))
    grid[0][0].set_ylabel("m from the path")
    grid[0][-1].legend(fontsize=6)
    finish(figure, path)


def _errors(path: Path, drives: Sequence[Mapping[str, Any]]) -> None:
    """The RMS over speed: ours drawn through, CARLA's dashed."""
    names = list(dict.fromkeys(each["manoeuvre"] for each in drives))
    roads = list(dict.fromkeys(each["road"] for each in drives))
    figure, grid = plt.subplots(2, 4, figsize=(13.0, 5.8))
    for axes, name in zip(grid.flat, names, strict=False):
        for number, road in enumerate(roads):
            for controller, style in ((OURS, "-"), (PUBLISHED, "--")):
                key = {"road": road, "manoeuvre": name, "controller": controller}
                of = [each for each in drives if all(each[one] == value for one, value in key.items())]
                speeds, found = [each["speed_mps"] for each in of], [each[measure(name)] for each in of]
                axes.plot(speeds, found, style, color=f"C{number}", label=f"{road}: {controller}")
        axes.set(title=name, ylim=(0.0, 0.6 if name != "straight" else 0.1), xlabel="m/s")
    grid[0][0].set_ylabel("error RMS, m")
    grid[1][0].set_ylabel("error RMS, m (speed: m/s)")
    handles, labels = grid[0][0].get_legend_handles_labels()
    for axes in list(grid.flat)[len(names) :]:
        axes.axis("off")
        axes.legend(handles, labels, fontsize=8, loc="center")
    finish(figure, path)
