"""Oracles and the scene: what is near, with truth's ids, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from av_core.frames import vehicle_to_image
from av_core.types import (
    CameraModel,
    EgoState,
    LaneEstimate,
    LaneGraph,
    LaneKey,
    LightState,
    ObjectKind,
    Pose2D,
    Signal,
    SignalKind,
    Stamp,
    TrackedObject,
    Truth,
)
from perception.detection.oracle import oracle_objects
from perception.lights.oracle import LightOracle
from perception.map_index import MapIndex
from perception.scene import along_lanes, assemble_scene
from tests.perception.simulated_drives import two_way_road

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 2.0, 0.0, 1.5)
STAMP = Stamp(7, 0.35)


def car(track_id: int, x_m: float, y_m: float) -> TrackedObject:
    return TrackedObject(track_id, ObjectKind.CAR, x_m, y_m, 0.0, (3.0, 0.0), 4.0, 2.0, 1.5)


def truth(*objects: TrackedObject, lights: dict[str, LightState] | None = None, yaw: float = 0.0) -> Truth:
    return Truth(STAMP, Pose2D(100.0, 50.0, yaw), 0.0, 5.0, objects, lights or {}, ())


def test_objects_in_range_nearest_first() -> None:
    seen = oracle_objects(truth(car(1, 170.0, 50.0), car(2, 110.0, 50.0), car(3, 190.0, 50.0), car(4, 60.0, 50.0)))
    assert [o.track_id for o in seen] == [2, 1]
    assert [o.track_id for o in oracle_objects(truth(car(4, 75.0, 50.0)))] == [4]
    assert oracle_objects(truth()) == ()


def test_behind_turns_with_the_ego() -> None:
    assert oracle_objects(truth(car(1, 100.0, 90.0), yaw=-math.pi / 2)) == ()
    assert len(oracle_objects(truth(car(1, 100.0, 90.0), yaw=math.pi / 2))) == 1


def test_boxes_hold_the_projected_corners() -> None:
    cars = (car(1, 120.0, 51.0), car(2, 90.0, 50.0), car(3, 104.0, 75.0))
    ahead, behind, aside = (oracle_objects(truth(one), camera=CAMERA)[0] for one in cars)
    assert behind.box_px is None
    assert aside.box_px is None
    assert ahead.box_px is not None
    near_left_foot = vehicle_to_image([18.0, 2.0, 0.0], CAMERA)[0]
    near_right_top = vehicle_to_image([18.0, 0.0, 1.5], CAMERA)[0]
    np.testing.assert_allclose(ahead.box_px[0], near_left_foot[0])
    np.testing.assert_allclose(ahead.box_px[3], near_left_foot[1])
    np.testing.assert_allclose(ahead.box_px[1], near_right_top[1], atol=1.0)


def test_lights_by_their_stop_lines() -> None:
    road = two_way_road([(300.0, 0.0)])
    lane = LaneKey(1, 0, -1)
    signals = (
        Signal("near", SignalKind.TRAFFIC_LIGHT, lane, 120.0),
        Signal("far", SignalKind.TRAFFIC_LIGHT, lane, 280.0),
        Signal("stop", SignalKind.STOP, lane, 110.0),
        Signal("dark", SignalKind.TRAFFIC_LIGHT, lane, 111.0),
    )
    oracle = LightOracle(LaneGraph("road", road.lanes, signals, road.geo))
    states = {"near": LightState.RED, "far": LightState.GREEN, "elsewhere": LightState.RED}
    views = oracle.update(truth(lights=states))
    assert {name: view.state for name, view in views.items()} == {"near": LightState.RED}


def test_scene_refuses_parts_of_another_frame() -> None:
    ego = EgoState(STAMP, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.eye(4))
    scene = assemble_scene(ego, LaneEstimate(STAMP, None, None), [car(1, 0.0, 0.0)], {})
    assert scene.stamp == STAMP
    assert scene.objects[0].track_id == 1
    with pytest.raises(ValueError, match="lanes are of frame 6"):
        assemble_scene(ego, LaneEstimate(Stamp(6, 0.3), None, None), [], {})


@pytest.mark.parametrize(("guess_deg", "told_deg"), [(20.0, 0.0), (-25.0, 0.0), (160.0, 180.0), (80.0, 0.0)])
def test_slow_vehicles_stand_along_their_lane(guess_deg: float, told_deg: float) -> None:
    index = MapIndex(two_way_road([(100.0, 0.0)]))
    slow = TrackedObject(1, ObjectKind.CAR, 40.0, -2.2, math.radians(guess_deg), (0.3, 0.2), 4.6, 1.9, 1.6)
    (turned,) = along_lanes([slow], index)
    assert math.degrees(turned.yaw_rad) == pytest.approx(told_deg, abs=1.0)
    assert replace(turned, yaw_rad=slow.yaw_rad) == slow


@pytest.mark.parametrize(("guess_deg", "told_deg"), [(23.0, 0.0), (157.0, 180.0), (80.0, 80.0)])
def test_vehicles_parked_along_the_road_stand_along_it(guess_deg: float, told_deg: float) -> None:
    index = MapIndex(two_way_road([(100.0, 0.0)]))
    parked = TrackedObject(1, ObjectKind.CAR, 40.0, -4.7, math.radians(guess_deg), (0.3, 0.2), 4.6, 1.9, 1.6)
    (turned,) = along_lanes([parked], index)
    assert math.degrees(turned.yaw_rad) == pytest.approx(told_deg, abs=1.0)


def test_who_moves_or_walks_or_stands_off_the_road_keeps_its_heading() -> None:
    index = MapIndex(two_way_road([(100.0, 0.0)]))
    mover = TrackedObject(1, ObjectKind.CAR, 40.0, -2.2, 0.4, (8.0, 3.0), 4.6, 1.9, 1.6)
    walker = TrackedObject(2, ObjectKind.PEDESTRIAN, 40.0, -2.2, 0.4, (0.3, 0.0), 0.5, 0.5, 1.7)
    aside = TrackedObject(3, ObjectKind.CAR, 40.0, -20.0, 0.4, (0.0, 0.0), 4.6, 1.9, 1.6)
    assert along_lanes([mover, walker, aside], index) == (mover, walker, aside)
