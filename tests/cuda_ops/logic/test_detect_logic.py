"""The detection kernels, run on the CPU, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.depth import host as depth_host
from cuda_ops.depth import reference as depth_reference
from cuda_ops.detect import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


def head_of(generator: np.random.Generator, images: int, classes: int, anchors: int, share: float) -> np.ndarray:
    """Clusters of overlapping boxes; a share of anchors scores above 0.25; some NaN and equal scores."""
    head = np.empty((images, 4 + classes, anchors), np.float32)
    head[:, :2] = generator.integers(0, 6, (images, 2, anchors)) * 20 + generator.normal(0, 3, (images, 2, anchors))
    head[:, 2:4] = generator.uniform(5, 60, (images, 2, anchors))
    scores = generator.uniform(0, 0.25, (images, classes, anchors))
    high = generator.random((images, classes, anchors)) < share
    head[:, 4:] = np.where(high, np.round(generator.uniform(0.2, 1, high.shape), 2), scores)
    spoilt = generator.random(head.shape) < 0.002
    head[spoilt] = generator.choice([np.nan, np.inf, -np.inf])
    return head


def poisoned(images: int, limit: int, has_depth: bool) -> host.Results:
    return host.Results(
        np.full((images, limit, 4), np.nan, np.float32),
        np.full((images, limit), np.nan, np.float32),
        np.full((images, limit), 99, np.int32),
        np.full((images, 2), 99, np.int32),
        np.full((images, limit, 3), np.nan, np.float32) if has_depth else None,
    )


def depth_of(generator: np.random.Generator, images: int) -> host.DepthView:
    data = generator.uniform(1, 90, (images, 45, 70)).astype(np.float32)
    data[generator.random(data.shape) < 0.2] = generator.choice([0.0, np.nan, np.inf, -1.0])
    return host.DepthView(data, 3.0, 5.0, 0.5, 0.45)


def assert_same(found: host.Results, expected: host.Results) -> None:
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.boxes, expected.boxes)
    if expected.depths is not None:
        np.testing.assert_array_equal(found.depths, expected.depths)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(1, 2), st.integers(1, 11), st.integers(1, 300), st.floats(0.0, 0.6),
    st.floats(0.1, 0.9), st.integers(1, 40), st.booleans(), st.booleans(),
)  # fmt: skip
def test_dense_head_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int, images: int, classes: int, anchors: int, share: float, iou: float, limit: int, is_half: bool, deep: bool,
) -> None:  # fmt: skip
    generator = np.random.default_rng(seed)
    heads = head_of(generator, images, classes, anchors, share).astype(np.float16 if is_half else np.float32)
    depth = depth_of(generator, images) if deep else None
    scratch = host.Scratch(
        np.full((images, anchors), 7, np.uint64),
        np.full((images, anchors), 7, np.int32),
        np.full((images, host.FOUND_BYTES), 255, np.uint8),
    )
    results = poisoned(images, limit, deep)
    host.run_dense(on_cpu("detect"), heads, is_half, 0.25, iou, scratch, results, depth)
    assert_same(results, reference.dense(heads, 0.25, iou, limit, depth))


def test_more_candidates_than_fit_keeps_the_best_and_says_so(on_cpu: Callable[[str], ShimLauncher]) -> None:
    generator = np.random.default_rng(5)
    anchors = host.CAPACITY + 300
    heads = np.zeros((1, 6, anchors), np.float32)
    heads[0, 0], heads[0, 1] = np.arange(anchors) % 40 * 9, np.arange(anchors) // 40 * 9
    heads[0, 2:4] = 10.0
    heads[0, 4] = generator.permutation(np.linspace(0.3, 0.9, anchors))
    scratch = host.Scratch(
        np.zeros((1, anchors), np.uint64), np.zeros((1, anchors), np.int32), np.zeros((1, host.FOUND_BYTES), np.uint8)
    )
    results = poisoned(1, 1200, False)
    host.run_dense(on_cpu("detect"), heads, False, 0.25, 0.7, scratch, results, None)
    assert results.counts[0].tolist() == [host.CAPACITY, 1]
    best = np.sort(heads[0, 4])[::-1][: host.CAPACITY]
    np.testing.assert_array_equal(results.scores[0, : host.CAPACITY], best)
    assert (results.scores[0, host.CAPACITY :] == 0.0).all()


def test_one_image_with_too_many_candidates_beside_one_with_few(on_cpu: Callable[[str], ShimLauncher]) -> None:
    generator = np.random.default_rng(6)
    heads = head_of(generator, 2, 3, host.CAPACITY + 200, 0.02)
    heads[1, 4:] = generator.uniform(0.3, 0.9, heads[1, 4:].shape)
    scratch = host.Scratch(
        np.full((2, heads.shape[2]), 7, np.uint64),
        np.full((2, heads.shape[2]), 7, np.int32),
        np.full((2, host.FOUND_BYTES), 255, np.uint8),
    )
    results = poisoned(2, 200, False)
    host.run_dense(on_cpu("detect"), heads, False, 0.25, 0.5, scratch, results, None)
    expected = reference.dense(heads, 0.25, 0.5, 200, None)
    assert expected.counts[:, 1].tolist() == [0, 1], "the heads do not test what they are for"
    assert_same(results, expected)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 310), st.integers(1, 60), st.booleans(), st.booleans())
def test_end_to_end_head_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher], seed: int, images: int, rows: int, limit: int, is_half: bool, deep: bool
) -> None:
    generator = np.random.default_rng(seed)
    heads = np.empty((images, rows, 6), np.float32)
    heads[..., :2] = generator.uniform(0, 100, (images, rows, 2))
    heads[..., 2:4] = heads[..., :2] + generator.uniform(1, 60, (images, rows, 2))
    heads[..., 4] = np.round(generator.uniform(0, 1, (images, rows)), 2)
    heads[..., 5] = generator.integers(0, 80, (images, rows))
    heads[..., :5][generator.random((images, rows, 5)) < 0.01] = np.nan
    heads = heads.astype(np.float16 if is_half else np.float32)
    depth = depth_of(generator, images) if deep else None
    results = poisoned(images, limit, deep)
    host.run_end_to_end(on_cpu("detect"), heads, is_half, 0.5, results, depth)
    assert_same(results, reference.end_to_end(heads, 0.5, limit, depth))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 90), st.integers(1, 200), st.integers(1, 5))
def test_depth_in_boxes_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher], seed: int, height: int, width: int, count: int
) -> None:
    generator = np.random.default_rng(seed)
    depth = np.round(generator.uniform(-1, 90, (height, width)), 1).astype(np.float32)
    corner = generator.uniform(-20, 200, (count, 2))
    boxes = np.concatenate([corner, corner + generator.uniform(0, 150, (count, 2))], axis=1).astype(np.float32)
    out = np.full((count, 3), np.nan, np.float32)
    depth_host.run(on_cpu("depth"), depth, boxes, out)
    np.testing.assert_array_equal(out, depth_reference.depth_in_boxes(depth, boxes))
