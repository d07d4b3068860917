"""Corner score, tracker and triangulation, run on the CPU, against OpenCV and numpy, and against what is true."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.corner import host as corner_host
from cuda_ops.corner import reference as corner_reference
from cuda_ops.flow import host as flow_host
from cuda_ops.flow import reference as flow_reference
from cuda_ops.triangulate import host as depth_host
from cuda_ops.triangulate import reference as depth_reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 90), st.integers(1, 7))
def test_corner_score_is_opencvs(
    on_cpu: Callable[[str], ShimLauncher], seed: int, height: int, width: int, window: int
) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    out = np.full(image.shape, np.nan, np.float32)
    corner_host.run(on_cpu("corner"), image, out, window)
    expected = corner_reference.corner_score(image, window)
    larger = cv2.cornerEigenValsAndVecs(image, window, 3)[..., 0]  # what cancels: the score is a small difference of it
    np.testing.assert_allclose(out, expected, rtol=0.0, atol=1e-6 * float(larger.max()))


def texture(seed: int, shift: tuple[float, float]) -> np.ndarray:
    noise = np.random.default_rng(seed).integers(0, 256, (90, 120)).astype(np.uint8)
    smooth = cv2.GaussianBlur(noise, (0, 0), 2.0)
    smooth = cv2.normalize(smooth, np.empty_like(smooth), 0, 255, cv2.NORM_MINMAX)
    return cv2.warpAffine(smooth, np.array([[1, 0, shift[0]], [0, 1, shift[1]]], float), (120, 90), borderMode=4)


def on_shim(
    launcher: ShimLauncher, before: np.ndarray, after: np.ndarray, points: np.ndarray, s: flow_host.Settings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    height, width = before.shape
    sizes = flow_host.level_sizes(height, width, s.levels)
    images = (before, after)
    first, second = (np.full(sum(tall * wide for tall, wide in sizes[1:]), 77, np.uint8) for _ in images)
    halves = (first, second)
    flow_host.build_pyramids(launcher, images, halves, sizes)
    for image, levels in zip(images, halves, strict=True):
        expected = [level.ravel() for level in flow_reference.pyramid(image, s.levels)[1:]]
        np.testing.assert_array_equal(levels, np.concatenate([np.zeros(0, np.uint8), *expected]))
    count = len(points)
    out, residual = np.full((count, 2), np.nan, np.float32), np.full(count, np.nan, np.float32)
    status = np.full(count, 9, np.uint8)
    flow_host.run(launcher, images, halves, (height, width), points, out, residual, status, s)
    return out, residual, status


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**31), st.floats(-6.0, 6.0), st.floats(-6.0, 6.0), st.integers(1, 4), st.integers(2, 12))
def test_tracker_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher], seed: int, dx: float, dy: float, levels: int, reach: int
) -> None:
    before, after = texture(seed, (0.0, 0.0)), texture(seed, (dx, dy))
    points = np.random.default_rng(seed).uniform(-3, 123, (9, 2)).astype(np.float32)
    chosen = flow_host.Settings(levels, reach, iterations=10)
    found, residual, status = on_shim(on_cpu("flow"), before, after, points, chosen)
    expected, expected_residual, expected_status = flow_reference.track(before, after, points, chosen)
    settled = (expected_residual < 4.0) & (expected_status == 1)  # a diverging search multiplies rounding
    np.testing.assert_array_equal(status[settled], expected_status[settled])
    np.testing.assert_allclose(found[settled], expected[settled], atol=0.01)
    np.testing.assert_allclose(residual[settled], expected_residual[settled], atol=0.05)


def test_tracker_finds_the_shift_as_opencv_does(on_cpu: Callable[[str], ShimLauncher]) -> None:
    before, after = texture(4, (0.0, 0.0)), texture(4, (5.3, -3.6))
    points = np.stack(np.meshgrid(np.arange(30, 90, 12), np.arange(30, 60, 10)), -1).reshape(-1, 2).astype(np.float32)
    found, _, status = on_shim(on_cpu("flow"), before, after, points, flow_host.Settings(levels=3))
    assert status.all()
    np.testing.assert_allclose(found - points, np.tile([5.3, -3.6], (len(points), 1)), atol=0.1)
    start = points.reshape(-1, 1, 2)
    theirs, _, _ = cv2.calcOpticalFlowPyrLK(before, after, start, np.zeros_like(start), winSize=(21, 21), maxLevel=2)
    np.testing.assert_allclose(found, theirs.reshape(-1, 2), atol=0.05)


def test_a_search_that_goes_back_and_forth_ends_in_the_middle_as_opencvs_does(
    on_cpu: Callable[[str], ShimLauncher],
) -> None:
    generator = np.random.default_rng(7)
    before: np.ndarray = np.full((160, 240), 100, np.uint8)
    for _ in range(12):
        corner, size = generator.integers(0, (240, 160)), generator.integers(10, 60, 2)
        grey = int(generator.integers(0, 256))
        cv2.rectangle(before, tuple(map(int, corner)), tuple(map(int, corner + size)), grey, -1)
    before = cv2.add(cv2.GaussianBlur(before, (0, 0), 1.0), generator.integers(0, 8, before.shape).astype(np.uint8))
    after = np.roll(before, (3, 4), (0, 1))
    points = generator.uniform(40, 120, (60, 2)).astype(np.float32)
    start = points.reshape(-1, 1, 2)
    theirs, _, _ = cv2.calcOpticalFlowPyrLK(before, after, start, np.zeros_like(start))
    found, _, _ = on_shim(on_cpu("flow"), before, after, points, flow_host.Settings())
    assert np.mean(np.abs(found - theirs[:, 0]).max(1) < 0.05) > 0.85  # 0.7 where it does not


POSE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.8, 0.05, -0.3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 600))
def test_triangulation_equals_numpy_to_the_bit(on_cpu: Callable[[str], ShimLauncher], seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    rays, seen = (generator.uniform(-1, 1, (count, 2)).astype(np.float32) for _ in range(2))
    seen = (rays + generator.normal(0, 0.05, rays.shape)).astype(np.float32)
    state = generator.uniform(0.01, 4.0, (count, 2)).astype(np.float32)
    expected, expected_used = depth_reference.update_depths(rays, seen, state, 1e-3, POSE)
    used = np.full(count, 9, np.uint8)
    depth_host.run(on_cpu("triangulate"), rays, seen, state, used, 1e-3, POSE)
    np.testing.assert_array_equal(state, expected)
    np.testing.assert_array_equal(used, expected_used)


def test_triangulation_converges_to_the_depth() -> None:
    generator = np.random.default_rng(0)
    depth = generator.uniform(4.0, 40.0, 200)
    rays = generator.uniform(-0.5, 0.5, (200, 2)).astype(np.float32)
    state = np.tile(np.array([0.1, 0.05], np.float32), (200, 1))
    for step in range(1, 9):
        shift = np.array([-0.4 * step, 0.0, -0.1 * step])
        points = np.column_stack([rays, np.ones(200)]) * depth[:, None] + shift
        seen = points[:, :2] / points[:, 2:] + generator.normal(0, 1e-3, (200, 2))
        pose = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, *shift)
        state, _ = depth_reference.update_depths(rays, seen.astype(np.float32), state, 1e-6, pose)
    off = np.abs(state[:, 0] - 1.0 / depth)
    assert np.median(off) < 1e-3
    assert np.mean(off < 4.0 * np.sqrt(state[:, 1])) > 0.9
