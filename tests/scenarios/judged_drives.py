"""Made-up ticks, truths and drives for the tests of the criteria."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from av_core.types import (
    CollisionEvent,
    LaneGraph,
    LightState,
    ObjectKind,
    Pose2D,
    Stamp,
    TrackedObject,
    Truth,
    VehicleParameters,
)
from planning import Route, find_route
from scenarios.judging.tick import Observer, Tick
from tests.planning.lanes_by_hand import chain

STEP_S = 0.05
CAR = VehicleParameters(4.0, 1.8, 1.5, 2.6, 1.2, 0.8, 1500.0)
"""Its front is 3.2 m ahead of its rear axle, its rear bumper 0.8 m behind it."""

STRAIGHT = chain([("straight", 400.0, 0.0)], limit_mps=10.0)


def tick_of(
    x_m: float = 0.0,
    y_m: float = 0.0,
    yaw_rad: float = 0.0,
    *,
    speed_mps: float = 10.0,
    speed_before_mps: float | None = None,
    time_s: float = 0.0,
    moved_m: float = 0.0,
    objects: Sequence[TrackedObject] = (),
    background: Iterable[int] = (),
    lights: Mapping[str, LightState] | None = None,
    collisions: Sequence[CollisionEvent] = (),
) -> Tick:
    """A tick with the centre of `CAR` at (x, y)."""
    ahead = np.array([np.cos(yaw_rad), np.sin(yaw_rad)])
    rear = np.array([x_m, y_m]) - CAR.rear_axle_to_centre_m * ahead
    front = np.array([x_m, y_m]) + CAR.length_m / 2 * ahead
    ego = Pose2D(float(rear[0]), float(rear[1]), yaw_rad)
    stamp = Stamp(round(time_s / STEP_S), time_s)
    return Tick(
        truth=Truth(stamp, ego, 0.0, speed_mps, tuple(objects), lights or {}, tuple(collisions), frozenset(background)),
        time_s=time_s,
        step_s=STEP_S,
        moved_m=moved_m,
        speed_before_mps=speed_mps if speed_before_mps is None else speed_before_mps,
        centre=Pose2D(x_m, y_m, yaw_rad),
        front=front,
        front_before=front,
        limit_mps=10.0,
        is_changing=False,
    )


def show(observer: Observer, ticks: Iterable[Tick]) -> None:
    for tick in ticks:
        observer.update(tick)


def car(track_id: int, x_m: float, y_m: float = 0.0, speed_mps: float = 0.0, yaw_rad: float = 0.0) -> TrackedObject:
    velocity = (speed_mps * float(np.cos(yaw_rad)), speed_mps * float(np.sin(yaw_rad)))
    return TrackedObject(track_id, ObjectKind.CAR, x_m, y_m, yaw_rad, velocity, 4.0, 1.8, 1.5)


def route_on(graph: LaneGraph, start_m: float, end_m: float) -> Route:
    """A route along the x axis."""
    return find_route(graph, Pose2D(start_m, 0.0, 0.0), Pose2D(end_m, 0.0, 0.0))


def ticks_along_x(start_m: float, end_m: float, speed_mps: float = 10.0, *, y_m: float = 0.0) -> list[Tick]:
    """A drive along the x axis at constant speed, in either direction; its time starts at 0."""
    step_m = speed_mps * STEP_S
    count = round(abs(end_m - start_m) / step_m) + 1
    way = np.sign(end_m - start_m) * step_m
    yaw_rad = 0.0 if end_m >= start_m else float(np.pi)
    return [
        tick_of(start_m + i * float(way), y_m, yaw_rad, speed_mps=speed_mps, time_s=i * STEP_S, moved_m=step_m)
        for i in range(count)
    ]
