"""Places from boxes, pitch from lines, and the depth image, where the answers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.frames import image_to_ground, intrinsics, optical_to_vehicle_rotation, vehicle_to_image
from av_core.types import (
    CameraModel,
    Detection,
    EgoState,
    LaneEstimate,
    LaneLine,
    MarkingColour,
    MarkingKind,
    ObjectKind,
    RangedObject,
    Stamp,
)
from perception.depth.depth_image import depth_image
from perception.depth.ground import PitchFilter, pitch_from_lines
from perception.depth.parallax import DepthPoints
from perception.depth.ranging import (
    SIZES,
    face_depth_m,
    range_objects,
)
from perception.depth.ranging_kernel import fuse_cues
from perception.depth.view import View
from perception.tracking.tracker import Tracker

FRONT = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6, math.radians(2.0))
VIEW = View.of(FRONT)
SIGMA_RAD = math.radians(0.1)
NO_POINTS = DepthPoints(np.zeros((0, 2)), np.zeros(0), np.zeros(0))


def box_of(
    x: float, y: float, yaw: float, kind: ObjectKind = ObjectKind.CAR, camera: CameraModel = FRONT, scale: float = 1.0
) -> tuple[float, float, float, float]:
    """The box of an object of its kind's mean size (`scale`d in height), centred at (x, y) of the vehicle frame: a body
    with its wheels and the edges of its roof where `Size` says they are."""
    size = SIZES[kind]
    corners = np.array([[i, j] for i in (-0.5, 0.5) for j in (-0.5, 0.5)])
    c, s = math.cos(yaw), math.sin(yaw)
    body = (size.length_m, 0.5 * size.height_m)
    points = []
    for length, up in (
        body,
        (size.length_m - 2.0 * size.stand_m, 0.0),
        (max(size.length_m - 2.0 * size.roof_m, 0.0), size.height_m * scale),
    ):
        ground = (corners * [length, size.width_m]) @ np.array([[c, s], [-s, c]]) + [x, y]
        points.append(np.column_stack([ground, np.full(4, up)]))
    pixels, _ = vehicle_to_image(np.concatenate(points), camera)
    (u0, v0), (u1, v1) = pixels.min(axis=0), pixels.max(axis=0)
    return float(u0), float(v0), float(u1), float(v1)


def line(coefficients: tuple[float, ...], confidence: float = 0.9, x_max: float = 30.0) -> LaneLine:
    return LaneLine(coefficients, 4.0, x_max, MarkingKind.SOLID, MarkingColour.WHITE, confidence)


def placed(detection: Detection, camera: CameraModel = FRONT) -> RangedObject | None:
    found = range_objects([detection], camera, SIGMA_RAD)
    return found[0] if found else None


def lanes(left: LaneLine | None, right: LaneLine | None) -> LaneEstimate:
    return LaneEstimate(Stamp(0, 0.0), left, right)


@pytest.mark.parametrize("kind", list(ObjectKind))
@pytest.mark.parametrize(("x", "y"), [(10.0, 1.0), (18.0, -4.0), (30.0, 3.0), (40.0, -2.0)])
def test_objects_ahead_are_placed_within_a_few_percent(kind: ObjectKind, x: float, y: float) -> None:
    box = box_of(x, y, 0.0, kind)
    thing = placed(Detection(kind.value, box, 0.9))
    assert thing is not None
    if box[0] > 1 and box[1] > 1 and box[2] < 638 and box[3] < 358:
        assert abs(math.hypot(thing.x_m, thing.y_m) / math.hypot(x, y) - 1.0) < 0.02 + 0.5 / x
        assert abs(math.atan2(thing.y_m, thing.x_m) - math.atan2(y, x)) < 0.03


@pytest.mark.parametrize("yaw_deg", [0, 10, 90, 180, -90])
def test_cars_turned_any_way_are_placed_by_their_middle(yaw_deg: float) -> None:
    thing = placed(Detection("car", box_of(20.0, 0.0, math.radians(yaw_deg)), 0.9))
    assert thing is not None
    assert abs(thing.x_m - 20.0) < 0.7
    if yaw_deg in (0, 180):
        assert thing.yaw_rad == pytest.approx(0.0, abs=0.1)
    if yaw_deg in (90, -90):
        assert thing.yaw_rad == pytest.approx(math.pi / 2, abs=0.3)


def test_sigma_covers_the_error_of_tall_short_and_jittered_boxes() -> None:
    rng = np.random.default_rng(0)
    off = []
    for _ in range(400):
        x, y = rng.uniform(8.0, 45.0), rng.uniform(-3.0, 3.0)
        size = SIZES[ObjectKind.CAR]
        scale = 1.0 + rng.normal(0.0, size.height_sigma_m / size.height_m)
        box = np.array(box_of(x, y, 0.0, scale=scale)) + rng.normal(0.0, 1.0, 4)
        camera = replace(FRONT, pitch_rad=FRONT.pitch_rad + rng.normal(0.0, SIGMA_RAD))
        thing = placed(Detection("car", tuple(box.tolist()), 0.9), camera)
        assert thing is not None
        error = np.array([thing.x_m - x, thing.y_m - y])
        off.append(error @ np.linalg.solve(thing.covariance, error))
    assert np.mean(np.array(off) < 9.21) > 0.97
    assert np.mean(off) > 0.3  # nor is it far too careful


def test_a_box_cut_by_the_lower_edge_has_no_foot_and_one_cut_above_no_size() -> None:
    low = placed(Detection("car", (100.0, 100.0, 300.0, 359.0), 0.9))
    assert low is not None
    assert low.by_foot is None
    high = placed(Detection("truck", (100.0, 0.0, 300.0, 300.0), 0.9))
    assert high is not None
    assert high.by_size is None
    assert high.by_foot is not None
    filling = placed(Detection("truck", (0.0, 0.0, 640.0, 360.0), 0.9))
    assert filling is not None  # right ahead of the bumper: the last thing to be left out
    assert filling.near_m < 4.5
    above = placed(Detection("car", (300.0, 130.0, 320.0, 150.0), 0.9))  # above the horizon
    assert above is not None
    assert above.by_foot is None


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_car_that_is_passed_is_not_pulled_over_though_its_distance_is_short(side: float) -> None:
    tracker, camera = Tracker(), replace(FRONT, pitch_rad=FRONT.pitch_rad + math.radians(0.8))
    beside = []
    for frame in range(50):
        x = 18.0 - 0.3 * frame
        u0, v0, u1, v1 = np.clip(box_of(max(x, 5.5), 3.6 * side, math.pi), 0.0, [639.0, 359.0, 639.0, 359.0])
        thing = placed(Detection("car", (float(u0), float(v0), float(u1), float(v1)), 0.9), camera)
        ego = EgoState(Stamp(frame, 0.05 * frame), 18.0 - x, 0.0, 0.0, 6.0, 0.0, 0.0, np.eye(4))
        tracks = tracker.update(ego, [] if thing is None or x < 5.5 else [thing])
        beside += [track.y_m * side for track in tracks]
    assert len(beside) > 40
    assert beside[0] == pytest.approx(3.6, abs=0.5)
    assert min(beside) > beside[0] - 0.1


def test_lights_and_signs_are_no_road_users() -> None:
    boxes = [Detection(name, box_of(20, 0, 0), 0.9) for name in ("light red", "stop sign", "speed limit 30", "car")]
    assert [thing.kind for thing in range_objects(boxes, FRONT, SIGMA_RAD)] == [ObjectKind.CAR]


def test_fusing_weighs_by_variance_and_owns_up_to_contradiction() -> None:
    unknown = [math.nan] * 3
    assert fuse_cues(np.array([[20.0, 1.0, 0.0], [22.0, 2.0, 0.0], unknown]))[:2] == pytest.approx(
        (20.4, math.sqrt(0.8))
    )
    assert fuse_cues(np.array([unknown, [20.0, 1.0, 0.5], [40.0, 1.0, 0.5]]))[1] > 5.0
    assert all(map(math.isnan, fuse_cues(np.array([unknown]))))


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (1.5, 0.03, 0.0), (-3.0, -0.2, 0.1), (0.7, 0.5, -0.4)])
def test_a_view_is_the_frames_matrices(angles: tuple[float, float, float]) -> None:
    camera = replace(FRONT, yaw_rad=angles[0], pitch_rad=angles[1], roll_rad=angles[2])
    view = View.of(camera)
    axes = np.array([view.right, view.down, view.forward]).T
    np.testing.assert_allclose(axes, optical_to_vehicle_rotation(camera), atol=1e-15)
    assert view.focal_px == pytest.approx(intrinsics(camera)[0, 0])


@pytest.mark.parametrize("error_deg", [-0.6, -0.2, 0.0, 0.3, 0.8])
def test_pitch_comes_from_lines_that_seem_to_open_or_close(error_deg: float) -> None:
    """Lines at +-1.8 m, seen with a camera that believes in another pitch than it has."""
    error = math.radians(error_deg)
    actual = replace(FRONT, pitch_rad=FRONT.pitch_rad + error)
    fits = []
    for y in (1.8, -1.8):
        true = np.column_stack([np.linspace(6, 20, 30), np.full(30, y), np.zeros(30)])
        pixels, _ = vehicle_to_image(true, actual)
        ground = image_to_ground(pixels, FRONT)
        fits.append(line(tuple(np.polynomial.polynomial.polyfit(ground[:, 0], ground[:, 1], 2))))
    measured = pitch_from_lines(lanes(fits[0], fits[1]), FRONT)
    assert measured is not None
    assert measured[0] == pytest.approx(error, abs=math.radians(0.12))
    keeper = PitchFilter()
    for _ in range(600):
        keeper.update(0.05, 0.0, lanes(fits[0], fits[1]), FRONT)
    assert abs(keeper.pitch_rad - error) < max(0.5 * abs(error), math.radians(0.1))
    assert keeper.camera(FRONT).pitch_rad == FRONT.pitch_rad + keeper.pitch_rad


def test_pitch_is_not_read_from_unsure_short_or_bent_lines() -> None:
    good, right = line((1.8, 0.01)), line((-1.8,))
    assert pitch_from_lines(lanes(good, right), FRONT) is not None
    for poor in (None, line((1.8,), confidence=0.2), line((1.8,), x_max=10.0), line((1.8, 0.0, 0.02)), line((9.0,))):
        assert pitch_from_lines(lanes(poor, right), FRONT) is None


def test_lines_that_are_not_one_lanes_tell_no_pitch() -> None:
    """One bends and the other does not, or they open by more than a car tilts: a kerb, a reflection."""
    bends, straight = line((1.8, 0.0, 0.002)), line((-1.8,))
    assert pitch_from_lines(lanes(bends, straight), FRONT) is None
    assert pitch_from_lines(lanes(bends, line((-1.8, 0.0, 0.0021))), FRONT) is not None
    assert pitch_from_lines(lanes(line((1.8,)), line((-1.8, -0.1))), FRONT) is None


def test_a_foot_that_a_nearer_car_may_hide_is_hardly_believed_and_one_behind_a_cycle_is() -> None:
    far, near = box_of(30.0, 0.0, 0.0), box_of(12.0, 0.0, 0.0)
    edge = 0.6 * far[1] + 0.4 * far[3]
    near, behind = (near[0], edge, near[2], near[3]), Detection("car", (far[0], far[1], far[2], edge + 3.0), 0.9)
    for cover, hides in (("car", True), ("bicycle", False), ("speed limit 30", False)):
        seen = range_objects([behind, Detection(cover, near, 0.9)], FRONT, SIGMA_RAD)[0]
        assert (seen.by_foot is None) == hides
        assert (seen.by_size is None) == hides
        assert seen.jitter is not None
        share = math.sqrt(seen.jitter[0, 0]) / seen.near_m
        assert share > 0.24 if hides else share < 0.16


@pytest.mark.parametrize("kind", list(ObjectKind))
def test_what_is_seen_of_an_object_lies_between_its_nearest_side_and_its_middle(kind: ObjectKind) -> None:
    thing = placed(Detection(kind.value, box_of(22.0, 0.0, 0.0, kind), 0.9))
    assert thing is not None
    nearest, middle = 22.0 - FRONT.x_m - SIZES[kind].length_m / 2.0, 22.0 - FRONT.x_m
    assert nearest - 0.7 < face_depth_m(thing, VIEW) < middle


def test_a_dive_felt_by_the_gyro_fades() -> None:
    keeper = PitchFilter()
    for _ in range(4):
        keeper.update(0.05, 0.1, None, FRONT)
    assert keeper.pitch_rad > 0.01
    for _ in range(60):
        keeper.update(0.05, 0.0, None, FRONT)
    assert abs(keeper.pitch_rad) < 1e-3


def test_depth_image_holds_road_objects_and_points() -> None:
    car = placed(Detection("car", box_of(20.0, 0.0, 0.0), 0.9))
    assert car is not None
    points = DepthPoints(np.array([[600.0, 100.0]]), np.array([33.0]), np.array([1.0]))
    both = lanes(line((1.8,)), line((-1.8,)))
    image = depth_image(FRONT, SIGMA_RAD, both, [car], points)
    (u, v), depth = vehicle_to_image([10.0, 0.5, 0.0], FRONT)
    assert image.depth_m[round(v), round(u)] == pytest.approx(depth, rel=0.03)
    (u, v), _ = vehicle_to_image([10.0, 3.0, 0.0], FRONT)
    assert np.isnan(image.depth_m[round(v), round(u)])
    (u, v), depth = vehicle_to_image([20.0 - 2.3, 0.0, 0.8], FRONT)
    assert image.depth_m[round(v), round(u)] == pytest.approx(depth, rel=0.06)
    assert image.depth_m[100, 600] == 33.0
    assert (np.isfinite(image.depth_m) == np.isfinite(image.sigma_m)).all()
    assert np.isnan(image.depth_m[:150]).sum() > 150 * 640 - 30 - 130 * 80


cameras = st.builds(
    CameraModel,
    st.just("any"),
    st.integers(8, 200),
    st.integers(8, 200),
    st.floats(0.2, 2.5),
    st.floats(-2.0, 2.0),
    st.floats(-2.0, 2.0),
    st.floats(-1.0, 3.0),
    st.floats(-1.0, 1.0),
    st.floats(-3.0, 3.0),
    st.floats(-1.0, 1.0),
)
numbers = st.floats(-500.0, 500.0) | st.sampled_from([math.nan, math.inf, -math.inf])


@settings(max_examples=150, deadline=None)
@given(cameras, st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=4), st.sampled_from(list(ObjectKind)))
def test_any_box_in_any_camera_gives_finite_places_or_none(
    camera: CameraModel, boxes: list[tuple[float, float, float, float]], kind: ObjectKind
) -> None:
    found = range_objects([Detection(kind.value, box, 0.5) for box in boxes], camera, SIGMA_RAD)
    for thing in found:
        assert np.isfinite([thing.x_m, thing.y_m, thing.near_m, thing.height_m]).all()
        assert np.linalg.eigvalsh(thing.covariance)[0] > 0.0
    image = depth_image(camera, SIGMA_RAD, None, found, NO_POINTS)
    assert image.depth_m.shape == (camera.height_px, camera.width_px)
    known = image.depth_m[np.isfinite(image.depth_m)]
    assert (known > 0.0).all()
