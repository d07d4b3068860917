"""The data of a recording that a report shows: the ego, the road users around it, signals over time, and the roads."""

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
    """A road user's track near the ego: rows (time s, x m, y m, yaw rad), map frame."""

    kind: str
    rows: list[tuple[float, float, float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A drive of N steps, with times in seconds since the first of them.

    * `ego` (N, 3) is x m, y m, yaw rad of the rear axle in the map frame;
    * `signals` holds further values (N,), NaN where a step has none: names as in the recording;
    * `constraints` has for each step the kind and the words of the constraint on the speed, empty if none is recorded;
    * `behaviours` has for each step what the ego does and why, empty if none is recorded;
    * `roads` is the message of /map, None in recordings of older versions.
    """

    time_s: Float
    frames: tuple[int, ...]
    ego: Float
    signals: Mapping[str, Float]
    constraints: tuple[tuple[str, str], ...]
    behaviours: tuple[tuple[str, str], ...]
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
        collected = _Collected(_metadata(file))
        for time_ns, step in _steps(file):
            collected.add(time_ns, step)
    return collected.whole() if collected.times_ns else None


class _Collected:
    """Takes in a recording step by step, and keeps of each only what a report shows."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self.times_ns: list[int] = []
        self._metadata = metadata
        self._frames: list[int] = []
        self._ego: list[tuple[float, float, float]] = []
        self._signals: dict[str, list[float]] = {name: [] for names in SIGNALS.values() for name in names}
        self._constraints: list[tuple[str, str]] = []
        self._behaviours: list[tuple[str, str]] = []
        self._tracks: dict[int, Track] = {}
        self._roads: Mapping[str, Any] | None = None

    def add(self, time_ns: int, step: Mapping[str, Row]) -> None:
        """Take in the messages of one step, by topic; a step without the truth is ignored."""
        self._roads = step.get("/map", self._roads)
        truth = step.get("/truth")
        if truth is None:
            return
        self.times_ns.append(time_ns)
        self._frames.append(int(truth["frame"]))
        self._ego.append((truth["x_m"], truth["y_m"], truth["yaw_rad"]))
        for topic, names in SIGNALS.items():
            for name in names:
                self._signals[name].append(_value(step.get(topic), name))
        control = step.get("/control", {})
        self._constraints.append((control.get("limited_by", ""), control.get("constraint", "")))
        behaviour, reason = control.get("behaviour", ""), control.get("reason", "")
        self._behaviours.append((behaviour, f"{behaviour}: {reason}" if behaviour else ""))
        self._add_tracks((time_ns - self.times_ns[0]) / 1e9, truth)

    def _add_tracks(self, time_s: float, truth: Row) -> None:
        for track_id, kind, x_m, y_m, yaw_rad, *_ in truth["objects"]:
            if (x_m - truth["x_m"]) ** 2 + (y_m - truth["y_m"]) ** 2 > NEAR_M**2:
                continue
            rows = self._tracks.setdefault(track_id, Track(kind)).rows
            if not rows or time_s - rows[-1][0] > TRACK_EVERY_S - 1e-6:
                rows.append((time_s, x_m, y_m, yaw_rad))

    def whole(self) -> Recorded:
        """All that was taken in."""
        return Recorded(
            time_s=(np.array(self.times_ns) - self.times_ns[0]) / 1e9,
            frames=tuple(self._frames),
            ego=np.array(self._ego, dtype=np.float64),
            signals={name: np.array(values) for name, values in self._signals.items()},
            constraints=tuple(self._constraints),
            behaviours=tuple(self._behaviours),
            tracks=self._tracks,
            roads=self._roads,
            metadata=self._metadata,
        )


def _value(row: Row | None, name: str) -> float:
    value = None if row is None else row.get(name)
    return float("nan") if value is None else float(value)


def _steps(file: IO[bytes]) -> Iterator[tuple[int, dict[str, Row]]]:
    """Time and messages by topic of each step, in the order of time."""
    time_ns, step = 0, dict[str, Row]()
    for _, channel, message in make_reader(file).iter_messages(topics=list(_TOPICS)):
        if step and message.log_time != time_ns:
            yield time_ns, step
            step = {}
        time_ns = message.log_time
        step[channel.topic] = json.loads(message.data)
    if step:
        yield time_ns, step


def _metadata(file: IO[bytes]) -> dict[str, str]:
    found = {key: value for record in make_reader(file).iter_metadata() for key, value in record.metadata.items()}
    file.seek(0)
    return found
