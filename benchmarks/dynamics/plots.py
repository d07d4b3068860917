"""Draws the curves of `benchmarks.dynamics` as PNG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.dynamics.drives import STEP_AT_S

matplotlib.use("Agg")
from matplotlib import pyplot as plt

_SIZE_IN, _DPI = (10.0, 4.0), 80
_COLOURS = dict(
    zip(
        ("car", "electric car", "small car", "van", "truck", "bus", "motorcycle", "bicycle"),
        ("C0", "C9", "C4", "C1", "C3", "C5", "C2", "C7"),
        strict=True,
    )
)
Curves = Mapping[str, Mapping[str, Any]]


def draw_all(folder: Path, curves: Curves) -> None:
    _launch(folder / "launch.png", curves)
    _stops(folder / "braking.png", curves)
    _circle(folder / "circle.png", curves)
    _step(folder / "step_steer.png", curves)


def finish(figure: Any, path: Path) -> None:
    """Add grids, write the figure to `path` without the version of matplotlib, and close it."""
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})
    plt.close(figure)


def _launch(path: Path, curves: Curves) -> None:
    figure, (speed, engine) = plt.subplots(1, 2, figsize=_SIZE_IN)
    for name, of in curves.items():
        found = of["launch"]
        speed.plot(found["time_s"], 3.6 * found["speed_mps"], color=_COLOURS[name], label=name)
        if name in ("car", "truck"):
            engine.plot(3.6 * found["speed_mps"], found["engine_rpm"], color=_COLOURS[name], label=name)
    speed.axhline(100.0, color="black", linewidth=0.6)
    speed.set(xlabel="s", ylabel="km/h", title="full throttle from rest", xlim=(0, 40), ylim=(0, 200))
    engine.set(xlabel="km/h", ylabel="rpm", title="engine speed through the gears", xlim=(0, 160), ylim=(0, None))
    speed.legend(fontsize=8, loc="lower right")
    engine.legend(fontsize=8)
    finish(figure, path)


def _stops(path: Path, curves: Curves) -> None:
    figure, both = plt.subplots(1, 2, figsize=_SIZE_IN, sharey=True)
    for axes, name in zip(both, ("car", "truck"), strict=True):
        for i, (road, stops) in enumerate(curves[name]["stops"].items()):
            for kmh in (50, 100):
                stop = stops[kmh]
                label = road if kmh == 100 else None
                axes.plot(stop["distance_m"], 3.6 * stop["speed_mps"], color=f"C{i}", label=label)
        axes.set(xlabel="m", ylabel="km/h", title=f"full brake from 50 and 100 km/h: {name}", ylim=(0, None))
        axes.legend(fontsize=8)
    finish(figure, path)


def _circle(path: Path, curves: Curves) -> None:
    figure, axes = plt.subplots(figsize=(7.0, 4.0))
    for name, of in curves.items():
        found = of["circle"]
        axes.plot(found["lateral_g"], found["understeer_deg"], color=_COLOURS[name], label=name)
    axes.set(xlabel="lateral acceleration, g", ylabel="front wheel angle beyond Ackermann's, deg", ylim=(0, 4))
    axes.set_title("steady circles at 80 km/h (truck 71, bus 76, bicycle 30)")
    axes.legend(fontsize=8)
    finish(figure, path)


def _step(path: Path, curves: Curves) -> None:
    figure, axes = plt.subplots(figsize=(7.0, 4.0))
    for name, of in curves.items():
        found = of["step"]
        steady = found["yaw_rate_degps"][-1]
        axes.plot(found["time_s"] - STEP_AT_S, found["yaw_rate_degps"] / steady, color=_COLOURS[name], label=name)
    axes.set(xlabel="s after the step", ylabel="yaw rate over the steady one", xlim=(-0.2, 2.0))
    axes.set_title("step of the steering to 0.3 g")
    axes.legend(fontsize=8)
    finish(figure, path)
