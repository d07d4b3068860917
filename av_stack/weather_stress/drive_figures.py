"""The figures of one drive in a weather of its own, from the files that it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from av_core.types import Truth
from av_stack.weather_stress.figures import Figure

PASSES, SCORE, COMPLETION = "passes", "driving_score", "route_completion"
LATERAL_RMS, POSITION_RMS, LEAST_TTC = "lateral_rms_m", "localization_rms_m", "time_to_collision_min_s"
STOPPING = "stopping_distance_m"

STANDING_MPS = 0.1
"""Below this speed the ego counts as standing."""


def drive_figures(result: Mapping[str, Any], truths: Sequence[Truth]) -> list[Figure]:
    """The figures of a drive that ended, from result.json and the truth of its steps."""
    values = {
        PASSES: float(not result["shortcomings"]),
        SCORE: result["driving_score"],
        COMPLETION: result["route_completion"],
        LATERAL_RMS: result["lateral_rms_m"],
        POSITION_RMS: (result["localization_error"] or {}).get("rms_m"),
        LEAST_TTC: result["safety"]["time_to_collision_min_s"],
        STOPPING: stopping_distance_m(truths, result["events"]),
    }
    return [Figure(name, value, 0 if value is None else 1) for name, value in values.items()]


def stopping_distance_m(truths: Sequence[Truth], events: Mapping[str, float]) -> float | None:
    """Distance driven from the script's first event to where the ego stands.

    None where the script has no event, or the ego does not stop after it before the drive ends at its goal.
    """
    if not events or not truths:
        return None
    at_s = truths[0].stamp.time_s + min(events.values())  # events count from the first tick
    after = [truth for truth in truths if truth.stamp.time_s >= at_s]
    driven_m = 0.0
    for before, truth in pairwise(after):
        driven_m += float(np.hypot(truth.ego.x_m - before.ego.x_m, truth.ego.y_m - before.ego.y_m))
        if abs(truth.ego_speed_mps) < STANDING_MPS:
            is_at_the_end = truth.stamp.frame >= truths[-1].stamp.frame
            return None if is_at_the_end else driven_m
    return None
