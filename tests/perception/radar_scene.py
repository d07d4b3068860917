"""A flat world of boxes, and what radars on a moving ego measure in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from av_core.types import EgoState, Float, RadarModel, RadarSweep, Stamp
from sim_configs.load import load_rig

DT_S = 0.05
RADARS = load_rig("compact").radars


@dataclass(frozen=True, slots=True)
class Box:
    """An upright box with its middle at x, y at time 0, its heading and its speed along that."""

    x_m: float
    y_m: float
    yaw_rad: float = 0.0
    speed_mps: float = 0.0
    length_m: float = 4.6
    width_m: float = 1.9

    @property
    def velocity_mps(self) -> Float:
        return self.speed_mps * np.array([math.cos(self.yaw_rad), math.sin(self.yaw_rad)])

    def at(self, time_s: float) -> Box:
        x, y = np.array([self.x_m, self.y_m]) + time_s * self.velocity_mps
        return replace(self, x_m=float(x), y_m=float(y))


def ego_at(frame: int, speed_mps: float = 0.0, turn_radps: float = 0.0) -> EgoState:
    """An ego that starts at the origin along x and drives a circle, or straight on."""
    time_s = frame * DT_S
    yaw, gone = turn_radps * time_s, speed_mps * time_s
    x, y = (gone, 0.0) if turn_radps == 0.0 else (
        speed_mps / turn_radps * math.sin(yaw), speed_mps / turn_radps * (1.0 - math.cos(yaw))
    )  # fmt: skip
    return EgoState(Stamp(frame, time_s), x, y, yaw, speed_mps, 0.0, turn_radps, np.eye(4) * 1e-4)


def sweeps(
    ego: EgoState,
    boxes: Sequence[Box],
    rng: np.random.Generator,
    slip_mps: float = 0.0,
    radars: Sequence[RadarModel] = RADARS,
) -> list[RadarSweep]:
    """The sweep of each radar on an ego whose rear axle slips to the left; `boxes` are where they are now."""
    return [_sweep(ego, radar, boxes, rng, slip_mps) for radar in radars]


def _sweep(
    ego: EgoState, radar: RadarModel, boxes: Sequence[Box], rng: np.random.Generator, slip_mps: float
) -> RadarSweep:
    count = round(radar.points_per_second * DT_S)
    radius, turn = rng.random(count), rng.random(count) * 2.0 * np.pi
    azimuth = np.arctan(math.tan(radar.fov_x_rad / 2.0) * radius * np.cos(turn))
    elevation = np.arctan(math.tan(radar.fov_y_rad / 2.0) * radius * np.sin(turn) * np.cos(azimuth))
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    origin = np.array([ego.x_m + c * radar.x_m - s * radar.y_m, ego.y_m + s * radar.x_m + c * radar.y_m])
    own = np.array([ego.speed_mps - ego.yaw_rate_radps * radar.y_m, slip_mps + ego.yaw_rate_radps * radar.x_m])
    own = np.array([[c, -s], [s, c]]) @ own
    course = azimuth + radar.yaw_rad + ego.yaw_rad
    sight = np.stack([np.cos(course), np.sin(course)], axis=1)
    reach, velocity = np.full(count, np.inf), np.zeros((count, 2))
    for box in boxes:
        there = _hit(origin, sight, box)
        nearer = there < reach
        reach[nearer], velocity[nearer] = there[nearer], box.velocity_mps
    level = np.cos(elevation)
    rate = level * ((velocity - own) * sight).sum(axis=1)
    points = np.stack([reach / level, azimuth, elevation, rate], axis=1)
    return RadarSweep(ego.stamp, radar, points[points[:, 0] <= radar.range_m])


def _hit(origin: Float, sight: Float, box: Box) -> Float:
    """Distance (N,) along each ray to the box; infinite where it passes by."""
    c, s = math.cos(box.yaw_rad), math.sin(box.yaw_rad)
    axes = np.array([[c, -s], [s, c]])
    start, way = (origin - [box.x_m, box.y_m]) @ axes, sight @ axes
    half = np.array([box.length_m, box.width_m]) / 2.0
    with np.errstate(divide="ignore"):
        one, other = (-half - start) / way, (half - start) / way
    enter, leave = np.minimum(one, other).max(axis=1), np.maximum(one, other).min(axis=1)
    return np.where((enter <= leave) & (enter > 0.0), enter, np.inf)
