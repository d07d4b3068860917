"""Closed loop: the ego stands behind an obstacle, and pulls out before drivers on the next lane.

They keep their distance to each other, and to an ego that reaches into their lane (`closed_loop.follow_mps2`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import Pose2D, TrackedObject
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import CAR, DT_S, Log, ScenePlanner, drive, follow_mps2
from tests.planning.lanes_by_hand import beside, join, key, straight
from tests.planning.local.test_passing import clearance_m, outline
from tests.planning.test_traffic import vehicle

LANE_Y_M, LENGTH_M, WIDTH_M = 3.5, 4.5, 1.9
OBSTACLES = (vehicle(1, 19.5, 0.0, 0.0, 0.0), vehicle(2, 29.5, 0.0, 0.0, 0.0))
"""In front of an ego at the origin of the road, which stands 13 m behind the first of them."""


class Drivers:
    """Cars in a row on one lane, some of them already past the ego; the first has just passed `first_m`."""

    def __init__(
        self,
        speed_mps: float,
        gap_m: float,
        seed: int,
        count: int = 30,
        *,
        obstacles: tuple[TrackedObject, ...] = OBSTACLES,
        lane_y_m: float = LANE_Y_M,
        first_m: float = 100.0,
    ) -> None:
        spread = np.random.default_rng(seed).uniform(0.8, 1.2, count)
        self._obstacles, self._lane_y_m = obstacles, lane_y_m
        self._x_m = first_m - np.cumsum(spread * gap_m + LENGTH_M)
        self._free_mps, self._speed_mps = speed_mps, np.full(count, speed_mps)
        self._seen: dict[float, tuple[TrackedObject, ...]] = {}
        self.least_mps2 = 0.0

    def step(self, ego: VehicleState) -> None:
        """Drive on for one step; the ego is where it is now."""
        lead_x_m = np.append(np.inf, self._x_m[:-1]) - LENGTH_M
        lead_mps = np.append(self._free_mps, self._speed_mps[:-1])
        x_m = ego.x_m + CAR.rear_axle_to_centre_m * np.cos(ego.yaw_rad)
        y_m = ego.y_m + CAR.rear_axle_to_centre_m * np.sin(ego.yaw_rad)
        body = outline(x_m, y_m, ego.yaw_rad, CAR.length_m, CAR.width_m)
        in_lane = body[np.abs(body[:, 1] - self._lane_y_m) < 0.5 * WIDTH_M + 0.1]
        if len(in_lane):
            rear_x_m = float(in_lane[:, 0].min()) - 0.5 * LENGTH_M
            follows = (in_lane[:, 0].max() > self._x_m + 0.5 * LENGTH_M) & (rear_x_m < lead_x_m)
            lead_x_m, lead_mps = np.where(follows, rear_x_m, lead_x_m), np.where(follows, ego.speed_mps, lead_mps)
        room_m = lead_x_m - self._x_m
        accel = np.clip(follow_mps2(self._speed_mps, self._free_mps, room_m, lead_mps, 2.0), -7.0, 2.0)
        self.least_mps2 = min(self.least_mps2, float(accel.min()))
        self._speed_mps = np.maximum(self._speed_mps + accel * DT_S, 0.0)
        self._x_m = self._x_m + self._speed_mps * DT_S

    def seen(self, time_s: float) -> tuple[TrackedObject, ...]:
        """Everyone near the ego: now, or when it was asked before."""
        if time_s not in self._seen:
            near = np.flatnonzero(np.abs(self._x_m) < 120.0).tolist()
            cars = (vehicle(100 + n, float(self._x_m[n]), self._lane_y_m, 0.0, float(self._speed_mps[n])) for n in near)
            self._seen[time_s] = (*self._obstacles, *cars)
        return self._seen[time_s]


def pull_out(drivers: Drivers, limit_mps: float, seconds: float) -> Log:
    right, left = straight(key(0), 0, 0, 0, 300.0), straight(key(0, -2), 0, LANE_Y_M, 0, 300.0)
    planner = ScenePlanner(join([replace(lane, speed_limit_mps=limit_mps) for lane in beside(right, left)]))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(290.0, 0, 0))
    return drive(planner, seconds, 0.0, objects=drivers.seen, watch=drivers.step)


@pytest.mark.parametrize(
    ("limit_mps", "speed_mps", "gap_m", "seed"),
    [(13.9, 8.0, 20.0, 0), (13.9, 11.0, 30.0, 0), (22.2, 14.0, 30.0, 3), (22.2, 14.0, 35.0, 0)],
)
def test_it_pulls_out_before_drivers_who_slow_down_for_it(
    limit_mps: float, speed_mps: float, gap_m: float, seed: int
) -> None:
    """Its corner passes nobody nearer than that, and nobody has to brake harder than that."""
    drivers = Drivers(speed_mps, gap_m, seed)
    log = pull_out(drivers, limit_mps, 26.0)
    assert log.column(1)[-1] > OBSTACLES[-1].x_m, "past the obstacles, while the stream still comes"
    assert len(drivers.seen(log.rows[-1][0])) > len(OBSTACLES)
    assert clearance_m(log, drivers.seen) > 0.45
    assert drivers.least_mps2 > -4.5
