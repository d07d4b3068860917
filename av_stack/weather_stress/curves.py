"""The curves and heat maps of a study: means over its drives, with their intervals, per weather."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from av_stack.replay.weather_report import BANDS_M
from av_stack.weather_stress import drive_figures as driven
from av_stack.weather_stress import figures as seen
from av_stack.weather_stress.intervals import mean_interval

SHARE = 1.0
"""Largest value of a share."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot: the figures that it shows, each with the words of its line; none is below 0 or above `most`."""

    title: str
    lines: tuple[tuple[str, str], ...]
    most: float = math.inf


def _by_distance(group: str) -> Plot:
    lines = [(seen.recall_name(group, low, high, "m"), f"{low:g}-{high:g} m") for low, high in BANDS_M]
    return Plot(f"{group} detected, by distance (share)", tuple(lines), SHARE)


def _by_size(group: str) -> Plot:
    lines = [
        (seen.recall_name(group, low, high, "px"), f"from {low:g} px" if high > 1e6 else f"{low:g}-{high:g} px")
        for low, high in seen.HEIGHTS_PX
    ]
    return Plot(f"{group} detected, by height in the picture (share)", tuple(lines), SHARE)


PLOTS = (
    Plot("driving score (2.0)", ((driven.SCORE, "driving score"),), 100.0),
    Plot("drives that lack nothing (share)", ((driven.PASSES, "drives"),), SHARE),
    Plot("lane lines right (share)", ((seen.LINES_KEPT, "lines"),), SHARE),
    Plot("lane error at 10 m (m)", ((seen.LINE_ERROR_MEDIAN, "median"), (seen.LINE_ERROR_P95, "95 %"))),
    _by_distance("vehicles"),
    _by_distance("pedestrians"),
    _by_size("vehicles"),
    _by_size("pedestrians"),
    Plot("road users up to 40 m detected (share)", ((seen.USERS_KEPT, "road users"),), SHARE),
    Plot("median relative range error", ((seen.RANGE_ERROR, "range error"),)),
    Plot("localization error, 95 % (m)", ((seen.POSITION_P95, "position"), (seen.ACROSS_P95, "across the lane"))),
    Plot("traffic lights (share)", ((seen.LIGHTS_KEPT, "right"),
                                    (seen.LIGHTS_WRONG, "wrong")), SHARE),
    Plot("lateral error of the drive, rms (m)", ((driven.LATERAL_RMS, "lateral error"),)),
    Plot("stopping distance (m)", ((driven.STOPPING, "from the event to standing"),)),
    Plot("smallest time to collision (s)", ((driven.LEAST_TTC, "time to collision"),)),
)  # fmt: skip


def curves(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The plots of a study with one axis that have any value: each line as x, mean, low and high."""
    [axis] = content["axes"]
    values = sorted(axis["values"]) if all(not isinstance(value, str) for value in axis["values"]) else axis["values"]
    stated = {limit["figure"]: limit["value"] for limit in content["limits"]}
    found = []
    for plot in PLOTS:
        lines = [_line(content, plot, number, axis["name"], values) for number in range(len(plot.lines))]
        lines = [line for line in lines if line["x"]]
        if lines:
            limits = sorted({stated[figure] for figure, _ in plot.lines if figure in stated})
            found.append({"title": plot.title, "x_title": axis["name"], "lines": lines, "limits": limits})
    return found


def heat_maps(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A map of means for each figure of a study with two axes."""
    first, second = content["axes"]
    found = []
    for plot in PLOTS:
        for figure, words in plot.lines:
            rows = [
                [_mean(content, figure, {first["name"]: x, second["name"]: y}) for x in first["values"]]
                for y in second["values"]
            ]
            if any(value is not None for row in rows for value in row):
                title = plot.title if len(plot.lines) == 1 else f"{plot.title}: {words}"
                found.append(
                    {"title": title, "x": first["values"], "y": second["values"], "z": rows,
                     "x_title": first["name"], "y_title": second["name"]}
                )  # fmt: skip
    return found


def _line(content: Mapping[str, Any], plot: Plot, number: int, name: str, values: Sequence[Any]) -> dict[str, Any]:
    """One line of a plot; its band ends where the figure cannot be."""
    figure, words = plot.lines[number]
    line: dict[str, Any] = {"name": words, "x": [], "mean": [], "low": [], "high": [], "drives": []}
    for value in values:
        interval = mean_interval(_values(content, figure, {name: value}))
        if interval is not None:
            line["x"].append(value)
            line["mean"].append(interval.mean)
            line["low"].append(None if interval.low is None else max(interval.low, 0.0))
            line["high"].append(None if interval.high is None else min(interval.high, plot.most))
            line["drives"].append(interval.count)
    return line


def _mean(content: Mapping[str, Any], figure: str, point: Mapping[str, Any]) -> float | None:
    interval = mean_interval(_values(content, figure, point))
    return None if interval is None else interval.mean


def _values(content: Mapping[str, Any], figure: str, point: Mapping[str, Any]) -> list[float]:
    found = [each["figures"].get(figure) for each in content["points"] if each["point"] == point]
    return [value for value in found if value is not None]
