"""The lane detector on made pictures whose lines are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_core.types import CameraImage, CameraModel, Image, LaneEstimate, LaneLine, MarkingColour, MarkingKind, Stamp
from perception.lanes.detector import LaneDetector
from tests.perception.lane_pictures import FRONT, YELLOW, Float, Paint, camera_image, draw_road


def arc(offset_m: float, curvature_1pm: float = 0.0, slope: float = 0.0) -> Callable[[Float], Float]:
    return lambda x: offset_m + slope * x + curvature_1pm * x * x / 2.0


def watch(picture: Image, frames: int = 12, camera: CameraModel = FRONT) -> LaneEstimate:
    """What the detector says after looking at a still for a while."""
    detector = LaneDetector()
    estimate = LaneEstimate(Stamp(0, 0.0), None, None)
    for frame in range(frames):
        estimate = detector.update(camera_image(picture, frame, camera), 0.0, 0.0)
    return estimate


def assert_follows(line: LaneLine | None, truth: Callable[[Float], Float], within_m: float = 0.06) -> None:
    assert line is not None
    x = np.array([6.0, 10.0, 15.0])
    np.testing.assert_allclose(line.y_at(x), truth(x), atol=within_m)


@pytest.mark.parametrize("curvature", [0.0, 0.01, -0.02, 0.03])
@pytest.mark.parametrize("slope", [0.0, 0.08])
def test_both_lines_of_a_lane(curvature: float, slope: float) -> None:
    left, right = arc(1.8, curvature, slope), arc(-1.7, curvature, slope)
    lanes = watch(draw_road([Paint(left, YELLOW), Paint(right)]))
    assert_follows(lanes.left, left)
    assert_follows(lanes.right, right)
    assert lanes.left is not None
    assert lanes.right is not None
    assert (lanes.left.colour, lanes.right.colour) == (MarkingColour.YELLOW, MarkingColour.WHITE)
    assert (lanes.left.kind, lanes.right.kind) == (MarkingKind.SOLID, MarkingKind.SOLID)
    assert min(lanes.left.confidence, lanes.right.confidence) > 0.6


@pytest.mark.parametrize("phase_m", [0.0, 2.5, 5.0, 7.5])
def test_one_broken_line_is_enough(phase_m: float) -> None:
    """A road with a broken yellow line on the left and nothing on the right."""
    lanes = watch(draw_road([Paint(arc(2.0), YELLOW, gap_m=6.0, phase_m=phase_m)]))
    assert_follows(lanes.left, arc(2.0), within_m=0.1)
    assert lanes.left is not None
    assert (lanes.left.kind, lanes.left.colour) == (MarkingKind.BROKEN, MarkingColour.YELLOW)
    assert lanes.right is None


def test_a_double_line_is_one_line() -> None:
    lanes = watch(draw_road([Paint(arc(1.62), YELLOW), Paint(arc(1.88), YELLOW)]))
    assert_follows(lanes.left, arc(1.75))
    assert lanes.left is not None
    assert lanes.left.kind is MarkingKind.SOLID_SOLID


def test_the_nearest_lines_are_the_lanes_own() -> None:
    """Of four lines of a three-lane road the inner two are the ego's."""
    lanes = watch(draw_road([Paint(arc(y)) for y in (5.2, 1.7, -1.8, -5.3)]))
    assert_follows(lanes.left, arc(1.7))
    assert_follows(lanes.right, arc(-1.8))
    assert_follows(lanes.left_neighbour, arc(5.2), within_m=0.15)
    assert_follows(lanes.right_neighbour, arc(-5.3), within_m=0.15)


@pytest.mark.parametrize("asphalt", [35, 90, 165])
def test_light_and_dark_asphalt(asphalt: int) -> None:
    lanes = watch(draw_road([Paint(arc(1.8), YELLOW), Paint(arc(-1.7))], asphalt=asphalt))
    assert_follows(lanes.left, arc(1.8))
    assert_follows(lanes.right, arc(-1.7))


def test_shadows_across_the_road() -> None:
    """Bars of shade at a quarter of the light, as trees throw."""

    def shade(x: Float, y: Float) -> Float:
        return np.where((x + 0.4 * y) % 5.0 < 2.0, 0.3, 1.0)

    lanes = watch(draw_road([Paint(arc(1.8), YELLOW), Paint(arc(-1.7))], shade=shade))
    assert_follows(lanes.left, arc(1.8), within_m=0.08)
    assert_follows(lanes.right, arc(-1.7), within_m=0.08)


