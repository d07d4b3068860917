"""The kernel that picks a head's best rows, run on the CPU, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.best_rows import host, reference
from cuda_ops.best_rows.host import Level
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(1, 2), st.integers(1, 9), st.integers(1, 4), st.sampled_from([1, 3, 20, 300]),
    st.floats(-4.0, 2.0), st.booleans(),
)  # fmt: skip
def test_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int,
    images: int,
    classes: int,
    levels: int,
    limit: int,
    least: float,
    has_ties: bool,
) -> None:
    generator = np.random.default_rng(seed)
    sizes = [(int(tall), int(wide)) for tall, wide in generator.integers(1, 13, (levels, 2))]
    boxes = [generator.normal(0.0, 3.0, (images, *size, 4)).astype(np.float16) for size in sizes]
    scores = [generator.normal(-1.0, 2.0, (images, *size, classes)).astype(np.float16) for size in sizes]
    for score in scores:
        if has_ties:
            score[...] = np.round(score)
        score[generator.random(score.shape) < 0.02] = np.nan
        score[generator.random(score.shape) < 0.02] = -0.0
    strides = [8.0 * 2**level for level in range(levels)]
    given_levels = [
        Level(box, score, size[1], size[0] * size[1], stride)
        for box, score, size, stride in zip(boxes, scores, sizes, strides, strict=True)
    ]
    pairs = sum(score[0].size for score in scores)
    rows, keys = np.full((images, limit, 6), np.nan, np.float32), np.full((images, pairs), 7, np.uint64)
    host.run(on_cpu("best_rows"), given_levels, images, classes, least, keys, rows)
    expected = reference.best_rows(boxes, scores, strides, least, limit)
    np.testing.assert_allclose(rows[..., 4], expected[..., 4], rtol=1e-6)
    np.testing.assert_array_equal(np.delete(rows, 4, axis=2), np.delete(expected, 4, axis=2))


@pytest.mark.parametrize("limit", [5, 300, 1024])
@pytest.mark.parametrize("is_even", [False, True])
def test_more_than_fit_in_several_blocks(on_cpu: Callable[[str], ShimLauncher], limit: int, is_even: bool) -> None:
    generator = np.random.default_rng(limit)
    sizes = [(24, 40), (12, 20)]
    boxes = [generator.normal(0.0, 3.0, (1, *size, 4)).astype(np.float16) for size in sizes]
    scores = [generator.normal(-6.0, 1.0, (1, *size, 20)).astype(np.float16) for size in sizes]
    if is_even:
        scores = [np.full_like(score, -1.5) for score in scores]
    levels = [
        Level(box, score, size[1], size[0] * size[1], stride)
        for box, score, size, stride in zip(boxes, scores, sizes, (8.0, 16.0), strict=True)
    ]
    rows, keys = np.full((1, limit, 6), np.nan, np.float32), np.zeros((1, 1200 * 20), np.uint64)
    host.run(on_cpu("best_rows"), levels, 1, 20, -7.0, keys, rows)
    expected = reference.best_rows(boxes, scores, (8.0, 16.0), -7.0, limit)
    np.testing.assert_allclose(rows[..., 4], expected[..., 4], rtol=1e-6)
    np.testing.assert_array_equal(np.delete(rows, 4, axis=2), np.delete(expected, 4, axis=2))
