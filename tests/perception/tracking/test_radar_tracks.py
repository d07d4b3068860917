"""The tracker with radars: what only they see, and what they add to the camera's tracks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import Polygon
from shapely import box as rectangle
from shapely.affinity import rotate, translate

from av_core.types import EgoState, ObjectKind, RangedObject, TrackedObject
from perception.map_index import MapIndex
from perception.radar.returns import locate_returns
from perception.tracking.radar_boxes import shared_depths_m
from perception.tracking.radar_tracks import CAR, without_ghosts
from perception.tracking.track_rows import TRACK, Rows
from perception.tracking.tracker import Tracker, TrackerConfig
from tests.perception.radar_scene import DT_S, Box, ego_at, sweeps
from tests.perception.simulated_drives import two_way_road

PARKED = [Box(7.0 * i, -5.0) for i in range(-5, 25)]
PARKED_LEFT = [Box(7.0 * i, 5.0) for i in range(-5, 25)]
WALLS = [Box(60.0, 10.0, length_m=200.0, width_m=1.0), *(Box(11.0 * i, 6.5, 0.0, 0.0, 0.3, 0.3) for i in range(12))]

Ego = Callable[[int], EgoState]
Picture = Callable[[int], Sequence[RangedObject]]


def drive(
    tracker: Tracker, ego: Ego, boxes: Callable[[float], Sequence[Box]], ticks: int, camera: Picture = lambda _: ()
) -> list[tuple[TrackedObject, ...]]:
    """The tracks of every tick."""
    rng = np.random.default_rng(6)
    out = []
    for frame in range(ticks):
        state = ego(frame)
        measured = sweeps(state, boxes(frame * DT_S), rng)
        out.append(tracker.update(state, camera(frame), radar=locate_returns(measured, state)))
    return out


def errors(track: TrackedObject, box: Box) -> tuple[float, float]:
    """Of the place, m, and of the velocity, m/s."""
    velocity = np.array(track.velocity_mps) - box.velocity_mps
    return math.hypot(track.x_m - box.x_m, track.y_m - box.y_m), float(np.hypot(*velocity))


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("ego_mps", [0.0, 8.0, 14.0])
def test_a_crossing_car_is_tracked_three_seconds_before_the_conflict(ego_mps: float, side: float) -> None:
    conflict_s, speed_mps = 6.0, 50.0 / 3.6
    car = Box(10.0 + ego_mps * conflict_s, side * speed_mps * conflict_s, -side * math.pi / 2, speed_mps)
    parked = PARKED if side > 0.0 else PARKED_LEFT  # where they hide nothing
    steps = drive(Tracker(), lambda n: ego_at(n, ego_mps), lambda t: [car.at(t), *parked], 108)
    for tick in range(60, 108):
        assert len(steps[tick]) == 1, "one track for one car, and none for parked ones"
        place_m, velocity_mps = errors(steps[tick][0], car.at(tick * DT_S))
        assert place_m < 2.0
        assert velocity_mps < 2.0
    assert len({track.track_id for tracks in steps for track in tracks}) == 1
    assert steps[-1][0].kind is ObjectKind.CAR


@pytest.mark.parametrize("ahead_m", [-2.0, 1.4, 4.0])
def test_a_car_beside_is_tracked_and_kept_when_both_stop(ahead_m: float) -> None:
    """Its own speed hardly shows in range rates there, and not at all once it stands."""

    def moved_m(time_s: float) -> float:
        return 10.0 * min(time_s, 3.0) - 2.5 * max(min(time_s, 3.0) - 1.0, 0.0) ** 2 * 1.0

    def ego(frame: int) -> EgoState:
        state = ego_at(frame)
        time_s = frame * DT_S
        speed = (moved_m(time_s + 1e-4) - moved_m(time_s)) / 1e-4
        return EgoState(state.stamp, moved_m(time_s), 0.0, 0.0, speed, 0.0, 0.0, state.covariance)

    def beside(time_s: float) -> list[Box]:
        speed = (moved_m(time_s + 1e-4) - moved_m(time_s)) / 1e-4
        return [Box(moved_m(time_s) + ahead_m, 3.5, 0.0, speed, 3.8), *PARKED, *WALLS]

    steps = drive(Tracker(), ego, beside, 120)
    for tick in range(15, 120):
        assert len(steps[tick]) == 1
        place_m, velocity_mps = errors(steps[tick][0], beside(tick * DT_S)[0])
        assert place_m < 2.0
        assert velocity_mps < 2.0


def test_standing_things_start_no_track_in_a_bend() -> None:
    steps = drive(Tracker(), lambda n: ego_at(n, 8.0, 0.25), lambda _: [*PARKED, *WALLS], 300)
    assert not any(steps)


def test_a_walker_starts_no_track_of_a_car() -> None:
    walker = Box(10.0, 6.0, -math.pi / 2, 1.6, 0.4, 0.4)
    assert not any(drive(Tracker(), lambda n: ego_at(n, 3.0), lambda t: [walker.at(t)], 60))


def test_a_track_ends_soon_after_the_last_return() -> None:
    car = Box(-20.0, 3.5, 0.0, 9.0)
    steps = drive(Tracker(), ego_at, lambda t: [car.at(t)] if t < 1.5 else [], 60)
    assert len(steps[29]) == 1
    last = max(tick for tick, tracks in enumerate(steps) if tracks)
    assert (last - 29) * DT_S <= TrackerConfig().radar_coast_s + DT_S


@pytest.mark.parametrize("speed_mps", [5.0, 7.0, 10.0])
def test_a_car_that_drives_out_of_sight_leaves_no_track_on_a_pole(speed_mps: float) -> None:
    """It crosses to the right; there neither cameras nor radars see it any more, but poles beside its way."""
    car = Box(14.0, 0.0, -math.pi / 2, speed_mps)
    poles = [Box(12.8, -float(y), 0.0, 0.0, 0.3, 0.3) for y in np.arange(9.0, 30.0, 1.5)]

    def picture(frame: int) -> list[RangedObject]:
        there = car.at(frame * DT_S)
        if there.y_m < -7.0:
            return []
        place, covariance = (there.x_m, there.y_m), np.diag([1.0, 0.1])
        return [RangedObject(ObjectKind.CAR, 0.9, (10.0, 10.0, 40.0, 30.0), *place, covariance, 4.6, 1.9, 1.5, 14.0)]

    steps = drive(Tracker(), ego_at, lambda t: [*poles, *([car.at(t)] if car.at(t).y_m > -9.0 else [])], 160, picture)
    gone = round(9.0 / speed_mps / DT_S)
    assert steps[gone - 5]
    assert not any(steps[gone + round(TrackerConfig().coast_s / DT_S) + 2 :])


def test_the_lane_tells_the_velocity_across_the_sight() -> None:
    """With the map, one radial speed gives the velocity of a car on the road: it is right as soon as it is shown."""
    index = MapIndex(two_way_road([(200.0, 0.0)]))
    car = Box(70.0, 3.5 / 2, math.pi, 12.0)
    steps = drive(Tracker(index=index), lambda n: EgoState(ego_at(n).stamp, 20.0, -30.0, 0.0, 0.0, 0.0, 0.0, np.eye(4)),
                  lambda t: [car.at(t)], 40)  # fmt: skip
    first = next(tick for tick, tracks in enumerate(steps) if tracks)
    assert first * DT_S < 0.5
    assert errors(steps[first][0], car.at(first * DT_S))[1] < 2.0


def truck(ego: EgoState, box: Box, bias: float) -> RangedObject:
    """A camera's truck whose distance is wrong by the share `bias`, in every picture."""
    x, y = box.x_m - ego.x_m, box.y_m - ego.y_m
    covariance = np.diag([(0.15 * x) ** 2, 0.3**2])
    pixels = (300.0, 150.0, 340.0, 200.0)
    return RangedObject(
        ObjectKind.TRUCK, 0.9, pixels, x * (1.0 + bias), y * (1.0 + bias), covariance, 7.0, 2.4, 3.0, x,
        jitter=np.diag([0.2**2, 0.1**2]),
    )  # fmt: skip


