"""States of the traffic lights ahead: read from the camera, or from their oracle twin (for diagnosis only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from av_stack.frames import intrinsics, map_to_vehicle, vehicle_to_image, wrap_angle
from av_stack.types import (
    CameraModel,
    Detection,
    EgoState,
    LaneGraph,
    Pose2D,
    SignalKind,
    TrafficLightView,
    Truth,
)
from perception.detection.classes import LIGHT_STATES, light_state

Float = NDArray[np.float64]

HEAD_HEIGHT_M, HEAD_HEIGHT_SIGMA_M = 3.6, 1.2
"""Middle of a signal head above the road: low on a post or high on an arm."""

POST_SIGMA_M = 1.0
"""Heads hang this far from where the map puts their post, and the ego's own place has its error too."""

HEADING_SIGMA_RAD = 0.01
PIXEL_SIGMA = 3.0
HEAD_SIZE_M, SIZE_FACTOR_MAX = 0.9, 2.2
GATE = 9.0
FACING_MAX_RAD = np.radians(60.0)
NEAR_M = 2.0
FORGET_S = 0.25
SURE_SHARE, MASS_MIN = 0.6, 0.8


@dataclass(frozen=True, slots=True)
class _Light:
    """One light of the map: `stop` (2,) and its heading where one must stop, `post` (2,) where it stands."""

    signal_id: str
    stop: Float
    yaw_rad: float
    post: Float


class LightReader:
    """Matches signal heads in the picture to the map's lights by geometry, and votes their states over time.

    Which light governs the ego is the route's affair: every light carries the lanes it governs (`LaneGraph.signals`),
    and the planner asks for those on its route. So what matters here is that no head is taken for another light's.
    """

    def __init__(self, graph: LaneGraph, range_m: float = 80.0) -> None:
        self._lights = _lights(graph)
        self._stops = np.array([light.stop for light in self._lights]).reshape(-1, 2)
        self._range_m = range_m
        self._votes: dict[str, Float] = {}
        self._time_s: float | None = None

    def update(
        self, ego: EgoState, detections: Sequence[Detection], camera: CameraModel | None
    ) -> Mapping[str, TrafficLightView]:
        """Signal id -> state, of lights ahead whose votes agree; one that is not seen any more keeps its last for a
        moment and is then left out. `camera` is None where there is no picture."""
        dt = 0.0 if self._time_s is None else max(ego.stamp.time_s - self._time_s, 0.0)
        self._time_s = ego.stamp.time_s
        fade = float(np.exp(-dt / FORGET_S))
        self._votes = {name: fade * votes for name, votes in self._votes.items() if fade * votes.sum() > 0.02}
        heads = [one for one in detections if light_state(one.name) is not None and np.isfinite(one.box_px).all()]
        for light, head in match_heads(self._ahead(ego), heads, ego, camera) if camera is not None else ():
            state = light_state(head.name)
            assert state is not None
            votes = self._votes.setdefault(light.signal_id, np.zeros(len(LIGHT_STATES)))
            votes[LIGHT_STATES.index(state)] += head.confidence
        return {name: view for name, votes in self._votes.items() if (view := _verdict(name, votes)) is not None}

    def _ahead(self, ego: EgoState) -> list[_Light]:
        distance = np.hypot(self._stops[:, 0] - ego.x_m, self._stops[:, 1] - ego.y_m)
        return [
            self._lights[i]
            for i in np.flatnonzero(distance <= self._range_m)
            if abs(float(wrap_angle(self._lights[i].yaw_rad - ego.yaw_rad))) <= FACING_MAX_RAD
        ]


def match_heads(
    lights: Sequence[_Light], heads: Sequence[Detection], ego: EgoState, camera: CameraModel
) -> list[tuple[_Light, Detection]]:
    """The likeliest one-to-one match of detected heads to lights that face the ego; none beyond three sigma."""
    pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
    cost = np.full((len(lights), len(heads)), 2.0 * GATE)
    focal = float(intrinsics(camera)[0, 0])
    for i, light in enumerate(lights):
        x, y = map_to_vehicle(light.post, pose)
        pixel, depth = vehicle_to_image([x, y, HEAD_HEIGHT_M], camera)
        if depth < NEAR_M:
            continue
        sigma_u = np.hypot(PIXEL_SIGMA, focal * np.hypot(POST_SIGMA_M / depth, HEADING_SIGMA_RAD))
        sigma_v = np.hypot(PIXEL_SIGMA, focal * HEAD_HEIGHT_SIGMA_M / depth)
        high_px = focal * HEAD_SIZE_M / float(depth)
        for j, head in enumerate(heads):
            u0, v0, u1, v1 = head.box_px
            ratio = max(v1 - v0, 1e-3) / high_px
            if not 1.0 / SIZE_FACTOR_MAX <= ratio <= SIZE_FACTOR_MAX:
                continue
            off_u = ((u0 + u1) / 2.0 - pixel[0]) / sigma_u
            off_v = ((v0 + v1) / 2.0 - pixel[1]) / sigma_v
            cost[i, j] = min(off_u**2 + off_v**2 + (np.log(ratio) / 0.3) ** 2, 2.0 * GATE)
    rows, columns = linear_sum_assignment(cost)
    return [(lights[i], heads[j]) for i, j in zip(rows, columns, strict=True) if cost[i, j] <= GATE]


def _verdict(signal_id: str, votes: Float) -> TrafficLightView | None:
    total, best = float(votes.sum()), int(np.argmax(votes))
    if total < MASS_MIN or votes[best] < SURE_SHARE * total:
        return None
    return TrafficLightView(signal_id, LIGHT_STATES[best], min(float(votes[best]) / total, 1.0))


def _lights(graph: LaneGraph) -> list[_Light]:
    """The map's lights, once each, however many lanes they govern."""
    found: dict[str, _Light] = {}
    for signal in graph.signals:
        if signal.kind is not SignalKind.TRAFFIC_LIGHT or signal.lane not in graph.lanes or signal.signal_id in found:
            continue
        lane = graph.lanes[signal.lane]
        row = int(np.argmin(np.abs(lane.s_m - signal.stop_s_m)))
        stop = np.array([np.interp(signal.stop_s_m, lane.s_m, lane.points[:, axis]) for axis in (0, 1)])
        post = stop if signal.place is None else np.array(signal.place)
        found[signal.signal_id] = _Light(signal.signal_id, stop, float(lane.yaw_rad[row]), post)
    return list(found.values())


class LightOracle:
    """The simulator's light states, cut to the lights with a stop line within `range_m` of the ego."""

    def __init__(self, graph: LaneGraph, range_m: float = 80.0) -> None:
        lights = [s for s in graph.signals if s.kind is SignalKind.TRAFFIC_LIGHT and s.lane in graph.lanes]
        self._ids = tuple(s.signal_id for s in lights)
        stops = []
        for signal in lights:
            lane = graph.lanes[signal.lane]
            stops.append([np.interp(signal.stop_s_m, lane.s_m, lane.points[:, axis]) for axis in (0, 1)])
        self._stops = np.array(stops, dtype=np.float64).reshape(-1, 2)
        self._range_m = range_m

    def update(self, truth: Truth) -> Mapping[str, TrafficLightView]:
        """Signal id -> state, for lights of the map that the simulator reports."""
        distance = np.hypot(self._stops[:, 0] - truth.ego.x_m, self._stops[:, 1] - truth.ego.y_m)
        near = dict.fromkeys(self._ids[i] for i in np.flatnonzero(distance <= self._range_m))
        return {name: TrafficLightView(name, truth.lights[name]) for name in near if name in truth.lights}