def test_shadow_edge_along_the_road_is_no_line() -> None:
    lanes = watch(draw_road([], shade=lambda x, y: np.where(y > 1.5, 0.4, 1.0)))
    assert (lanes.left, lanes.right) == (None, None)


def test_bare_road_has_no_lines() -> None:
    lanes = watch(draw_road([], noise=6.0))
    assert (lanes.left, lanes.right) == (None, None)


def test_stop_line_and_zebra_crossing_are_no_lane_lines() -> None:
    def crossing(x: Float, y: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        stop = (x > 9.0) & (x < 9.4) & (np.abs(y) < 3.5)
        zebra = (x > 11.0) & (x < 14.0) & (np.abs(y) < 6.0) & (y % 1.0 < 0.5)
        return np.asarray(stop | zebra)

    lanes = watch(draw_road([], extra=crossing))
    assert (lanes.left, lanes.right) == (None, None)


def test_a_crossings_bar_cut_by_the_kerb_is_no_lane_line() -> None:
    def crossing(x: Float, y: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        bars = (y > -2.3) & (y < 6.0) & ((y + 2.5) % 1.0 < 0.45)  # the last bar is 0.25 m wide
        return np.asarray((x > 7.0) & (x < 11.0) & bars)

    lanes = watch(draw_road([], extra=crossing))
    assert (lanes.left, lanes.right) == (None, None)


def test_confidence_fades_when_the_line_ends() -> None:
    """Junctions have no markings: after half a second the old lines are hardly believed, after one they are gone."""
    detector = LaneDetector()
    lined, bare = draw_road([Paint(arc(1.8)), Paint(arc(-1.7))]), draw_road([])
    for frame in range(15):
        sure = detector.update(camera_image(lined, frame), 8.0, 0.0)
    assert sure.left is not None
    assert sure.left.confidence > 0.7
    for frame in range(15, 26):
        fading = detector.update(camera_image(bare, frame), 8.0, 0.0)
    assert fading.left is None or fading.left.confidence < 0.3
    for frame in range(26, 40):
        gone = detector.update(camera_image(bare, frame), 8.0, 0.0)
    assert (gone.left, gone.right) == (None, None)


def test_lines_are_carried_through_a_turn_of_the_car() -> None:
    """The car weaves inside a straight lane; speed and yaw rate carry the lines so that no lag shows."""
    detector, dt, speed = LaneDetector(), 0.05, 10.0
    yaw, y, worst = 0.0, 0.0, 0.0
    for frame in range(28):
        rate = 0.25 * math.cos(frame * dt * 4.0)
        slope = -math.tan(yaw)
        left, right = arc(1.75 - y, slope=slope), arc(-1.75 - y, slope=slope)
        lanes = detector.update(camera_image(draw_road([Paint(left), Paint(right)], seed=frame), frame), speed, rate)
        if frame > 10:
            assert lanes.left is not None
            assert lanes.right is not None
            worst = max(worst, abs(float(lanes.left.y_at(8.0)) - float(left(np.array(8.0)))))
        # the next picture is taken after the car has turned on at the next frame's rate
        following = 0.25 * math.cos((frame + 1) * dt * 4.0)
        yaw += following * dt
        y += speed * dt * math.sin(yaw)
    assert worst < 0.1


def test_a_lane_change_swaps_the_lines_as_the_car_crosses() -> None:
    """The car drifts one lane to the left in 3 s: at each moment the nearest line of each side is told, none lags."""
    detector, dt, speed, seconds = LaneDetector(), 0.05, 10.0, 3.0
    lines, seen, scored = (5.25, 1.75, -1.75, -5.25), 0, 0
    y = yaw = 0.0
    for frame in range(int((seconds + 2.0) / dt)):
        t = min(max(frame * dt - 1.0, 0.0), seconds)
        sideways = 3.5 / seconds * (1.0 - math.cos(2.0 * math.pi * t / seconds)) if 0.0 < t < seconds else 0.0
        rate, yaw = (math.asin(sideways / speed) - yaw) / dt, math.asin(sideways / speed)
        y += sideways * dt
        near = [arc(line - y, slope=-math.tan(yaw)) for line in lines]
        picture = draw_road([Paint(line, gap_m=6.0, phase_m=-speed * frame * dt) for line in near], seed=frame)
        lanes = detector.update(camera_image(picture, frame), speed, rate)
        if frame < 10 or min(abs(line - y) for line in lines) < 0.3:
            continue  # while a wheel is on the line, either side may have it
        scored += 2
        left = min(line(np.array(8.0)) for line in near if line(np.array(4.0)) > 0.0)
        right = max(line(np.array(8.0)) for line in near if line(np.array(4.0)) <= 0.0)
        for told, true in ((lanes.left, left), (lanes.right, right)):
            if told is not None and told.confidence > 0.5:
                seen += 1
                assert abs(float(told.y_at(8.0)) - float(true)) < 0.2
    assert seen > 0.9 * scored


def test_a_jump_in_time_forgets() -> None:
    detector = LaneDetector()
    lined, bare = draw_road([Paint(arc(1.8))]), draw_road([])
    for frame in range(12):
        detector.update(camera_image(lined, frame), 0.0, 0.0)
    later = CameraImage(Stamp(99, 60.0), FRONT, bare)
    assert detector.update(later, 0.0, 0.0).left is None
    assert not detector.tracks


def test_a_large_picture_is_worked_on_at_limited_resolution() -> None:
    camera = replace(FRONT, width_px=1280, height_px=720)
    picture = draw_road([Paint(arc(1.8), YELLOW), Paint(arc(-1.7))], camera)
    lanes = watch(picture, camera=camera)
    assert_follows(lanes.left, arc(1.8))
    assert_follows(lanes.right, arc(-1.7))


def test_pitched_camera() -> None:
    camera = replace(FRONT, pitch_rad=math.radians(5.0), yaw_rad=0.05)
    lanes = watch(draw_road([Paint(arc(1.8)), Paint(arc(-1.7))], camera), camera=camera)
    assert_follows(lanes.left, arc(1.8))
    assert_follows(lanes.right, arc(-1.7))


def test_picture_of_another_size_than_its_camera_is_refused() -> None:
    with pytest.raises(ValueError, match=r"camera 'front': picture is uint8 \(100, 100, 3\)"):
        LaneDetector().update(CameraImage(Stamp(0, 0.0), FRONT, np.zeros((100, 100, 3), np.uint8)), 0.0, 0.0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.integers(1, 200),
    st.integers(1, 150),
    st.floats(0.3, 2.2),
    st.floats(-1.5, 1.5),
    st.data(),
)
def test_any_picture_gives_finite_lines(width: int, height: int, fov: float, pitch: float, data: st.DataObject) -> None:
    camera = CameraModel("any", width, height, fov, 1.5, 0.0, 1.5, pitch)
    detector = LaneDetector()
    for frame in range(3):
        bgr = data.draw(
            st.one_of(
                hnp.arrays(np.uint8, (height, width, 3), elements=st.integers(0, 255), fill=st.integers(0, 255)),
                st.integers(0, 2**31).map(
                    lambda seed: np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
                ),
            )
        )
        speed, rate = data.draw(st.tuples(st.floats(), st.floats(-3.0, 3.0)))
        check_lines(detector.update(CameraImage(Stamp(frame, frame * 0.05), camera, bgr), speed, rate))


def test_damaged_pictures_of_a_road_give_finite_lines() -> None:
    """Pictures with blocks of noise and changing light, at any speed; the lines are seen between the blocks."""
    found = 0
    for seed in range(12):
        rng, detector = np.random.default_rng(seed), LaneDetector()
        bend, slope = rng.uniform(-0.02, 0.02), rng.uniform(-0.1, 0.1)
        road = draw_road([Paint(arc(1.8, bend, slope), YELLOW, gap_m=3.0), Paint(arc(-1.7, bend, slope))], seed=seed)
        for frame in range(10):
            bgr = np.clip(road * rng.uniform(0.5, 1.2), 0, 255).astype(np.uint8)
            for _ in range(3):
                v, u, side = rng.integers(0, 300), rng.integers(0, 560), rng.integers(5, 80)
                block = bgr[v : v + side, u : u + side]
                block[:] = rng.integers(0, 256, block.shape)
            speed, rate = rng.choice([0.0, 8.0, 60.0, -3.0, math.nan, math.inf]), rng.uniform(-3.0, 3.0)
            found += check_lines(detector.update(camera_image(bgr, frame), float(speed), float(rate)))
    assert found > 50


def check_lines(lanes: LaneEstimate) -> int:
    """Check that all numbers of the lines are finite and in their ranges; the number of lines."""
    lines = [line for line in (lanes.left, lanes.right) if line is not None]
    for line in lines:
        assert np.isfinite([*line.coefficients, line.x_min_m, line.x_max_m]).all()
        assert 0.0 <= line.confidence <= 1.0
        assert line.x_min_m <= line.x_max_m
    return len(lines)


def test_frames_are_deterministic() -> None:
    picture = draw_road([Paint(arc(1.8), YELLOW, gap_m=6.0), Paint(arc(-1.7))], noise=8.0)
    assert watch(picture) == watch(picture)
