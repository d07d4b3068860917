"""The data of a drive's page, as its scripts read them: signals over time, tracks, roads, infractions, video."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from av_core.types import Float
from av_stack.recording.ground_view import EGO_CENTRE_M
from av_stack.recording.recorder import VIDEO_EVERY_STEPS
from av_stack.report.from_above import SIZES_M
from av_stack.report.recorded import Recorded

SAMPLES_MAX = 4000
"""Most samples of a signal in a page; a longer drive is thinned out."""

EGO_EVERY_S = 0.1
"""Time between two points of the ego's track."""

KMH = 3.6


def signals(recorded: Recorded) -> dict[str, Any]:
    """Values over time, null where there are none; only those that the recording holds."""
    step = math.ceil(len(recorded.time_s) / SAMPLES_MAX)
    found: dict[str, Any] = {"time_s": _plain(recorded.time_s[::step], 2)}
    for name in recorded.signals:
        if recorded.has(name):
            values = recorded.signals[name][::step]
            is_speed = name in ("speed_mps", "limit_mps")
            key = name.replace("_mps", "_kmh") if is_speed else name
            found[key] = _plain(values * KMH if is_speed else values, 3)
    return found


def bands(recorded: Recorded, told: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """The stretches of time with one kind of constraint, or one behaviour, with the words at their begin.

    `told` has the kind and the words of each step; an empty kind makes a gap.
    """
    found: list[dict[str, Any]] = []
    last = ""
    for t, (kind, words) in zip(recorded.time_s.tolist(), told, strict=True):
        if kind and kind == last:
            found[-1]["end_s"] = round(t, 2)
        elif kind:
            if last:
                found[-1]["end_s"] = round(t, 2)
            found.append({"kind": kind, "begin_s": round(t, 2), "end_s": round(t, 2), "words": words})
        last = kind
    return found


def constraint_words(recorded: Recorded) -> list[list[Any]]:
    """[time s, words] at each change of what limits the speed, as the video shows it."""
    found: list[list[Any]] = []
    for t, (_, words) in zip(recorded.time_s.tolist(), recorded.constraints, strict=True):
        if not found or found[-1][1] != words:
            found.append([round(t, 2), words])
    return found if any(words for _, words in found) else []


def ego_track(recorded: Recorded) -> dict[str, Any]:
    step_s = step_of(recorded)
    every = max(1, round(EGO_EVERY_S / step_s)) if step_s > 0.0 else 1
    rows = np.column_stack([recorded.time_s, recorded.ego])[::every]
    return _track("ego", rows)


def tracks(recorded: Recorded) -> list[dict[str, Any]]:
    """The other road users' tracks."""
    return [_track(track.kind, np.array(track.rows)) | {"id": key} for key, track in recorded.tracks.items()]


def video_time(recorded: Recorded) -> dict[str, float]:
    """The time at which the video begins, and the number of seconds of the drive per second of video."""
    first = next((i for i, frame in enumerate(recorded.frames) if frame % VIDEO_EVERY_STEPS == 0), 0)
    step_s = step_of(recorded)
    per_picture_s = VIDEO_EVERY_STEPS * step_s
    rate = per_picture_s * round(1.0 / per_picture_s) if per_picture_s > 0.0 else 1.0
    return {"begin_s": round(float(recorded.time_s[first]), 3), "rate": rate}


def step_of(recorded: Recorded) -> float:
    """Time between two steps, s; 0 for a single step."""
    return float(np.median(np.diff(recorded.time_s))) if len(recorded.time_s) > 1 else 0.0


def _track(kind: str, rows: Float) -> dict[str, Any]:
    t, x, y, yaw = rows.T
    return {"kind": kind, "t": _plain(t, 2), "x": _plain(x, 2), "y": _plain(y, 2), "yaw": _plain(np.unwrap(yaw), 3)}


def _plain(values: Float, digits: int) -> list[float | None]:
    rounded: Sequence[float] = np.round(values, digits).tolist()
    return [None if value != value else value for value in rounded]


def scenario_bands(parts: Sequence[Mapping[str, Any]], end_s: float) -> list[dict[str, Any]]:
    """The stretches of time over which the scenarios of a drive ran; one that did not end runs to the end."""
    return [
        {
            "kind": part["type"],
            "begin_s": part["began_s"],
            "end_s": end_s if part.get("ended_s") is None else part["ended_s"],
            "words": f"{part['name']}, not finished in time" if part.get("is_timed_out") else str(part["name"]),
        }
        for part in parts
        if part.get("began_s") is not None
    ]


def page_data(
    recorded: Recorded | None, infractions: Sequence[Mapping[str, Any]], parts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """All data for the scripts of a drive's page, except for the video.

    `infractions` are the rows from `infraction_rows`, `parts` the parts of the script from result.json.
    """
    shown = [{key: entry[key] for key in ("kind", "time_s", "x_m", "y_m", "what", "words")} for entry in infractions]
    if recorded is None:
        return {"infractions": shown, "signals": None}
    return {
        "infractions": shown,
        "duration_s": round(float(recorded.time_s[-1]), 3),
        "signals": signals(recorded),
        "bands": bands(recorded, recorded.constraints),
        "behaviours": bands(recorded, recorded.behaviours),
        "parts": scenario_bands(parts, float(recorded.time_s[-1])),
        "constraints": constraint_words(recorded),
        "ego": ego_track(recorded),
        "tracks": tracks(recorded),
        "roads": recorded.roads,
        "sizes_m": SIZES_M,
        "ego_centre_m": EGO_CENTRE_M,
    }
