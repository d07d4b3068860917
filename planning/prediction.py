"""Predicts where other road users will be in the next seconds.

A vehicle follows its lane at constant speed, with one hypothesis for each lane that fits; everything else keeps its
velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, LaneGraph, LaneKey, ObjectKind, SignalKind, TrackedObject
from planning.lane_index import LaneIndex, LaneMatch

_FOLLOW_M = 80.0
"""Distance for which a lane is followed beyond its end."""

_MATCH_M = 1.6
"""Largest lateral offset and heading difference at which a vehicle is taken to follow a lane."""

_MATCH_RAD = 0.6
_MAX_LANES = 3
"""Most lane hypotheses for one vehicle."""

_LEAVING_MPS = 0.6
"""Sideways speed from which a vehicle may be leaving its lane."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """H hypotheses over T times: `owner` (H,) is the index of the object; x, y and yaw are (H, T), map frame.

    `on_approach` (H,): the object's lane is not yet inside a junction. `must_yield` (H,): in addition, that lane or one
    of its successors has a stop or yield sign.
    """

    owner: NDArray[np.int64]
    x_m: Float
    y_m: Float
    yaw_rad: Float
    on_approach: NDArray[np.bool_]
    must_yield: NDArray[np.bool_]


class Predictor:
    """Predicts vehicles along their lane at constant speed, and other road users at constant velocity.

    At a fork, the straightest continuation of the lane is followed.

    A vehicle that moves sideways on its lane, as in a lane change, gets a hypothesis at constant velocity as well.
    """

    def __init__(self, graph: LaneGraph) -> None:
        self._graph = graph
        self._index = LaneIndex(graph)
        self._ahead: dict[LaneKey, Float] = {}
        self._signed = {signal.lane for signal in graph.signals if signal.kind is not SignalKind.TRAFFIC_LIGHT}

    def predict(self, objects: Sequence[TrackedObject], times_s: Float) -> Predictions:
        """One hypothesis for each lane that an object may follow, or one at constant velocity."""
        rows: list[tuple[int, Float, bool, bool]] = []
        places = np.array([[o.x_m, o.y_m] for o in objects]).reshape(-1, 2)
        course = np.array([np.arctan2(o.velocity_mps[1], o.velocity_mps[0]) for o in objects])
        matches = self._index.matches(places, course, _MATCH_M, _MATCH_RAD) if objects else []
        for number, (item, near) in enumerate(zip(objects, matches, strict=True)):
            if item.kind is ObjectKind.PEDESTRIAN or not near:
                rows.append((number, _constant_velocity(item, times_s), False, False))
                continue
            if item.speed_mps * abs(np.sin(near[0].heading_rad)) > _LEAVING_MPS:
                rows.append((number, _constant_velocity(item, times_s), False, False))
            for match in near[:_MAX_LANES]:
                lane = self._graph.lanes[match.lane]
                signed = match.lane in self._signed or any(key in self._signed for key in lane.successors)
                rows.append((number, self._follow_lane(item, match, times_s), not lane.is_junction, signed))
        track = np.array([row[1] for row in rows]).reshape(-1, 3, len(times_s))
        return Predictions(
            owner=np.array([row[0] for row in rows], dtype=np.int64),
            x_m=track[:, 0],
            y_m=track[:, 1],
            yaw_rad=track[:, 2],
            on_approach=np.array([row[2] for row in rows], dtype=bool),
            must_yield=np.array([row[3] and row[2] for row in rows], dtype=bool),
        )

    def _follow_lane(self, item: TrackedObject, match: LaneMatch, times_s: Float) -> Float:
        path = self._path(match.lane)
        s = match.s_m + item.speed_mps * times_s
        yaw = np.interp(s, path[3], path[2])
        x, y = np.interp(s, path[3], path[0]), np.interp(s, path[3], path[1])
        beyond = np.maximum(0.0, s - path[3, -1])
        x, y = x + beyond * np.cos(yaw), y + beyond * np.sin(yaw)
        return np.stack([x - match.offset_m * np.sin(yaw), y + match.offset_m * np.cos(yaw), yaw])

    def _path(self, key: LaneKey) -> Float:
        """(4, M) x, y, yaw, s along the lane and at least `_FOLLOW_M` of its straightest continuation."""
        if key not in self._ahead:
            parts: list[Float] = []
            length, end = 0.0, self._graph.lanes[key].length_m + _FOLLOW_M
            here: LaneKey | None = key
            while here is not None and length < end and len(parts) < 50:
                lane = self._graph.lanes[here]
                parts.append(np.stack([lane.points[:, 0], lane.points[:, 1], lane.yaw_rad, lane.s_m + length]))
                length += lane.length_m
                here = self._straightest(here)
            path = np.concatenate(parts, axis=1)
            path[2] = np.unwrap(path[2])
            self._ahead[key] = path
        return self._ahead[key]

    def _straightest(self, key: LaneKey) -> LaneKey | None:
        known = [successor for successor in self._graph.lanes[key].successors if successor in self._graph.lanes]
        return min(known, key=self._heading_change, default=None)

    def _heading_change(self, key: LaneKey) -> float:
        yaw = np.unwrap(self._graph.lanes[key].yaw_rad)
        return float(abs(yaw[-1] - yaw[0]))


def _constant_velocity(item: TrackedObject, times_s: Float) -> Float:
    vx, vy = item.velocity_mps
    return np.stack([item.x_m + vx * times_s, item.y_m + vy * times_s, np.full(len(times_s), item.yaw_rad)])
