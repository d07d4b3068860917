"""The Hough kernel, run on the CPU, against OpenCV's lines and a plain walk for segments."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.hough import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


def drawing(seed: int, height: int, width: int, share: float) -> np.ndarray:
    generator = np.random.default_rng(seed)
    edges = (generator.random((height, width)) < share).astype(np.uint8) * 255
    for _ in range(generator.integers(0, 4)):
        ends = generator.integers(-20, 120, (2, 2))
        cv2.line(edges, tuple(map(int, ends[0])), tuple(map(int, ends[1])), 255, 1)
    return edges


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 90), st.floats(0.0, 0.2), st.integers(2, 30),
    st.sampled_from([(1.0, pi / 60), (2.0, pi / 45), (0.5, 0.1), (1.0, 0.6)]), st.integers(1, 40), st.integers(0, 6),
)  # fmt: skip
def test_lines_are_opencvs_and_segments_lie_on_them(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int, height: int, width: int, share: float, votes: int, steps: tuple[float, float], limit: int, gap: int,
) -> None:  # fmt: skip
    edges = drawing(seed, height, width, share)
    grid = host.Grid(width, height, *steps)
    points, bins, peaks = host.scratch_sizes(grid)
    scratch = host.Scratch(
        np.full(points, 0xFFFFFFFF, np.uint32), np.full(bins, 10**6, np.int32), np.full(peaks, 2**63, np.uint64)
    )
    lines, count = np.full((limit, 4), np.nan, np.float32), np.full(2, 99, np.int32)
    segments = np.full((limit, host.SEGMENTS, 4), 99, np.int32)
    table = host.directions(grid)
    rule = host.SegmentRule(5.0, gap)
    host.run(on_cpu("hough"), edges, grid, table, votes, scratch, host.Results(lines, count, segments), rule)
    expected, expected_count = reference.hough_lines(edges, grid, votes, limit)
    np.testing.assert_array_equal(count, expected_count)
    np.testing.assert_array_equal(lines[:, [0, 2]], expected[:, [0, 2]])
    np.testing.assert_allclose(lines[:, 1], expected[:, 1], atol=1e-6)
    np.testing.assert_array_equal(segments, reference.segments_along(edges, grid, lines, int(count[0]), 5.0, gap))
    alone = np.full((limit, 4), np.nan, np.float32)
    host.run(on_cpu("hough"), edges, grid, table, votes, scratch, host.Results(alone, count), rule)
    np.testing.assert_array_equal(count, expected_count)
    np.testing.assert_array_equal(alone, lines)


def test_a_picture_wider_than_one_pass_of_votes(on_cpu: Callable[[str], ShimLauncher]) -> None:
    edges = np.zeros((3, host.BINS // 2 + 50), np.uint8)
    edges[1, 10:] = 255
    grid = host.Grid(edges.shape[1], 3, 1.0, pi / 4)
    points, bins, peaks = host.scratch_sizes(grid)
    scratch = host.Scratch(np.zeros(points, np.uint32), np.zeros(bins, np.int32), np.zeros(peaks, np.uint64))
    lines, count = np.zeros((3, 4), np.float32), np.zeros(2, np.int32)
    host.run(on_cpu("hough"), edges, grid, host.directions(grid), 100, scratch, host.Results(lines, count))
    expected, expected_count = reference.hough_lines(edges, grid, 100, 3)
    assert expected_count[0] >= 1
    np.testing.assert_array_equal(count, expected_count)
    np.testing.assert_array_equal(lines[:, :3], expected)


@pytest.mark.parametrize(("gap", "shortest"), [(0, 0.0), (3, 5.0), (20, 60.0)])
def test_segments_of_a_line_longer_than_a_warp_of_words(
    on_cpu: Callable[[str], ShimLauncher], gap: int, shortest: float
) -> None:
    generator = np.random.default_rng(gap)
    edges = np.zeros((3, 2700), np.uint8)
    edges[1] = np.repeat(generator.random(108) < 0.7, 25) * 255
    edges[1, generator.random(2700) < 0.02] = 0
    grid = host.Grid(2700, 3, 1.0, pi / 4)
    points, bins, peaks = host.scratch_sizes(grid)
    scratch = host.Scratch(np.zeros(points, np.uint32), np.zeros(bins, np.int32), np.zeros(peaks, np.uint64))
    lines, count = np.zeros((4, 4), np.float32), np.zeros(2, np.int32)
    segments = np.full((4, host.SEGMENTS, 4), 99, np.int32)
    results, rule = host.Results(lines, count, segments), host.SegmentRule(shortest, gap)
    host.run(on_cpu("hough"), edges, grid, host.directions(grid), 30, scratch, results, rule)
    expected = reference.segments_along(edges, grid, lines, int(count[0]), shortest, gap)
    assert (expected[..., 0] >= 0).any(), "the picture does not test what it is for"
    np.testing.assert_array_equal(segments, expected)