def test_radar_corrects_a_cameras_track_but_not_its_kind_and_size() -> None:
    lorry = Box(35.0, 9.0, math.pi, 8.0, 7.0, 2.4)

    def picture(frame: int) -> list[RangedObject]:
        return [truck(ego_at(frame), lorry.at(frame * DT_S), 0.12)]

    alone = [Tracker().update(ego_at(0), picture(0))]
    tracker = Tracker()
    for frame in range(50):
        alone.append(tracker.update(ego_at(frame), picture(frame)))
    both = drive(Tracker(), ego_at, lambda t: [lorry.at(t)], 50, picture)
    there = lorry.at(49 * DT_S)
    assert len(both[-1]) == 1
    assert both[-1][0].kind is ObjectKind.TRUCK
    assert both[-1][0].length_m == pytest.approx(7.0)
    assert errors(alone[-1][0], there)[0] > 1.3
    assert errors(both[-1][0], there)[0] < 0.9
    assert both[-1][0].box_px is not None


def test_a_parked_car_of_the_camera_stays_parked_when_another_passes_it() -> None:
    """No return from the passing car moves it, nor do the parked car's own keep a second track."""
    parked, passing = Box(25.0, -3.0), Box(-5.0, 0.5, 0.0, 12.0)

    def picture(frame: int) -> list[RangedObject]:
        covariance = np.diag([1.0, 0.1])
        return [
            RangedObject(ObjectKind.CAR, 0.9, (10.0, 10.0, 40.0, 30.0), 25.0, -3.0, covariance, 4.6, 1.9, 1.5, 22.0)
        ]

    steps = drive(Tracker(), ego_at, lambda t: [parked, passing.at(t)], 70, picture)
    for tracks in steps[20:]:
        still = min(tracks, key=lambda track: abs(track.x_m - 25.0) + abs(track.y_m + 3.0))
        assert errors(still, parked)[0] < 1.0
        assert still.speed_mps < 1.0


