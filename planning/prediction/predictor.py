"""Predicts where other road users will be in the next seconds.

A vehicle follows its lane at constant speed, with one mode for each lane that fits; everything else keeps its velocity.
The prediction does not use the ego's route: the planner decides which predicted motions matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from av_core.curve import Curve, ahead_and_left
from av_core.types import (
    Float,
    LaneGraph,
    LaneKey,
    ObjectKind,
    PredictedMode,
    PredictedObject,
    Prediction,
    Scene,
    SignalKind,
    TrackedObject,
)
from planning.config import PredictionConfig
from planning.lanes.lane_index import LaneIndex, LaneMatch
from planning.lanes.straight_on import straight_on
from planning.prediction.sensible import sensible_tracks
from planning.prediction.turns import TurnsSeen

Way = tuple[LaneKey, LaneKey | None]
"""A lane, and the lane that a vehicle turns to at the next fork; None: it takes the straightest ones."""

_FOLLOW_M = 80.0
"""Distance for which a lane is followed beyond its end."""

_MATCH_M = 1.6
"""Largest lateral offset and heading difference at which a vehicle is taken to follow a lane."""

_MATCH_RAD = 0.6
_MAX_LANES = 3
"""Most lanes that one vehicle is predicted on."""

_CORNER_MPS2, _BRAKE_MPS2, _BEND_M = 25.0, 8.0, 4.0
"""The most lateral acceleration and braking with which a vehicle follows a bend, and the length over which the bend is
measured. Tyres hold less: but a car of the Leaderboard's streams takes a bend of 7 m at 11 m/s."""

_STOPPING_MPS2, _OVER_LINE_M, _CREEPING_MPS = 6.0, 1.0, 2.0
"""A driver who stops for a red light or a sign brakes like this at most, and may stand so far beyond its lane. One who
is slower than the last can stop anywhere."""

_LEAVING_MPS, _NEAR_M = 0.6, 25.0
"""Sideways speed from which a vehicle may be leaving its lane; and the distance from the ego beyond which the error of
its track has to be smaller than what exceeds this speed. There is no time to wait for a better track of a nearer one.
"""


