"""The time until boxes that keep their velocities touch."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import ObjectKind, Pose2D, TrackedObject
from scenarios.judging.safety import TimeToCollision, times_to_collision_s
from tests.scenarios.judged_drives import CAR, car, show, tick_of

SIZE_M = (CAR.length_m, CAR.width_m)


def time_s(other: TrackedObject, speed_mps: float = 10.0) -> float:
    return float(times_to_collision_s(Pose2D(0.0, 0.0, 0.0), speed_mps, SIZE_M, [other])[0])


def test_cars_in_one_lane() -> None:
    assert time_s(car(1, 50.0)) == pytest.approx(4.6)  # 46 m between the bumpers
    assert time_s(car(1, 50.0, 0.0, 4.0)) == pytest.approx(46.0 / 6.0)
    assert time_s(car(1, 50.0, 0.0, 10.0, np.pi)) == pytest.approx(2.3)
    assert time_s(car(1, 50.0, 0.0, 10.0)) == np.inf
    assert time_s(car(1, -50.0, 0.0, 12.0)) == pytest.approx(23.0)


def test_cars_that_pass_or_part() -> None:
    assert time_s(car(1, 50.0, 1.9)) == np.inf
    assert time_s(car(1, 50.0, 1.7)) == pytest.approx(4.6)
    assert time_s(car(1, -6.0, 0.0, 5.0)) == np.inf
    assert time_s(car(1, 3.0, 0.5)) == 0.0


def corners(x_m: float, y_m: float, yaw_rad: float, length_m: float, width_m: float) -> shapely.Polygon:
    x, y = length_m / 2, width_m / 2
    box = np.array([(x, y), (-x, y), (-x, -y), (x, -y)])
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    return shapely.Polygon(box @ np.array([[c, s], [-s, c]]) + (x_m, y_m))


@settings(deadline=None, max_examples=60)
@given(
    place=st.tuples(st.floats(-40, 40), st.floats(-40, 40)),
    velocity=st.tuples(st.floats(-15, 15), st.floats(-15, 15)),
    yaw_rad=st.floats(-3.1, 3.1),
    ego_yaw_rad=st.floats(-3.1, 3.1),
)
def test_boxes_touch_at_that_time_and_not_before(
    place: tuple[float, float], velocity: tuple[float, float], yaw_rad: float, ego_yaw_rad: float
) -> None:
    other = TrackedObject(1, ObjectKind.CAR, *place, yaw_rad, velocity, 5.0, 2.0, 1.5)
    found_s = float(times_to_collision_s(Pose2D(0.0, 0.0, ego_yaw_rad), 10.0, SIZE_M, [other])[0])
    ahead = 10.0 * np.array([np.cos(ego_yaw_rad), np.sin(ego_yaw_rad)])

    def gap_m(at_s: float) -> float:
        x, y = np.array(place) + np.array(velocity) * at_s
        mine_x, mine_y = ahead * at_s
        mine = corners(float(mine_x), float(mine_y), ego_yaw_rad, *SIZE_M)
        boxes = mine, corners(float(x), float(y), yaw_rad, 5.0, 2.0)
        return float(shapely.distance(*boxes))

    if np.isfinite(found_s):
        assert gap_m(found_s) < 1e-6
    before = np.linspace(0.0, min(found_s, 20.0), 50, endpoint=False)
    assert found_s == 0.0 or all(gap_m(float(at_s)) > 0.0 for at_s in before)


def test_the_smallest_of_a_drive_is_kept() -> None:
    times = TimeToCollision(CAR)
    show(times, [tick_of(0.0, time_s=1.0, objects=[car(1, 60.0), car(2, 50.0)])])
    show(times, [tick_of(0.0, time_s=2.0, objects=[car(1, 90.0)])])
    safety = times.figures(3)
    assert safety.time_to_collision_min_s == pytest.approx(4.6)
    assert (safety.at_s, safety.object_id, safety.object_kind, safety.red_lights_entered) == (1.0, 2, "car", 3)


def test_a_standing_ego_and_a_late_collision_do_not_count() -> None:
    times = TimeToCollision(CAR)
    show(times, [tick_of(0.0, speed_mps=0.05, objects=[car(1, 8.0)]), tick_of(0.0, objects=[car(1, 105.0)])])
    assert times.figures(0).time_to_collision_min_s is None
