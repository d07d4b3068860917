"""The traffic lights of the map: their posts, their stop lines, and their places in front of a camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from av_core.frames import intrinsics, map_to_vehicle, rotation_matrix, vehicle_to_image, wrap_angle
from av_core.types import CameraModel, EgoState, LaneGraph, Pose2D, SignalKind

Float = NDArray[np.float64]

ONE_PLACE_M, ONE_WAY_RAD = 0.25, 0.5
"""Two lights of the map share one head if their distance and the angle between their lanes are below these limits."""

NEAR_M = 2.0
"""Minimum depth of a light in front of the camera, m."""


@dataclass(frozen=True, slots=True)
class MapLight:
    """A traffic light of the map, in the map frame.

    * `stop` (2,), `yaw_rad`: the lane's point at the stop line, and its heading there.
    * `post` (3,): foot of the light's post, at the height of the nearest lane.
    """

    signal_id: str
    stop: Float
    yaw_rad: float
    post: Float


@dataclass(frozen=True, slots=True)
class LightPlace:
    """A light's post relative to the ego: `foot` (3,) in the vehicle frame; `depth_m` along the camera's axis."""

    light: MapLight
    foot: Float
    depth_m: float


def map_lights(graph: LaneGraph) -> tuple[list[MapLight], Mapping[str, str]]:
    """(the map's lights with a head of their own, for each other light the id of the light that shares its head)."""
    found: dict[str, MapLight] = {}
    same: dict[str, str] = {}
    road = np.concatenate([lane.points for lane in graph.lanes.values()]) if graph.lanes else np.zeros((1, 3))
    near = cKDTree(road[:, :2])
    for signal in graph.signals:
        is_known = signal.signal_id in found or signal.signal_id in same
        if signal.kind is not SignalKind.TRAFFIC_LIGHT or signal.lane not in graph.lanes or is_known:
            continue
        lane = graph.lanes[signal.lane]
        x, y, yaw = lane.curve.pose_at(signal.stop_s_m)
        stop = np.array([x, y])
        at = stop if signal.place is None else np.array(signal.place)
        post = np.array([*at, road[near.query(at)[1], 2]])
        light = MapLight(signal.signal_id, stop, float(yaw), post)
        first = next((other for other in found.values() if signal.place and _is_one_head(other, light)), None)
        if first is None:
            found[light.signal_id] = light
        else:
            same[light.signal_id] = first.signal_id
    return list(found.values()), same


def _is_one_head(one: MapLight, other: MapLight) -> bool:
    """Whether two lights of the map share one head: they are at the same place, for traffic in the same direction."""
    away_m = float(np.linalg.norm(one.post - other.post))
    return away_m < ONE_PLACE_M and abs(float(wrap_angle(one.yaw_rad - other.yaw_rad))) < ONE_WAY_RAD


def place_lights(lights: Sequence[MapLight], ego: EgoState, camera: CameraModel) -> list[LightPlace]:
    """Positions of the lights in front of the camera, nearest first."""
    pose, tilt = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad), rotation_matrix(0.0, -ego.pitch_rad, 0.0)
    out = []
    for light in lights:
        x, y = map_to_vehicle(light.post[:2], pose)
        foot = tilt.T @ np.array([x, y, light.post[2] - ego.z_m])
        _, depth = vehicle_to_image(foot, camera)
        if depth >= NEAR_M:
            out.append(LightPlace(light, foot, float(depth)))
    return sorted(out, key=lambda place: place.depth_m)


def focal_px(camera: CameraModel) -> float:
    """Focal length of the camera, px."""
    return float(intrinsics(camera)[0, 0])
