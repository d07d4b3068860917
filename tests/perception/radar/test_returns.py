"""Returns on the map: their places, and speeds over ground from which the ego's own motion is gone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import EgoState, RadarModel, RadarSweep, Stamp
from perception.radar.clusters import cluster
from perception.radar.returns import locate_returns
from tests.perception.radar_scene import Box, ego_at, sweeps

WALLS = [
    Box(0.0, 9.0, length_m=160.0, width_m=1.0),
    Box(30.0, -8.0, length_m=90.0, width_m=1.0),
    *(Box(8.0 * i, -4.5) for i in range(-6, 9)),
]


def test_a_return_is_placed_on_the_map() -> None:
    """The ego looks north, its radar to the left: west. The return is 10 m away there, 2 m up."""
    ego = EgoState(Stamp(1, 0.05), 100.0, 50.0, math.pi / 2, 0.0, 0.0, 0.0, np.eye(4))
    radar = RadarModel("left", 2.0, 1.0, 0.5, math.pi / 2, 2.0, 0.1)
    slant, up = math.hypot(10.0, 2.0), math.atan2(2.0, 10.0)
    points = np.array([[slant, 0.0, up, -3.0 * math.cos(up)], [10.0, np.nan, 0.0, 0.0], [10.0, math.pi / 4, 0.0, 0.0]])
    returns = locate_returns([RadarSweep(ego.stamp, radar, points)], ego)
    assert len(returns) == 2
    assert returns.place_m[0] == pytest.approx([100.0 - 1.0 - 10.0, 52.0])
    assert returns.height_m[0] == pytest.approx(2.5)
    assert returns.radar_m[0] == pytest.approx([99.0, 52.0])
    assert returns.radial_mps[0] == pytest.approx(-3.0, abs=0.01)
    assert returns.place_m[1] == pytest.approx([99.0 - 10.0 / math.sqrt(2.0), 52.0 - 10.0 / math.sqrt(2.0)])
    assert returns.is_moving.tolist() == [True, False]


@pytest.mark.parametrize(("speed_mps", "turn_radps"), [(0.0, 0.0), (14.0, 0.0), (7.0, 0.5), (-2.0, 0.3)])
def test_standing_things_stand_however_the_ego_moves(speed_mps: float, turn_radps: float) -> None:
    """Even where wheel speed and gyro are wrong and the rear axle slips sideways."""
    rng = np.random.default_rng(3)
    ego = ego_at(20, speed_mps, turn_radps)
    believed = replace(ego, speed_mps=speed_mps + 0.2, yaw_rate_radps=turn_radps + 0.01)
    returns = locate_returns(sweeps(ego, WALLS, rng, slip_mps=0.3), believed)
    assert len(returns) > 200
    assert np.abs(returns.radial_mps).max() < 0.1
    assert not returns.is_moving.any()


def test_moving_cars_move_among_standing_things() -> None:
    rng = np.random.default_rng(4)
    ego = ego_at(0, 12.0, 0.1)
    car = Box(20.0, 4.0, math.pi, 13.0)
    returns = locate_returns(sweeps(ego, [car, *WALLS], rng), ego)
    moving = returns.select(returns.is_moving)
    assert len(moving) >= 3
    assert (np.abs(moving.place_m - [20.0, 4.0]) <= [2.31, 0.96]).all()
    assert moving.radial_mps == pytest.approx((moving.sight @ car.velocity_mps), abs=0.1)


def test_no_sweep_gives_no_returns() -> None:
    assert len(locate_returns([], ego_at(0, 5.0))) == 0


def test_returns_of_two_cars_are_two_groups() -> None:
    rng, ego = np.random.default_rng(5), ego_at(0)
    near, beside = Box(12.0, 6.0, 0.0, 10.0), Box(12.0, 12.0, math.pi, 10.0)
    returns = locate_returns(sweeps(ego, [near, beside], rng), ego)
    groups = [returns.select(rows) for rows in cluster(returns)]
    assert len(groups) == 2
    assert {round(float(group.place_m[:, 1].mean())) // 5 for group in groups} == {1, 2}
    assert sum(map(len, groups)) == len(returns)
    assert cluster(returns.select(np.zeros(0, dtype=np.int64))) == []