@pytest.mark.parametrize(("ahead_m", "left_m"), [(2.3, -0.85), (-2.3, 0.5)])
def test_a_box_that_was_put_wrong_along_the_car_comes_right(ahead_m: float, left_m: float) -> None:
    """The returns of a car that comes straight on are from its front, not from its side."""
    tracker, car = Tracker(), Box(-45.0, -3.3, 0.0, 12.0)
    drive(tracker, ego_at, lambda t: [car.at(t)], 8)
    tracker._tracks["state"][0, :2] = np.array([-45.0 + 7 * DT_S * 12.0 + ahead_m, -3.3 + left_m])
    rng = np.random.default_rng(7)
    for frame in range(8, 40):
        measured = sweeps(ego_at(frame), [car.at(frame * DT_S)], rng)
        tracks = tracker.update(ego_at(frame), (), radar=locate_returns(measured, ego_at(frame)))
    assert len(tracks) == 1
    assert errors(tracks[0], car.at(39 * DT_S))[0] < 0.6


def turning(time_s: float) -> list[Box]:
    """Cars at 11 m/s, 30 m apart, that come from ahead and turn to the ego's left 12 m before it."""
    radius_m, speed_mps = 12.0, 11.0
    boxes = []
    for number in range(6):
        way_m = speed_mps * time_s - 30.0 * number - 10.0
        turn_rad = min(max(way_m / radius_m, 0.0), math.pi / 2)
        x = 24.0 - radius_m * math.sin(turn_rad) - min(way_m, 0.0)
        y = 3.5 + radius_m * (1.0 - math.cos(turn_rad)) + max(way_m - radius_m * math.pi / 2, 0.0)
        if math.hypot(x, y) < 60.0:
            boxes.append(Box(x, y, math.pi - turn_rad, speed_mps))
    return boxes


def test_cars_that_turn_before_the_ego_have_one_track_each() -> None:
    steps = drive(Tracker(), ego_at, turning, 300)
    for tick, tracks in enumerate(steps):
        boxes = turning(tick * DT_S)
        for one in tracks:
            near = [other for other in tracks if math.hypot(other.x_m - one.x_m, other.y_m - one.y_m) < 4.0]
            assert len(near) == 1, f"two tracks on one of {len(boxes)} cars in tick {tick}"


def rows(*boxes: Box) -> Rows:
    """Radar tracks, shown since long ago."""
    tracks = np.zeros(len(boxes), TRACK)
    for track, box in zip(tracks, boxes, strict=True):
        track["state"][:2], track["yaw_rad"] = (box.x_m, box.y_m), box.yaw_rad
        track["size_m"] = (box.length_m, box.width_m, 1.5)
    tracks["track_id"] = np.arange(len(boxes))
    tracks["kind"], tracks["is_by_radar"], tracks["hits"] = CAR, True, 20
    return tracks


def test_a_young_radar_track_that_reaches_into_another_car_is_a_ghost() -> None:
    car, ghost = Box(6.2, -3.5, -1.34), Box(4.5, -2.8, -0.96)
    tracks = rows(car, ghost)
    tracks["hits"][1] = 4
    assert without_ghosts(tracks, 3)["track_id"].tolist() == [0]
    tracks["radar_age_s"][0] = 1.0  # nobody knows well where the first one is
    assert without_ghosts(tracks, 3)["track_id"].tolist() == [0, 1]


def test_cars_side_by_side_and_bumper_to_bumper_are_no_ghosts() -> None:
    tracks = rows(Box(0.0, 0.0), Box(0.3, 2.5), Box(5.0, 0.2, 0.05))
    assert len(without_ghosts(tracks, 3)) == 3


def shape(one: Box) -> Polygon:
    half = 0.5 * one.length_m, 0.5 * one.width_m
    turned = rotate(rectangle(-half[0], -half[1], *half), one.yaw_rad, (0.0, 0.0), use_radians=True)
    return translate(turned, one.x_m, one.y_m)


@given(
    st.lists(
        st.builds(
            Box, st.floats(-6.0, 6.0), st.floats(-6.0, 6.0), st.floats(-3.0, 3.0), st.just(0.0), st.floats(0.5, 9.0),
            st.floats(0.4, 3.0),
        ),
        min_size=2, max_size=6,
    )
)  # fmt: skip
def test_boxes_that_share_a_place_are_those_that_intersect(boxes: list[Box]) -> None:
    depths = shared_depths_m(rows(*boxes))
    shapes = [shape(one) for one in boxes]
    assert depths == pytest.approx(depths.T)
    for one, row in zip(shapes, depths, strict=True):
        for other, depth_m in zip(shapes, row, strict=True):
            if abs(depth_m) > 1e-6:
                assert (depth_m > 0.0) == one.intersects(other)
