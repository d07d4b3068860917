"""The road's height ahead from the map, and places on it, against hills whose shape is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import CameraModel, Detection, Float, LaneGraph, Pose2D
from perception.depth.ranging import FLAT, range_objects
from perception.depth.ranging_kernel import ROAD_STEP_M
from perception.map_index import WHEELBASE_M, MapIndex
from tests.perception.simulated_drives import two_way_road

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 1.5, 0.0, 1.6)
AT_M, FOCAL_PX = 60.0, 320.0 / math.tan(math.radians(30.0))

Shape = Callable[[Float], Float]


def crest(x: Float) -> Float:
    return np.asarray(-((np.maximum(x - AT_M, 0.0)) ** 2) / 1500.0)


def dip(x: Float) -> Float:
    return np.asarray(3.0 - 0.04 * x + (np.maximum(x - AT_M - 10.0, 0.0)) ** 2 / 1200.0)


def slope(x: Float) -> Float:
    return np.asarray(0.05 * x)


def hilly(shape: Shape) -> LaneGraph:
    graph = two_way_road([(200.0, 0.0)])
    lanes = {
        key: replace(lane, points=np.column_stack([lane.points[:, :2], shape(lane.points[:, 0])]))
        for key, lane in graph.lanes.items()
    }
    return replace(graph, lanes=lanes)


def plane(shape: Shape) -> tuple[float, float]:
    """Height and slope of the plane on which the vehicle at `AT_M` stands."""
    rear, front = (float(shape(np.array(AT_M + gone))) for gone in (0.0, WHEELBASE_M))
    return rear, (front - rear) / WHEELBASE_M


@pytest.mark.parametrize("shape", [crest, dip, slope])
def test_rises_are_the_roads_above_the_plane_of_the_vehicle(shape: Shape) -> None:
    gone = ROAD_STEP_M * np.arange(21, dtype=np.float64)
    height, grade = plane(shape)
    rises = MapIndex(hilly(shape)).heights_ahead(Pose2D(AT_M, -1.5, 0.0), ROAD_STEP_M, 21)
    np.testing.assert_allclose(rises, shape(AT_M + gone) - height - grade * gone, atol=0.03)


def test_a_flat_map_has_no_rises_and_a_steady_slope_is_a_plane() -> None:
    assert not len(MapIndex(two_way_road([(200.0, 0.0)])).heights_ahead(Pose2D(AT_M, 0.0, 0.0), ROAD_STEP_M, 21))
    assert np.abs(MapIndex(hilly(slope)).heights_ahead(Pose2D(AT_M, 0.0, 0.0), ROAD_STEP_M, 21)).max() < 0.01


def test_under_a_bridge_the_road_goes_on_below() -> None:
    low, high = two_way_road([(200.0, 0.0)]), two_way_road([(12.0, 0.0)])
    over = {}
    for key, lane in high.lanes.items():
        x, y = lane.points[:, 0], lane.points[:, 1]
        points = np.column_stack([90.0 - y, x - 6.0, np.full(len(x), 6.0)])
        over[replace(key, road_id=99)] = replace(
            lane, key=replace(key, road_id=99), points=points, yaw_rad=lane.yaw_rad + math.pi / 2.0
        )
    index = MapIndex(replace(low, lanes={**low.lanes, **over}))
    assert np.abs(index.heights_ahead(Pose2D(AT_M, -1.7, 0.0), ROAD_STEP_M, 21)).max() < 0.01


def seen_at(range_m: float, shape: Shape) -> Detection:
    """A person 1.7 m high, who stands on the road `range_m` ahead of the camera."""
    height, grade = plane(shape)
    rows = []
    for above_m in (0.0, 1.7):
        x, z = range_m + CAMERA.x_m, float(shape(np.array(AT_M + range_m + CAMERA.x_m))) + above_m - height
        along, up = x + grade * z, z - grade * x  # in the vehicle's axes, to the first order
        rows.append((CAMERA.height_px - 1) / 2.0 + FOCAL_PX * (CAMERA.z_m - up) / (along - CAMERA.x_m))
    middle = (CAMERA.width_px - 1) / 2.0
    half = 0.25 * FOCAL_PX / range_m
    return Detection("pedestrian", (middle - half, rows[1], middle + half, rows[0]), 0.9)


@pytest.mark.parametrize("shape", [crest, dip, slope])
@pytest.mark.parametrize("range_m", [12.0, 25.0, 38.0])
def test_feet_are_placed_where_the_ray_meets_the_road(shape: Shape, range_m: float) -> None:
    rises = MapIndex(hilly(shape)).heights_ahead(Pose2D(AT_M, -1.5, 0.0), ROAD_STEP_M, 21)
    (thing,) = range_objects([seen_at(range_m, shape)], CAMERA, 0.001, rises)
    assert thing.by_foot is not None
    assert thing.by_foot.range_m == pytest.approx(range_m, rel=0.025)
    assert abs(thing.by_foot.range_m - range_m) < 2.0 * thing.by_foot.sigma_m


def test_a_plane_would_place_them_far_off() -> None:
    for shape in (crest, dip):
        (thing,) = range_objects([seen_at(38.0, shape)], CAMERA, 0.001)
        assert thing.by_foot is None or abs(thing.by_foot.range_m - 38.0) > 4.0


def test_no_rises_and_rises_of_a_plane_tell_the_same() -> None:
    for range_m in (8.0, 20.0, 60.0, 110.0):
        box = [seen_at(range_m, lambda x: 0.0 * x)]
        (flat,), (told,) = range_objects(box, CAMERA, 0.001, FLAT), range_objects(box, CAMERA, 0.001, np.zeros(21))
        assert flat.by_foot is not None
        assert told.by_foot is not None
        assert told.by_foot.range_m == pytest.approx(flat.by_foot.range_m, rel=1e-9)
        assert told.by_foot.sigma_m == pytest.approx(flat.by_foot.sigma_m, rel=1e-9)
