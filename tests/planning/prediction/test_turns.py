"""What the next vehicle may do where the last one turned."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import LaneGraph, LaneKey, Stamp
from planning import Predictor
from planning.lanes.straight_on import straight_on
from planning.prediction.turns import TurnsSeen
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import ego_state, scene_of
from tests.planning.lanes_by_hand import arc, join, key, straight
from tests.planning.test_traffic import vehicle

APPROACH, ON, LEFT, BEYOND, SIDE_ROAD, BEFORE = key(0), key(1), key(2), key(3), key(5), key(6)


def fork() -> LaneGraph:
    """Lanes of 50 and 100 m to the east, then through a junction straight on, or to the left by two lanes."""
    north = 0.5 * np.pi
    return join(
        [
            straight(BEFORE, -50, 0, 0, 50),
            straight(APPROACH, 0, 0, 0, 100),
            straight(ON, 100, 0, 0, 40, junction=True),
            straight(BEYOND, 140, 0, 0, 60),
            arc(LEFT, 100, 0, 0, 15, north, junction=True),
            straight(key(4), 115, 15, north, 5, junction=True),
            straight(SIDE_ROAD, 115, 20, north, 60),
        ]
    )


def after(*lanes: tuple[float, int, LaneKey]) -> TurnsSeen:
    """What is remembered after vehicles were seen: time, track id and lane of each."""
    graph = fork()
    turns = TurnsSeen(graph, straight_on(graph))
    for time_s, track, lane in lanes:
        turns.see(time_s, {track: lane})
    return turns


def test_the_last_vehicle_tells_where_the_next_one_may_turn() -> None:
    turned = (0.0, 1, APPROACH), (1.0, 1, LEFT), (3.0, 1, SIDE_ROAD)
    assert after().ahead_of(APPROACH, 80.0) is None
    assert after(*turned[:2]).ahead_of(APPROACH, 80.0) is None
    assert after(*turned).ahead_of(APPROACH, 80.0) == LEFT
    went_on = (4.0, 2, APPROACH), (5.0, 2, ON), (8.0, 2, BEYOND)
    assert after(*turned, *went_on).ahead_of(APPROACH, 80.0) is None


@pytest.mark.parametrize(("later_s", "turn"), [(10.0, LEFT), (20.0, None)])
def test_a_turn_is_forgotten(later_s: float, turn: LaneKey | None) -> None:
    assert after((0.0, 1, APPROACH), (3.0, 1, SIDE_ROAD), (3.0 + later_s, 2, BEYOND)).ahead_of(APPROACH, 80.0) == turn


def test_a_vehicle_that_was_lost_for_long_tells_nothing() -> None:
    assert after((0.0, 1, APPROACH), (12.0, 2, BEYOND), (13.0, 1, SIDE_ROAD)).ahead_of(APPROACH, 80.0) is None


@pytest.mark.parametrize(("lane", "within_m", "turn"), [(BEFORE, 90.0, None), (BEFORE, 110.0, LEFT), (ON, 80.0, None)])
def test_only_the_next_fork_that_is_near_is_looked_at(lane: LaneKey, within_m: float, turn: LaneKey | None) -> None:
    turns = after((0.0, 1, APPROACH), (3.0, 1, SIDE_ROAD))
    assert turns.ahead_of(lane, within_m) == turn


def test_straight_on_is_the_lane_that_turns_least() -> None:
    ahead = straight_on(fork())
    assert ahead[APPROACH] == ON
    assert ahead[BEYOND] is None


def test_the_next_vehicle_is_predicted_on_both_ways() -> None:
    predictor = Predictor(fork())

    def modes(time_s: float, track: int, x_m: float, y_m: float, yaw_rad: float) -> int:
        stamp = Stamp(round(time_s / 0.05), time_s)
        other = vehicle(track, x_m, y_m, yaw_rad, 8.0)
        (one,) = predictor.predict(scene_of(ego_state(VehicleState(0, 0, 0, 0), stamp), (other,), {})).objects
        turning = [mode for mode in one.modes if mode.y_m.max() > 10.0]
        return len(turning)

    assert modes(0.0, 1, 90.0, 0.0, 0.0) == 0
    modes(4.0, 1, 115.0, 25.0, 0.5 * np.pi)
    assert modes(5.0, 2, 90.0, 0.0, 0.0) == 1
