"""Closed loop: the ego passes what blocks its lane through gaps in the traffic beside, as its sensors measure it.

Places and speeds of others have errors that grow with the distance and change slowly, and nobody is seen beyond 45 m.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import Pose2D, PredictedMode, PredictedObject, TrackedObject
from planning import find_route
from planning.local.changing_lanes import LaneChanges
from planning.local.gap_rollout import ROOM_M, STEPS, Attempt, Demands, EgoNow, Follow, Lead, gets_in
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, OnRoad
from planning.local.road import road_layout
from planning.local.slow_vehicles import SlowVehicles
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import CAR, ScenePlanner, drive
from tests.planning.lanes_by_hand import beside, join, key, straight
from tests.planning.local.test_among_others import LANE_Y_M, LENGTH_M, Drivers
from tests.planning.local.test_blockers import standing
from tests.planning.local.test_passing import clearance_m, two_lane_road
from tests.planning.local.test_seen_driving import moving
from tests.planning.test_traffic import vehicle

SEEN_M, FRONT_M, REAR_M = 45.0, 3.8, 1.0


class MeasuredDrivers(Drivers):
    """Drivers as the ego measures them, and what its lane change demands of the driver behind it."""

    def __init__(self, speed_mps: float, gap_m: float, seed: int, obstacles: tuple[TrackedObject, ...]) -> None:
        super().__init__(speed_mps, gap_m, seed, 60, obstacles=obstacles)
        self._rng, self._errors = np.random.default_rng(seed), dict[int, np.ndarray]()
        self._measured: dict[float, tuple[TrackedObject, ...]] = {}
        self._ego_x_m = 0.0
        self.required_mps2, self.least_headway_s = 0.0, np.inf

    def step(self, ego: VehicleState) -> None:
        super().step(ego)
        self._ego_x_m = ego.x_m
        corner_m = ego.y_m + FRONT_M * np.sin(ego.yaw_rad) + 0.5 * CAR.width_m
        behind = np.flatnonzero(self._x_m < ego.x_m + 1.4)
        if corner_m > LANE_Y_M - 0.95 and ego.y_m < LANE_Y_M - 0.5 and len(behind):
            gap_m = ego.x_m - REAR_M - self._x_m[behind[0]] - 0.5 * LENGTH_M
            their_mps = float(self._speed_mps[behind[0]])
            closing_mps = max(their_mps - ego.speed_mps, 0.0)
            self.required_mps2 = max(self.required_mps2, closing_mps**2 / (2.0 * max(gap_m - 1.0, 0.1)))
            self.least_headway_s = min(self.least_headway_s, gap_m / max(their_mps, 1.0))

    def measured(self, time_s: float) -> tuple[TrackedObject, ...]:
        if time_s not in self._measured:
            near = (one for one in self.seen(time_s) if abs(one.x_m - self._ego_x_m) < SEEN_M)
            self._measured[time_s] = tuple(self._with_error(one) for one in near)
        return self._measured[time_s]

    def _with_error(self, one: TrackedObject) -> TrackedObject:
        before = self._errors.get(one.track_id, np.zeros(4))
        along, across, fast, slip = self._errors[one.track_id] = 0.93 * before + 0.37 * self._rng.standard_normal(4)
        far_m = abs(one.x_m - self._ego_x_m)
        speed_mps = max(one.velocity_mps[0] + fast * (0.05 + 0.01 * far_m), -1.0)
        return replace(
            one,
            x_m=one.x_m + along * 0.015 * far_m,
            y_m=one.y_m + across * (0.05 + 0.004 * far_m),
            velocity_mps=(speed_mps, 0.1 * slip),
        )


@pytest.mark.parametrize(
    ("limit_mps", "their_mps", "gap_m", "ego_mps", "ahead_m", "seed"),
    [
        (17.9, 12.0, 24.0, 0.0, 28.0, 1),
        (17.9, 12.0, 31.0, 6.0, 55.0, 1),
        (25.0, 13.0, 24.0, 0.0, 55.0, 0),
        (13.9, 9.0, 20.0, 6.0, 50.0, 1),
    ],
)
def test_it_passes_through_a_gap_without_a_stop(
    limit_mps: float, their_mps: float, gap_m: float, ego_mps: float, ahead_m: float, seed: int
) -> None:
    """From a stand, or while it drives; the driver behind brakes mildly, and the ego never hard."""
    obstacles = vehicle(1, ahead_m, 0.0, 0.0, 0.0), vehicle(2, ahead_m + 10.0, 0.0, 0.0, 0.0)
    drivers = MeasuredDrivers(their_mps, gap_m, seed, obstacles)
    right, left = straight(key(0), 0, 0, 0, 400.0), straight(key(0, -2), 0, LANE_Y_M, 0, 400.0)
    planner = ScenePlanner(join([replace(lane, speed_limit_mps=limit_mps) for lane in beside(right, left)]))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(390.0, 0, 0))
    log = drive(planner, 13.0, ego_mps, objects=drivers.measured, watch=drivers.step)
    passed = np.flatnonzero(log.column(1) > ahead_m + 20.0)
    assert len(passed) > 0
    assert log.column(3)[np.flatnonzero(log.column(1) > 5.0)].min() > 0.5, "it does not stop again once it drives"
    assert log.column(4).min() > -4.5
    assert clearance_m(log, drivers.seen) > 0.45
    assert drivers.required_mps2 < 2.5
    assert drivers.least_headway_s > 0.5


def rolled(
    lead_m: float,
    follow_m: float,
    start_s: float = 0.0,
    room_m: float = 30.0,
    gain_mps2: float = 0.0,
    now_mps2: float = 0.0,
) -> bool:
    """Whether an ego at 8 m/s gets between two at 11 m/s: before it ends at `lead_m`, and behind at `follow_m`."""
    obstacle = np.array([[room_m + FRONT_M, room_m + FRONT_M + 5.0, 0.0, 1.9]])
    ego, demands = EgoNow(8.0, now_mps2, FRONT_M, REAR_M), Demands(braking_mps2=1.5, gap_m=2.0, headway_s=0.4)
    attempt = Attempt(3.5, 0.0, 0.0, start_s, before_mps2=0.0, accel_mps2=2.5, top_mps=13.0)
    lead, follow = Lead(lead_m, 11.0), Follow(follow_m, 11.0, gain_mps2)
    return bool(gets_in(ego, attempt, lead, follow, obstacle, demands, np.empty(STEPS)))


def test_a_gap_has_to_hold_until_the_ego_is_as_fast() -> None:
    assert rolled(np.inf, -np.inf)
    assert rolled(12.0, -15.0)
    assert not rolled(12.0, -6.0), "the one behind would come too near"
    assert not rolled(12.0, -15.0, gain_mps2=2.5), "and so would one that gains speed"
    assert not rolled(3.0, -30.0), "the one ahead is beside the ego"
    assert rolled(3.0, -30.0, start_s=1.5), "and has passed soon"


def test_an_ego_that_brakes_needs_more_of_a_gap() -> None:
    assert rolled(20.0, -10.0)
    assert not rolled(20.0, -10.0, now_mps2=-3.0)


def driving(number: int, s_m: float, d_m: float, speed_mps: float) -> OnRoad:
    stands = standing(number, s_m, d_m)
    places_m, ones = s_m + speed_mps * TIMES_S, np.ones_like(TIMES_S)
    mode = PredictedMode(places_m, d_m * ones, 0.0 * ones)
    item = replace(stands.one.item, velocity_mps=(speed_mps, 0.0))
    return OnRoad(PredictedObject(item, (mode,)), places_m, d_m * ones, 2.25 * ones, 0.95 * ones)


def test_an_ego_whose_front_is_in_the_next_lane_goes_on() -> None:
    """It was turned by 20 degrees, 0.45 m aside, and turned back before a driver who had to brake anyway."""
    route = find_route(two_lane_road(), Pose2D(0, 0, 0), Pose2D(200, 0, 0))
    obstacle, follower = standing(1, 30.0), driving(2, 12.0, LANE_Y_M, 12.0)

    def goes_on(turn_rad: float) -> bool:
        changes = LaneChanges(route, road_layout(route, two_lane_road()), Body(FRONT_M, REAR_M, CAR.width_m))
        assert changes.update([obstacle], [obstacle], EgoOnRoad(14.0, 0.0, 3.0), 13.0) is not None
        ego = EgoOnRoad(17.0, 0.45, 3.5, turn_rad=turn_rad)
        return all(changes.update([obstacle, follower], [obstacle], ego, 13.0) is not None for _ in range(8))

    assert goes_on(0.35)
    assert not goes_on(0.05)


def test_without_room_for_a_lane_change_there_is_none() -> None:
    assert not rolled(np.inf, -np.inf, room_m=ROOM_M - 3.0)


def test_a_lane_change_that_the_ego_does_not_follow_is_over() -> None:
    """One of the start of a drive came back 14 m later, where a car was beside the ego (obstacles 1)."""
    route = find_route(two_lane_road(), Pose2D(0, 0, 0), Pose2D(200, 0, 0))
    changes = LaneChanges(route, road_layout(route, two_lane_road()), Body(FRONT_M, REAR_M, CAR.width_m))
    obstacle = standing(1, 60.0)
    change = changes.update([obstacle], [obstacle], EgoOnRoad(0.0, 0.0, 8.0), 13.0)
    assert change is not None
    s_m = np.array([0.0, change.length_m, change.until_s_m - 1.0])
    assert changes.offsets(change, s_m, 8.0) == pytest.approx([0.0, LANE_Y_M, LANE_Y_M], abs=0.1)
    assert changes.update([obstacle], [obstacle], EgoOnRoad(5.0, 0.1, 8.0), 13.0) is not None
    assert changes.update([obstacle], [obstacle], EgoOnRoad(0.8 * change.length_m, 0.1, 8.0), 13.0) is None


def test_an_ego_that_stands_in_a_lane_change_gives_it_up() -> None:
    """It stood half in the next lane for 217 s, until the drive was over (obstacles 29)."""
    route = find_route(two_lane_road(), Pose2D(0, 0, 0), Pose2D(200, 0, 0))
    changes = LaneChanges(route, road_layout(route, two_lane_road()), Body(FRONT_M, REAR_M, CAR.width_m))
    obstacle = standing(1, 60.0)
    change = changes.update([obstacle], [obstacle], EgoOnRoad(0.0, 0.0, 8.0), 13.0)
    assert change is not None
    s_m = 0.6 * change.length_m
    offset_m = float(changes.offsets(change, np.array([s_m]), 0.0)[0])
    there = EgoOnRoad(s_m, offset_m, 0.0)
    kept = [changes.update([obstacle], [obstacle], there, 13.0) is not None for _ in range(200)]
    assert kept[:99] == [True] * 99
    assert not any(kept[102:])
    assert changes.update([obstacle], [obstacle], replace(there, speed_mps=1.0), 13.0) is not None


@pytest.mark.parametrize("speed_mps", [0.0, 3.0])
def test_an_ego_that_stands_close_behind_the_obstacle_gives_up(speed_mps: float) -> None:
    """It crept on and touched it (obstacles 8). One that drives can no longer stop, and goes on."""
    route = find_route(two_lane_road(), Pose2D(0, 0, 0), Pose2D(200, 0, 0))
    changes = LaneChanges(route, road_layout(route, two_lane_road()), Body(FRONT_M, REAR_M, CAR.width_m))
    assert changes.update([standing(1, 30.0)], [standing(1, 30.0)], EgoOnRoad(14.0, 0.0, 3.0), 13.0) is not None
    nearer = standing(1, 28.0)  # than it seemed
    kept = [changes.update([nearer], [nearer], EgoOnRoad(21.0, 0.9, speed_mps), 13.0) is not None for _ in range(8)]
    assert kept[-1] == (speed_mps > 0.0)


def test_who_sets_off_is_not_slow() -> None:
    slow = SlowVehicles()
    for step in range(60):
        time_s = 0.05 * step
        found = slow.update([moving(1, 30.0, 2.5 * time_s), moving(2, 50.0, 3.0)], 5.0, time_s)
        assert 1 not in found or time_s < 0.9
    assert found == {2}
    away = SlowVehicles()
    for step in range(60):
        assert not away.update([moving(3, 30.0, 8.0)], 5.0, 0.05 * step), "it drives away from the ego"
