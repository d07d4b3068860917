"""Broken pictures of a moving road are told within two frames; good ones never are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import CameraImage, CameraModel, Image
from perception.health.monitor import PICTURE_FAULTS, Fault, Health, HealthMonitor, Response, median_of_counts
from tests.perception.lane_pictures import FRONT, YELLOW, Paint, camera_image, draw_road

DT_S, SPEED_MPS = 0.05, 8.0
Break = Callable[[Image, Image, np.random.Generator], Image | None]


def road(frame: int, seed: int = 0) -> Image:
    """A road that comes nearer by what the car drives in a frame, with walls of texture left and right."""
    stripes = [
        Paint(lambda x: 0 * x + 1.8, YELLOW, gap_m=6.0, phase_m=-frame * SPEED_MPS * DT_S),
        Paint(lambda x: 0 * x - 1.8),
    ]
    picture = draw_road(stripes, seed=seed + frame, noise=2.0).astype(np.float64)
    rng = np.random.default_rng(4)
    houses = np.repeat(rng.uniform(-50, 50, (1, 40)), 16, axis=1)[:, (np.arange(640) + 2 * frame) % 640]
    picture[60:180] += houses[..., None] * np.linspace(0.3, 1.0, 120)[:, None, None]
    return np.clip(picture, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def roads() -> list[Image]:
    return [road(frame) for frame in range(14)]


def tear(now: Image, before: Image, rng: np.random.Generator) -> Image:
    torn = now.copy()
    torn[120:] = np.roll(before[120:], 90, axis=1)
    return torn


def test_a_stale_lower_part_is_a_tear(roads: list[Image]) -> None:
    monitor = HealthMonitor()
    for frame in range(8):
        monitor.update(camera_image(roads[frame], frame), frame * DT_S, SPEED_MPS)
    half_new = roads[8].copy()
    half_new[240:] = roads[7][240:]
    assert Fault.TORN in monitor.update(camera_image(half_new, 8), 8 * DT_S, SPEED_MPS).faults


def test_after_a_tear_in_a_bend_good_pictures_are_good_again(roads: list[Image]) -> None:
    """The scene has moved on since the last whole picture: the further the longer ago that was."""
    monitor, rng = HealthMonitor(), np.random.default_rng(0)
    scene = np.maximum(roads[0], rng.integers(0, 120, (45, 80, 1), dtype=np.uint8).repeat(8, axis=0).repeat(8, axis=1))
    shown = [np.roll(scene, 24 * frame, axis=1) for frame in range(16)]
    for frame in range(16):
        is_torn = 8 <= frame < 11
        picture = tear(shown[frame], shown[frame - 1], rng) if is_torn else shown[frame]
        faults = monitor.update(camera_image(picture, frame), frame * DT_S, SPEED_MPS).faults
        assert (Fault.TORN in faults) == is_torn, f"picture {frame}"


def test_a_stop_line_or_a_lorry_that_fills_the_picture_is_no_tear(roads: list[Image]) -> None:
    """Whole rows that were dark turn white from one picture to the next; a grey side fills ever more of the picture."""
    monitor = HealthMonitor()
    for frame in range(14):
        picture = roads[frame].copy()
        if frame >= 8:
            picture[20 * (frame - 8) + 200 : 20 * (frame - 8) + 230] = 230
        picture[100:, : max(0, 16 * (frame - 6))] = 120
        assert monitor.update(camera_image(picture, frame), frame * DT_S, SPEED_MPS).faults == ()


@pytest.mark.parametrize(("fov_deg", "yaw_deg", "step_px"), [(30.0, 0.0, 56), (90.0, 90.0, 120), (90.0, -90.0, 120)])
def test_a_turn_in_a_narrow_camera_and_who_passes_beside_one_are_no_tear(
    roads: list[Image], fov_deg: float, yaw_deg: float, step_px: int
) -> None:
    """A band that moves sideways by more than it may in a camera of 60 degrees that looks ahead."""
    camera = replace(FRONT, fov_x_rad=np.radians(fov_deg), yaw_rad=np.radians(yaw_deg))
    monitor, usual = HealthMonitor(), HealthMonitor()
    rng, told = np.random.default_rng(0), False
    houses = rng.integers(0, 255, (6, 80, 1), dtype=np.uint8).repeat(10, axis=0).repeat(8, axis=1).repeat(3, axis=2)
    for frame in range(14):
        picture = roads[frame].copy()
        picture[60:120] = np.roll(houses, step_px * frame, axis=1)
        image = camera_image(picture, frame)
        assert monitor.update(replace(image, camera=camera), frame * DT_S, SPEED_MPS).faults == ()
        told |= Fault.TORN in usual.update(image, frame * DT_S, SPEED_MPS).faults
    assert told


def noise(now: Image, before: Image, rng: np.random.Generator) -> Image:
    return np.clip(now + rng.normal(0.0, 40.0, now.shape), 0, 255).astype(np.uint8)


BREAKS: dict[Fault, Break] = {
    Fault.MISSING: lambda now, before, rng: None,
    Fault.BLACK: lambda now, before, rng: (now * 0.02).astype(np.uint8),
    Fault.OVEREXPOSED: lambda now, before, rng: np.clip(now * 3.0 + 60.0, 0, 255).astype(np.uint8),
    Fault.FROZEN: lambda now, before, rng: before,
    Fault.TORN: tear,
    Fault.NOISY: noise,
}


def watch(roads: list[Image], fault: Fault | None, first: int = 8) -> list[Health]:
    monitor, rng, out, shown = HealthMonitor(), np.random.default_rng(0), [], roads[0]
    for frame, picture in enumerate(roads):
        broken = BREAKS[fault](picture, shown, rng) if fault is not None and frame >= first else picture
        image = None if broken is None else camera_image(broken, frame)
        out.append(monitor.update(image, frame * DT_S, SPEED_MPS))
        shown = picture if broken is None else broken
    return out


def test_a_good_drive_is_well(roads: list[Image]) -> None:
    for health in watch(roads, None):
        assert health.faults == ()
        assert health.response is Response.DRIVE


@pytest.mark.parametrize("fault", PICTURE_FAULTS)
def test_each_fault_is_noticed_within_two_frames(roads: list[Image], fault: Fault) -> None:
    seen = watch(roads, fault)
    assert all(health.faults == () for health in seen[:8])
    assert any(fault in health.faults for health in seen[8:10])
    assert seen[9].confidence < 0.5
    assert seen[9].response is Response.SLOW


def test_dusk_and_night_are_no_fault(roads: list[Image]) -> None:
    for light in (0.5, 0.2):
        dark = [(picture * light).astype(np.uint8) for picture in roads]
        assert all(health.faults == () for health in watch(dark, None))


def test_a_standing_car_may_see_the_same_picture_again() -> None:
    monitor, picture = HealthMonitor(), road(0)
    for frame in range(10):
        assert monitor.update(camera_image(picture, frame), frame * DT_S, 0.0).faults == ()


def test_a_fault_of_a_second_asks_for_a_stop_and_good_pictures_end_it(roads: list[Image]) -> None:
    monitor, responses = HealthMonitor(), []
    for frame in range(60):
        image = None if 5 <= frame < 35 else camera_image(roads[frame % 14], frame)
        responses.append(monitor.update(image, frame * DT_S, SPEED_MPS).response)
    assert responses[4] is Response.DRIVE
    assert set(responses[6:24]) == {Response.SLOW}
    assert set(responses[25:35]) == {Response.STOP}
    assert responses[59] is Response.DRIVE


def test_a_single_bad_picture_does_not_stop_the_car(roads: list[Image]) -> None:
    monitor = HealthMonitor()
    for frame in range(40):
        health = monitor.update(
            None if frame == 10 else camera_image(roads[frame % 14], frame), frame * DT_S, SPEED_MPS
        )
        assert health.response is not Response.STOP
    assert health.confidence == 1.0


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 80), st.integers(1, 80), st.integers(0, 255), st.booleans(), st.floats(-50, 50))
def test_any_picture_gets_an_answer(width: int, height: int, level: int, is_noise: bool, speed: float) -> None:
    camera = CameraModel("any", width, height, 1.0, 0.0, 0.0, 1.0)
    monitor = HealthMonitor()
    for frame in range(3):
        bgr = np.full((height, width, 3), level, dtype=np.uint8)
        if is_noise:
            bgr = np.random.default_rng(frame).integers(0, 256, bgr.shape).astype(np.uint8)
        image = replace(camera_image(np.zeros((1, 1, 3), np.uint8), frame, FRONT), camera=camera, bgr=bgr)
        assert isinstance(image, CameraImage)
        health = monitor.update(image, frame * DT_S, speed)
        assert 0.0 <= health.confidence <= 1.0
        if not is_noise:
            assert Fault.BLACK in health.faults or Fault.OVEREXPOSED in health.faults


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_the_median_of_counts_is_that_of_the_numbers(numbers: list[int]) -> None:
    assert median_of_counts(np.bincount(numbers)) == np.median(numbers)
