"""Tables of perception: figures on pictures, limits in bad weather, and the time of each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import markdown_tables

_OWN = (
    ("lanes", "lateral error at 10 m, median", "mean of the weathers"),
    ("lanes", "TuSimple accuracy", "all"),
    ("lanes", "TuSimple accuracy", "HardRainNoon"),
    ("ranging", "relative distance error, median", "0-40 m"),
    ("ranging", "velocity error, RMS", "vehicles to 40 m"),
    ("depth", "AbsRel", "road pixels to 40 m"),
    ("health", "noticed within 2 pictures", "missing"),
    ("lights", "governing light's state right", "0-25 m"),
    ("dashcam", "both lines within 8 px", "marked pictures"),
    ("dashcam", "both lines seen", "video"),
)
"""The figures of the evaluation that the table shows: part, name, group."""

_DETECTOR = (
    ("mAP50-95", "all presets"),
    ("recall of vehicles at IoU 0.5", "all presets"),
    ("recall of pedestrians at IoU 0.5", "all presets"),
    ("recall of vehicles at IoU 0.5", "ClearNoon"),
    ("recall of pedestrians at IoU 0.5", "ClearNoon"),
)

_UNREAL = ("vehicle: AP50", "vehicle: false a picture, checked", "pedestrian: false a picture", "heads: share found")
"""The figures on stills that CARLA's own renderer drew."""

_SHIPPED = "0.8 A, vehicles and people shifted"
"""The row of `detector/heads_goals.json` that holds the shipped weights of n (docs/detector.md names the others)."""


def pictures(own: Mapping[str, Any], detector: Mapping[str, Any], unreal: Mapping[str, Any]) -> str:
    """Figures of each part on this project's pictures and on real ones, and of the detector on CARLA's own pictures."""
    cells = [_figure(own["figures"], name, group, part) for part, name, group in _OWN]
    cells += [_figure(detector["figures"], name, group, "detection") for name, group in _DETECTOR]
    cells += [("detection, CARLA's own pictures", name, f"{unreal[_SHIPPED][name]:.3f}", "") for name in _UNREAL]
    return markdown_tables.rows(("part", "figure", "value", "goal"), cells)


def _figure(figures: Sequence[Mapping[str, Any]], name: str, group: str, part: str) -> tuple[str, str, str, str]:
    (one,) = [f for f in figures if (f["part"], f["name"], f["group"]) == (part, name, group)]
    unit = f" {one['unit']}" if one.get("unit") else ""
    goal = "" if one["goal"] is None else f"{one['goal']:g}{unit}"
    return part, f"{name}, {group}", f"{one['value']:.3f}{unit}", goal


def weather_limits(searches: Sequence[Mapping[str, Any]]) -> str:
    """For each drive and parameter: where each part first missed its limit, for each seed, and the mean of the seeds.

    Parts that are equal in this share a row.
    """
    cells = []
    for search in searches:
        axis = search["search"]
        about = (f"`{search['name']}`", f"`{axis['name']}` from {axis['first']:g} to {axis['second']:g}")
        parts: dict[tuple[str, str], list[str]] = {}
        for found in search["limits_found"]:
            told = ", ".join(_limit(one) for one in found["limits"])
            parts.setdefault((told, _interval(found["interval"])), []).append(found["module"])
        cells += [(*about, ", ".join(modules), *told) for told, modules in parts.items()]
        first = [" and ".join(modules) or "none" for modules in search["failed_first"].values()]
        cells.append((*about, "first of perception to fail", ", ".join(first), ""))
    columns = ("drive", "searched", "part", "first missed at, for each seed", "mean, 95 % interval")
    return markdown_tables.rows(columns, cells)


def _limit(one: Mapping[str, Any]) -> str:
    if not one["is_known"]:
        return "unknown"
    if one["missed"] is None:
        return "never"
    kept = "missed from the mild end on" if one["kept"] is None else f"kept at {one['kept']:g}"
    return f"{one['missed']:g} ({kept})"


def _interval(found: Mapping[str, Any] | None) -> str:
    """The mean over the seeds; a single drive has no interval, and a part that no drive misses has no mean."""
    if found is None:
        return ""
    between = "" if found["low"] is None else f", {found['low']:.4g} to {found['high']:.4g}"
    return f"{found['mean']:.4g}{between}"


def cost(loop: Mapping[str, Any], cpu: Mapping[str, Any]) -> str:
    """Median time of each stage in the closed loop, ms, and of perception alone on recorded pictures."""
    cells = [(name, f"{ms:.1f}") for name, ms in loop["stage_median_ms"].items()]
    cells.append(("all of perception on recorded pictures", f"{cpu['whole_median_ms']:.1f}"))
    table = markdown_tables.rows(("stage", "median, ms"), cells)
    machine = loop["machine"]
    return (
        f"{table}\nThe closed loop with {loop['vehicles']} vehicles ran {loop['closed_loop_steps_per_s']:.1f} steps/s "
        f"on {machine['cores']} cores ({machine['cpu']}); the goal is {loop['required_steps_per_s']:.0f}.\n"
    )
