"""The picture of a drive's moment from above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_stack.report.from_above import AHEAD_M, BEHIND_M, COLOURS_BGR, PAPER_BGR, VEHICLE_BGR, from_above
from av_stack.report.recorded import Recorded, Track

WIDTH_PX, HEIGHT_PX = 900, 500
PX_PER_M = WIDTH_PX / (BEHIND_M + AHEAD_M)


def drive(yaw_rad: float) -> Recorded:
    """Straight on at 10 m/s; a car that stands 20 m ahead and 5 m left of the place at 1 s, seen until 3 s."""
    time_s = np.arange(0.0, 6.0, 0.05)
    ahead, left = np.array([np.cos(yaw_rad), np.sin(yaw_rad)]), np.array([-np.sin(yaw_rad), np.cos(yaw_rad)])
    x_m, y_m = 30.0 * ahead + 5.0 * left
    rows = [(float(t), float(x_m), float(y_m), yaw_rad) for t in np.arange(0.0, 3.01, 0.25)]
    ego = np.column_stack((10.0 * time_s[:, None] * ahead, np.full(len(time_s), yaw_rad)))
    steps = len(time_s)
    nothing = (("", ""),) * steps
    return Recorded(time_s, tuple(range(steps)), ego, {}, nothing, nothing, {7: Track("car", rows)}, None, {})


def colour_at(recorded: Recorded, at_s: float, ahead_m: float, left_m: float) -> tuple[int, ...]:
    picture = from_above(recorded, at_s, WIDTH_PX, HEIGHT_PX)
    return tuple(picture[round(HEIGHT_PX / 2 - left_m * PX_PER_M), round((BEHIND_M + ahead_m) * PX_PER_M)].tolist())


@pytest.mark.parametrize("yaw_rad", [0.0, 1.0, np.pi, -2.5])
def test_the_ego_drives_to_the_right_whatever_its_heading(yaw_rad: float) -> None:
    recorded = drive(yaw_rad)
    assert colour_at(recorded, 1.0, 1.4, 0.0) == COLOURS_BGR["ego"]
    assert colour_at(recorded, 1.0, 20.0, 5.0) == VEHICLE_BGR
    assert colour_at(recorded, 2.0, 10.0, 5.0) == VEHICLE_BGR
    assert colour_at(recorded, 1.0, 20.0, -5.0) == PAPER_BGR


def test_a_car_that_is_gone_is_not_drawn() -> None:
    assert colour_at(drive(0.0), 5.0, -20.0, 5.0) == PAPER_BGR


def test_roads_are_drawn() -> None:
    lane = [False, [[-50.0, 8.0], [90.0, 8.0]], [[-50.0, 2.0], [90.0, 2.0]]]
    recorded = replace(drive(0.0), roads={"lanes": [lane]}, tracks={})
    assert colour_at(recorded, 1.0, 20.0, 5.0) not in (PAPER_BGR, VEHICLE_BGR)
