"""The entries of suite.json: for each run, figures of its result, its attempts, and its crash if it ended in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from av_stack.suite.job import Attempt, Job

KEPT = (
    "map",
    "weather",
    "seed",
    "agent",
    "end",
    "route_completion",
    "route_length_m",
    "driving_score",
    "driving_score_2_1",
    "collisions",
    "red_lights",
    "stop_signs",
    "scenario_timeouts",
    "failed_yields",
    "is_success",
    "stops_at_red",
    "lateral_rms_m",
    "lateral_max_m",
    "time_s",
    "steps_per_s",
    "fastest_1000_m_mps",
    "oracles",
    "parts",
)
"""Figures of result.json that suite.json repeats; None where a result lacks them."""


def entry(job: Job, figures: Mapping[str, Any] | None, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The entry of a run that ended with the last of `attempts`; `figures` is its result.json, None if it wrote none.

    After a crash the figures are those of an incomplete drive, and `shortcomings` is empty, because a crash says
    nothing about the driving.
    """
    last = attempts[-1]
    found: Mapping[str, Any] = figures or {}
    time_s = found.get("time_s") or 0.0
    if last.crash is not None:
        shortcomings = []
    elif figures is None:
        shortcomings = [last.error or last.end]
    else:
        shortcomings = list(figures["shortcomings"])
    return {
        "scenario": job.name,
        **{name: found.get(name) for name in KEPT},
        "map": found.get("map", job.map_name),
        "end": last.end,
        "localization_rms_m": (found.get("localization_error") or {}).get("rms_m"),
        "mean_kmh": 3.6 * found["driven_m"] / time_s if time_s > 0.0 else None,
        "shortcomings": shortcomings,
        "error": last.error,
        "crash": last.crash,
        "attempts": [asdict(attempt) for attempt in attempts],
    }


def is_driven(entry: Mapping[str, Any]) -> bool:
    """Whether a run was driven to an end, good or bad: it started and nothing crashed."""
    return entry["crash"] is None and entry["route_completion"] is not None


def summary(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Numbers of the runs that passed, failed, did not start and crashed, and mean scores of the runs that were driven.

    "succeeded" counts Bench2Drive's successes: drives without an infraction except a low speed.
    """
    driven = [found for found in entries if is_driven(found)]
    crashed = [found for found in entries if found["crash"] is not None]
    passed = [found for found in driven if not found["shortcomings"]]
    return {
        "runs": len(entries),
        "passed": len(passed),
        "failed": len(driven) - len(passed),
        "succeeded": sum(bool(found["is_success"]) for found in driven),
        "not_started": len(entries) - len(driven) - len(crashed),
        "crashed": len(crashed),
        "crashed_attempts": sum(attempt["crash"] is not None for found in entries for attempt in found["attempts"]),
        "driving_score": _mean(found["driving_score"] for found in driven),
        "driving_score_2_1": _mean(found["driving_score_2_1"] for found in driven),
    }


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
