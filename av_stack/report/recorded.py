"""What a report shows of a recording: the ego, the road users around it, signals over time, and the roads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from mcap.reader import make_reader

from av_core.types import Float
from av_stack.recording.repair import open_recording

NEAR_M = 100.0
"""Road users farther from the ego than this are left out."""

TRACK_EVERY_S = 0.25
"""Time between two points of a road user's track."""

SIGNALS = {
    "/truth": ("speed_mps",),
    "/control": ("throttle", "brake", "steer"),
    "/judge": ("progress_m", "limit_mps", "lateral_error_m"),
    "/confidence": ("left_line", "right_line", "position_sigma_m"),
}
"""The values that a report shows, by topic."""

_TOPICS = (*SIGNALS, "/map")

Row = dict[str, Any]


@dataclass(slots=True)
class Track:
    """A road user's way near the ego: rows of time s, x m, y m, yaw rad in the map frame."""

    kind: str
    rows: list[tuple[float, float, float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A drive of N steps, with times in seconds since the first of them.

    * `ego` (N, 3) is x m, y m, yaw rad of the rear axle in the map frame;
    * `signals` holds further values (N,), NaN where a step has none: names as in the recording;
    * `constraints` has for each step what limits the speed: its kind and its words, empty where nothing is recorded;
    * `roads` is the message of /map, None in recordings of older versions.
    """

    time_s: Float
    frames: tuple[int, ...]
    ego: Float
    signals: Mapping[str, Float]
    constraints: tuple[tuple[str, str], ...]
    tracks: Mapping[int, Track]
    roads: Mapping[str, Any] | None
    metadata: Mapping[str, str]

    def has(self, signal: str) -> bool:
        """Whether any step has a value of this signal."""
        return signal in self.signals and not bool(np.isnan(self.signals[signal]).all())


def read_recording(path: Path) -> Recorded | None:
    """The content of a recording, also of one that was cut off; None where it holds no step.

    Raises ConfigError where the file is no recording, OSError where it cannot be read.
    """
    with open_recording(path) as file:
        metadata = _metadata(file)
        roads: Mapping[str, Any] | None = None
        steps: list[dict[str, Row]] = []
        times_ns: list[int] = []
        for time_ns, topic, row in _messages(file):
            if topic == "/map":
                roads = row
                continue
            if not times_ns or time_ns != times_ns[-1]:
                times_ns.append(time_ns)
                steps.append({})
            steps[-1][topic] = row
    kept = [(time_ns, step) for time_ns, step in zip(times_ns, steps, strict=True) if "/truth" in step]
    return _recorded(kept, roads, metadata) if kept else None


def _recorded(
    kept: list[tuple[int, dict[str, Row]]], roads: Mapping[str, Any] | None, metadata: Mapping[str, str]
) -> Recorded:
    first_ns = kept[0][0]
    time_s = np.array([(time_ns - first_ns) / 1e9 for time_ns, _ in kept])
    truths = [step["/truth"] for _, step in kept]
    ego = np.array([(truth["x_m"], truth["y_m"], truth["yaw_rad"]) for truth in truths], dtype=np.float64)
    signals = {
        name: np.array([_value(step.get(topic), name) for _, step in kept])
        for topic, names in SIGNALS.items()
        for name in names
    }
    controls = [step.get("/control", {}) for _, step in kept]
    constraints = tuple((row.get("limited_by", ""), row.get("constraint", "")) for row in controls)
    frames = tuple(int(truth["frame"]) for truth in truths)
    return Recorded(time_s, frames, ego, signals, constraints, _tracks(time_s, ego, truths), roads, metadata)


def _tracks(time_s: Float, ego: Float, truths: list[Row]) -> dict[int, Track]:
    """The tracks of all road users near the ego, by id."""
    tracks: dict[int, Track] = {}
    for t, (x, y, _), truth in zip(time_s.tolist(), ego.tolist(), truths, strict=True):
        for track_id, kind, x_m, y_m, yaw_rad, *_ in truth["objects"]:
            if (x_m - x) ** 2 + (y_m - y) ** 2 > NEAR_M**2:
                continue
            rows = tracks.setdefault(track_id, Track(kind)).rows
            if not rows or t - rows[-1][0] > TRACK_EVERY_S - 1e-6:
                rows.append((t, x_m, y_m, yaw_rad))
    return tracks


def _value(row: Row | None, name: str) -> float:
    value = None if row is None else row.get(name)
    return float("nan") if value is None else float(value)


def _messages(file: IO[bytes]) -> Iterator[tuple[int, str, Row]]:
    """Time, topic and content of the messages that a report needs, in the order of time."""
    for _, channel, message in make_reader(file).iter_messages(topics=list(_TOPICS)):
        yield message.log_time, channel.topic, json.loads(message.data)


def _metadata(file: IO[bytes]) -> dict[str, str]:
    found = {key: value for record in make_reader(file).iter_metadata() for key, value in record.metadata.items()}
    file.seek(0)
    return found
