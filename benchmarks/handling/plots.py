"""Draws the curves of `benchmarks.handling` as PNG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.lines import Line2D

from benchmarks.dynamics.plots import finish  # chooses matplotlib's backend

_SIZE_IN = (8.0, 4.4)
_OURS, _PDM_LITE, _RAILS = "-", "--", ":"
_HELD = 0.97
"""Share of the wanted speed from which the speed counts as held."""

Curves = Mapping[str, Any]


def draw_all(folder: Path, curves: Curves) -> None:
    _turn(folder / "handling_turn.png", curves["turn"])
    for control, title in (("throttle", "throttle from rest"), ("brake", "full brake")):
        _speeds(folder / f"handling_{control}.png", curves[control], curves["step_s"], title)


def _legend(axes: Any, colours: Mapping[str, Any], styles: Mapping[str, Any], places: tuple[str, str]) -> None:
    lines = [Line2D([], [], color=colour, label=label) for label, colour in colours.items()]
    kinds = [Line2D([], [], color="black", linestyle=style, label=label) for label, style in styles.items()]
    axes.add_artist(axes.legend(handles=kinds, fontsize=8, loc=places[0]))
    axes.legend(handles=lines, fontsize=8, loc=places[1])


def _turn(path: Path, turns: Curves) -> None:
    figure, axes = plt.subplots(figsize=_SIZE_IN)
    colours = {name.replace("_mps", " m/s"): f"C{i}" for i, name in enumerate(turns)}
    for colour, found in zip(colours.values(), turns.values(), strict=True):
        axes.plot(found["steer"], found["yaw_rate_degps"], _OURS, color=colour)
        for held, fill in ((True, colour), (False, "white")):
            of = [i for i, at in enumerate(found["speed_mps"]) if (at > _HELD * found["speed_mps"][0]) == held]
            steers, rates = ([found[name][i] for i in of] for name in ("steer", "yaw_rate_degps"))
            axes.plot(steers, rates, "o", markersize=4, color=colour, markerfacecolor=fill)
        axes.plot(found["steer"], found["published_yaw_rate_degps"], _PDM_LITE, color=colour)
    axes.set(
        xlabel="steer",
        ylabel="yaw rate, deg/s",
        title="steady turn (open circles: the speed is not held)",
        xlim=(0, 1),
        ylim=(0, None),
    )
    _legend(axes, colours, {"this server": _OURS, "PDM-Lite, World on Rails": _PDM_LITE}, ("upper left", "lower right"))
    finish(figure, path)


def _speeds(path: Path, runs: Curves, step_s: float, title: str) -> None:
    figure, axes = plt.subplots(figsize=_SIZE_IN)
    shades = plt.get_cmap("viridis")
    colours = {name.replace("_mps", " m/s"): shades(0.9 * i / (len(runs) - 1)) for i, name in enumerate(runs)}
    last = list(runs)[-1]
    for colour, (name, found) in zip(colours.values(), runs.items(), strict=True):
        times = [step_s * i for i in range(len(found["speed_mps"]))]
        axes.plot(times, found["speed_mps"], _OURS, color=colour)
        axes.plot(times, found["pdm_lite_mps"], _PDM_LITE, color=colour)
        if name == last or "brake" in title:
            axes.plot(times, found["world_on_rails_mps"], _RAILS, color=colour)
    axes.set(xlabel="s", ylabel="m/s", title=title, xlim=(0, times[-1]), ylim=(0, None))
    styles = {"this server": _OURS, "PDM-Lite": _PDM_LITE, "World on Rails": _RAILS}
    _legend(axes, colours, styles, ("upper center", "upper left" if "throttle" in title else "upper right"))
    finish(figure, path)
