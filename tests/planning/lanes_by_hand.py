"""Small lane graphs built by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from av_core.types import GeoReference, Lane, LaneGraph, LaneKey, MarkingColour, MarkingKind, Signal


def key(number: int, lane_id: int = -1) -> LaneKey:
    return LaneKey(number, 0, lane_id)


def lane_of(
    name: LaneKey, xy: np.ndarray, yaw: np.ndarray, curvature: np.ndarray, limit_mps: float, junction: bool = False
) -> Lane:
    count = len(xy)
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
    return Lane(
        key=name,
        points=np.column_stack([xy, np.zeros(count)]),
        s_m=s,
        yaw_rad=yaw,
        curvature_1pm=curvature,
        width_m=np.full(count, 3.5),
        speed_limit_mps=limit_mps,
        is_junction=junction,
        successors=(),
        predecessors=(),
        left=None,
        right=None,
        left_change=np.zeros(count, dtype=bool),
        right_change=np.zeros(count, dtype=bool),
        left_marking=(MarkingKind.BROKEN,) * count,
        right_marking=(MarkingKind.SOLID,) * count,
        left_colour=(MarkingColour.WHITE,) * count,
        right_colour=(MarkingColour.WHITE,) * count,
    )


def straight(
    name: LaneKey, x: float, y: float, yaw: float, length: float, limit_mps: float = 13.9, junction: bool = False
) -> Lane:
    count = max(2, round(length) + 1)
    t = np.linspace(0.0, length, count)
    xy = np.column_stack([x + t * np.cos(yaw), y + t * np.sin(yaw)])
    return lane_of(name, xy, np.full(count, yaw), np.zeros(count), limit_mps, junction)


def arc(
    name: LaneKey,
    x: float,
    y: float,
    yaw: float,
    radius: float,
    angle: float,
    limit_mps: float = 13.9,
    junction: bool = False,
) -> Lane:
    """An arc that turns by `angle` (positive to the left)."""
    count = max(3, round(radius * abs(angle)) + 1)
    turn = np.linspace(0.0, angle, count)
    r = radius * np.sign(angle)
    xy = np.column_stack([x + r * (np.sin(yaw + turn) - np.sin(yaw)), y - r * (np.cos(yaw + turn) - np.cos(yaw))])
    return lane_of(name, xy, yaw + turn, np.full(count, 1.0 / r), limit_mps, junction)


def end_of(lane: Lane) -> tuple[float, float, float]:
    return float(lane.points[-1, 0]), float(lane.points[-1, 1]), float(lane.yaw_rad[-1])


def join(lanes: Sequence[Lane], signals: Sequence[Signal] = ()) -> LaneGraph:
    """A graph whose lanes follow each other wherever one ends where another begins, with the same heading."""
    linked = []
    for lane in lanes:
        after = [
            other.key
            for other in lanes
            if other is not lane
            and np.hypot(*(other.points[0, :2] - lane.points[-1, :2])) < 0.1
            and np.cos(other.yaw_rad[0] - lane.yaw_rad[-1]) > 0.99
        ]
        linked.append(replace(lane, successors=tuple(after)))
    return LaneGraph("by hand", {lane.key: lane for lane in linked}, tuple(signals), GeoReference(0.0, 0.0))


def beside(right: Lane, left: Lane, from_m: float = 0.0, to_m: float = float("inf")) -> list[Lane]:
    """Two parallel lanes with lane changes allowed both ways between two arc lengths."""
    allowed = (right.s_m >= from_m) & (right.s_m <= to_m)
    return [
        replace(right, left=left.key, left_change=allowed),
        replace(left, right=right.key, right_change=(left.s_m >= from_m) & (left.s_m <= to_m)),
    ]


def chain(parts: Sequence[tuple[str, float, float]], limit_mps: float = 13.9) -> LaneGraph:
    """A road from ("straight", length, 0) and ("arc", radius, angle) parts, starting at the origin heading east."""
    lanes: list[Lane] = []
    x, y, yaw = 0.0, 0.0, 0.0
    for number, (shape, size, angle) in enumerate(parts):
        if shape == "straight":
            lane = straight(key(number), x, y, yaw, size, limit_mps)
        else:
            lane = arc(key(number), x, y, yaw, size, angle, limit_mps)
        lanes.append(lane)
        x, y, yaw = end_of(lane)
    return join(lanes)
