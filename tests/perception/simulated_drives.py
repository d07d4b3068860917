"""Simulated drives with known truth: a two-lane road, a car on it, and what its sensors would measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.frames import map_to_geodetic, wrap_angle
from av_core.types import (
    GeoReference,
    GnssFix,
    ImuSample,
    Lane,
    LaneGraph,
    LaneKey,
    MarkingColour,
    MarkingKind,
    Pose2D,
    SensorFrame,
    Stamp,
)

Float = NDArray[np.float64]

DT_S = 0.05
GEO = GeoReference(0.0, 0.0)
GNSS_SIGMA_DEG = 5e-6
GNSS_SIGMA_M = 0.556


def centre_line(pieces: list[tuple[float, float]], step_m: float = 1.0) -> tuple[Float, Float, Float]:
    """Pieces (length_m, curvature_1pm) from the origin eastwards -> points (N, 2), yaw (N,), curvature (N,)."""
    curvature = np.concatenate([np.full(round(length / step_m), k) for length, k in pieces])
    curvature = np.convolve(
        np.pad(curvature, 3, mode="edge"), np.full(7, 1 / 7), mode="valid"
    )  # a car steers gradually
    yaw = np.concatenate([[0.0], np.cumsum(curvature * step_m)])
    middle = (yaw[:-1] + yaw[1:]) / 2.0
    points = np.concatenate(
        [np.zeros((1, 2)), np.cumsum(np.column_stack([np.cos(middle), np.sin(middle)]) * step_m, axis=0)]
    )
    return points, yaw, np.append(curvature, curvature[-1])


def make_lane(
    key: LaneKey,
    points: Float,
    yaw: Float,
    curvature: Float,
    left: MarkingKind,
    right: MarkingKind,
    width_m: float = 3.5,
    grade: float = 0.0,
    colour: MarkingColour = MarkingColour.YELLOW,
) -> Lane:
    n = len(points)
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    return Lane(
        key=key,
        points=np.column_stack([points, grade * s]),
        s_m=s,
        yaw_rad=np.asarray(wrap_angle(yaw)),
        curvature_1pm=curvature,
        width_m=np.full(n, width_m),
        speed_limit_mps=13.9,
        is_junction=False,
        successors=(),
        predecessors=(),
        left=None,
        right=None,
        left_change=np.zeros(n, dtype=bool),
        right_change=np.zeros(n, dtype=bool),
        left_marking=(left,) * n,
        right_marking=(right,) * n,
        left_colour=(colour,) * n,
        right_colour=(MarkingColour.WHITE,) * n,
    )


def two_way_road(
    pieces: list[tuple[float, float]],
    middle: MarkingKind = MarkingKind.BROKEN,
    side: MarkingKind = MarkingKind.NONE,
    grade: float = 0.0,
) -> LaneGraph:
    """One lane each way beside the centre line of `pieces`, traffic on the right, like the lanes of a small town."""
    points, yaw, curvature = centre_line(pieces)
    right = np.column_stack([np.sin(yaw), -np.cos(yaw)])
    forth_key, back_key = LaneKey(1, 0, -1), LaneKey(1, 0, 1)
    forth = make_lane(forth_key, points + 1.75 * right, yaw, curvature, middle, side, grade=grade)
    back = make_lane(
        back_key, (points - 1.75 * right)[::-1], yaw[::-1] + np.pi, -curvature[::-1], middle, side, grade=-grade
    )
    return LaneGraph("two-way road", {forth_key: forth, back_key: back}, (), GEO)


@dataclass(frozen=True)
class Sample:
    frame: SensorFrame
    pose: Pose2D
    speed_mps: float
    yaw_rate_radps: float


@dataclass(frozen=True)
class Noise:
    """Standard deviations as the CARLA Leaderboard 2 sets them; wheels read 0.4 % too much."""

    gnss_deg: float = GNSS_SIGMA_DEG
    accel_mps2: float = 0.001
    gyro_radps: float = 0.001
    gyro_bias_radps: float = 0.0
    wheel_scale: float = 0.004
    slip_s2pm: float = 0.0


def drive_lane(lane: Lane, rng: np.random.Generator, noise: Noise, top_mps: float = 10.0) -> Iterator[Sample]:
    """A car that follows the centre of `lane` to its end: starts from rest, slows in curves and stops midway."""
    s, v, frame = 0.0, 0.0, 0
    stop_at = lane.length_m / 2.0
    waited = 0
    while s < lane.length_m - 3.0:
        k = float(np.interp(s, lane.s_m[:-1] + 0.5, np.diff(np.unwrap(lane.yaw_rad)) / np.diff(lane.s_m)))
        want = min(top_mps, np.sqrt(2.0 / max(abs(k), 1e-6)))
        if s < stop_at and waited < 60:
            want = min(want, np.sqrt(2.0 * 2.0 * max(stop_at - s - 0.5, 0.0)))
            waited += v < 0.05 and frame > 40
        accel = float(np.clip((want - v) / DT_S, -4.0, 2.0))
        if waited >= 60 and s < stop_at:
            accel = 2.0
        yaw = float(np.interp(s, lane.s_m, np.unwrap(lane.yaw_rad)))
        x, y = (float(np.interp(s, lane.s_m, lane.points[:, i])) for i in (0, 1))
        slip = -noise.slip_s2pm * v * v * k  # the rear axle runs wide of where the body points
        pose = Pose2D(x, y, float(wrap_angle(yaw - slip)))
        yield Sample(_measure(frame, pose, v, v * k, accel, rng, noise), pose, v, v * k)
        s += v * DT_S + accel * DT_S**2 / 2.0
        v = max(0.0, v + accel * DT_S)
        frame += 1


def straight_ahead(stamp: Stamp, speed_mps: float) -> SensorFrame:
    """What a car without cameras measures that drives on at constant speed, straight and level."""
    imu = ImuSample(stamp, (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), 0.0)
    return SensorFrame(stamp, {}, GnssFix(stamp, 0.0, 0.0, 0.0), imu, speed_mps)


def _measure(
    frame: int, pose: Pose2D, v: float, rate: float, accel: float, rng: np.random.Generator, noise: Noise
) -> SensorFrame:
    stamp = Stamp(frame, frame * DT_S)
    lat, lon = map_to_geodetic([pose.x_m, pose.y_m], GEO)
    lat_noise, lon_noise = rng.normal(0.0, noise.gnss_deg, 2)
    ax, ay = rng.normal([accel, v * rate], noise.accel_mps2)
    gyro = rng.normal(rate + noise.gyro_bias_radps, noise.gyro_radps)
    return SensorFrame(
        stamp=stamp,
        cameras={},
        gnss=GnssFix(stamp, float(lat + lat_noise), float(lon + lon_noise), 0.0),
        imu=ImuSample(stamp, (float(ax), float(ay), 9.81), (0.0, 0.0, float(gyro)), pose.yaw_rad),
        wheel_speed_mps=v * (1.0 + noise.wheel_scale),
    )