class Predictor:
    """The prediction stage: the possible ways of every moving road user in a scene.

    A vehicle follows its lane at constant speed, and at a fork the straightest continuation; it gets one mode for each
    lane that fits, if it is not too fast for the lane's bends. It gets another one where the last vehicle on its lane
    turned (`turns`). A vehicle that leaves its lane gets a mode at constant velocity as well. Pedestrians, and vehicles
    on no lane, keep their velocity.
    """

    def __init__(self, graph: LaneGraph, config: PredictionConfig | None = None) -> None:
        self._graph = graph
        self._config = config or PredictionConfig()
        self._times = np.arange(0.0, self._config.horizon_s + 1e-9, self._config.step_s, dtype=np.float64)
        self._index = LaneIndex(graph)
        self._straight_on = straight_on(graph)
        self._turns = TurnsSeen(graph, self._straight_on)
        self._paths: dict[Way, Curve] = {}
        self._fastest: dict[Way, Float] = {}
        self._junction_m: dict[LaneKey, float] = {}
        self._signed = {signal.lane for signal in graph.signals if signal.kind is not SignalKind.TRAFFIC_LIGHT}

    def predict(self, scene: Scene) -> Prediction:
        """The road users of `scene`, with their velocities clipped and the modes of those that move.

        Tracks that make no sense are left out and counted: planning knows only those of the prediction.
        """
        tracks = sensible_tracks(scene.objects)
        items = self._clip_velocities(tracks.items)
        moving = [number for number, item in enumerate(items) if item.speed_mps > self._config.moving_speed_mps]
        lanes = dict(zip(moving, self._lanes([items[number] for number in moving]), strict=True))
        vehicles = {items[n].track_id: near for n, near in lanes.items() if items[n].kind is not ObjectKind.PEDESTRIAN}
        self._turns.see(scene.stamp.time_s, {track: near[0].lane for track, near in vehicles.items() if near})
        ego = scene.ego
        is_near = [float(np.hypot(item.x_m - ego.x_m, item.y_m - ego.y_m)) < _NEAR_M for item in items]
        return Prediction(
            scene.stamp,
            self._times,
            tuple(
                PredictedObject(item, self._modes(item, lanes[number], is_near[number]) if number in lanes else ())
                for number, item in enumerate(items)
            ),
            tracks.rejected,
        )

    def _clip_velocities(self, items: Sequence[TrackedObject]) -> list[TrackedObject]:
        """Clip velocities to what each kind can do: a pedestrian's speed, and a vehicle's sideways motion.

        The estimated speed of a far pedestrian may be wrong by tens of m/s. A car that is cut by the edge of the
        picture seems to come closer.
        """
        vx, vy, yaw = np.array([(*item.velocity_mps, item.yaw_rad) for item in items]).reshape(-1, 3).T
        walks = np.array([item.kind is ObjectKind.PEDESTRIAN for item in items], dtype=bool)
        slower = np.minimum(1.0, self._config.walker_fastest_mps / np.maximum(np.hypot(vx, vy), 1e-6))
        along, across = ahead_and_left(vx, vy, yaw)
        limit = self._config.vehicle_slip_max * np.abs(along)
        across = np.clip(across, -limit, limit)
        cos, sin = np.cos(yaw), np.sin(yaw)
        x = np.where(walks, vx * slower, along * cos - across * sin).tolist()
        y = np.where(walks, vy * slower, along * sin + across * cos).tolist()
        return [
            replace(item, velocity_mps=velocity) for item, velocity in zip(items, zip(x, y, strict=True), strict=True)
        ]

    def _lanes(self, items: Sequence[TrackedObject]) -> list[list[LaneMatch]]:
        """The lanes that each road user may follow by its position and course, best first."""
        places = np.array([[item.x_m, item.y_m] for item in items]).reshape(-1, 2)
        course = np.array([np.arctan2(item.velocity_mps[1], item.velocity_mps[0]) for item in items])
        return self._index.matches(places, course, _MATCH_M, _MATCH_RAD) if items else []

    def _modes(self, item: TrackedObject, near: Sequence[LaneMatch], is_near: bool) -> tuple[PredictedMode, ...]:
        if item.kind is ObjectKind.PEDESTRIAN or not near:
            return (_constant_velocity(item, self._times),)
        straight: list[tuple[LaneMatch, Way]] = [(match, (match.lane, None)) for match in near[:_MAX_LANES]]
        ways = [(match, way) for match, way in straight if self._can_follow(item, match, way)] or straight[:1]
        for match, _ in tuple(ways):
            turn = self._turns.ahead_of(match.lane, _FOLLOW_M)
            if turn is not None and self._can_follow(item, match, (match.lane, turn)):
                ways.append((match, (match.lane, turn)))
        along_lanes = tuple(self._follow(item, match, way) for match, way in ways)
        if self._leaves_lane(item, near[0], is_near):
            return (_constant_velocity(item, self._times), *along_lanes)
        return along_lanes

    def _leaves_lane(self, item: TrackedObject, match: LaneMatch, is_near: bool) -> bool:
        """Whether a vehicle moves sideways on its lane.

        If the vehicle is not near, one standard deviation of its sideways speed is subtracted first. In a bend, the
        error along the lane adds to it, because the lane has another direction there.
        """
        sideways_mps = item.speed_mps * abs(float(np.sin(match.heading_rad)))
        if is_near or item.covariance is None or sideways_mps <= _LEAVING_MPS:
            return sideways_mps > _LEAVING_MPS
        lane = self._graph.lanes[match.lane].curve
        yaw_rad = float(np.interp(match.s_m, lane.s_m, lane.yaw_rad))
        bend_1pm = float(np.interp(match.s_m, lane.s_m, lane.curvature_1pm))
        along = np.array([np.cos(yaw_rad), np.sin(yaw_rad)])
        across = np.array([-along[1], along[0]])
        place, velocity = item.covariance[:2, :2], item.covariance[2:, 2:]
        turn_mps2 = (item.speed_mps * bend_1pm) ** 2
        variance = across @ velocity @ across + turn_mps2 * (along @ place @ along)
        return sideways_mps - float(np.sqrt(max(0.0, variance))) > _LEAVING_MPS

    def _follow(self, item: TrackedObject, match: LaneMatch, way: Way) -> PredictedMode:
        lane = self._graph.lanes[match.lane]
        signed = match.lane in self._signed or any(key in self._signed for key in lane.successors)
        x, y, yaw = self._path(way).pose_at(match.s_m + item.speed_mps * self._times, match.offset_m)
        on_approach = not lane.is_junction and self._can_stop(item, match)
        return PredictedMode(x, y, yaw, on_approach, signed and on_approach)

    def _can_stop(self, item: TrackedObject, match: LaneMatch) -> bool:
        """Whether a vehicle that brakes hard now stands before the next junction on its way."""
        if match.lane not in self._junction_m:
            self._junction_m[match.lane] = self._to_junction_m(match.lane)
        left_m = self._junction_m[match.lane] - match.s_m - 0.5 * item.length_m
        return item.speed_mps < _CREEPING_MPS or item.speed_mps**2 < 2.0 * _STOPPING_MPS2 * (left_m + _OVER_LINE_M)

    def _to_junction_m(self, key: LaneKey) -> float:
        """Way from the start of a lane to the next junction, if there is one within `_FOLLOW_M` beyond its end."""
        length_m, here = self._graph.lanes[key].length_m, self._straight_on[key]
        end_m = length_m + _FOLLOW_M
        while here is not None and length_m < end_m:
            if self._graph.lanes[here].is_junction:
                return length_m
            length_m += self._graph.lanes[here].length_m
            here = self._straight_on[here]
        return float("inf")

    def _can_follow(self, item: TrackedObject, match: LaneMatch, way: Way) -> bool:
        """Whether a vehicle is slow enough for the bends of its way, or can brake for them."""
        path = self._path(way)
        if way not in self._fastest:
            self._fastest[way] = _fastest_mps(path)
        return item.speed_mps <= float(np.interp(match.s_m, path.s_m, self._fastest[way]))

    def _path(self, way: Way) -> Curve:
        """The lane and at least `_FOLLOW_M` of its straightest continuation, but for the turn."""
        if way not in self._paths:
            first, turn = way
            parts: list[Curve] = []
            length, end = 0.0, self._graph.lanes[first].length_m + _FOLLOW_M
            here: LaneKey | None = first
            while here is not None and length < end and len(parts) < 50:
                parts.append(self._graph.lanes[here].curve)
                length += parts[-1].length_m
                here = turn if turn in self._graph.lanes[here].successors else self._straight_on[here]
            self._paths[way] = Curve.joined(parts)
        return self._paths[way]


def _fastest_mps(path: Curve) -> Float:
    """The highest speeds (N,) at the points of a path at which a vehicle can still follow it."""
    ends_m = np.array([[-0.5 * _BEND_M], [0.5 * _BEND_M]])
    before_rad, after_rad = np.interp(path.s_m + ends_m, path.s_m, np.unwrap(path.yaw_rad))
    bend_1pm = np.abs(after_rad - before_rad) / _BEND_M
    energy = _CORNER_MPS2 / np.maximum(bend_1pm, 1e-4) + 2.0 * _BRAKE_MPS2 * path.s_m
    least = np.minimum.accumulate(energy[::-1])[::-1]
    return np.asarray(np.sqrt(np.maximum(least - 2.0 * _BRAKE_MPS2 * path.s_m, 0.0)))


def _constant_velocity(item: TrackedObject, times_s: Float) -> PredictedMode:
    vx, vy = item.velocity_mps
    return PredictedMode(item.x_m + vx * times_s, item.y_m + vy * times_s, np.full(len(times_s), item.yaw_rad))
