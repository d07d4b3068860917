"""Rays through trees against the test of every triangle."""

from __future__ import annotations

import numpy as np
import pytest

from embedded_carla.raytracing.kernel import SCENERY, Bodies, Bounds, Forest, Pieces, nearest_hits
from embedded_carla.raytracing.solids import first_crossing
from embedded_carla.raytracing.trees import NOTHING, forest_of, halved, joined, tree_of_boxes

NO_BODIES = Bodies(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0, bool), np.zeros(1, np.int64))
NO_PIECES = Pieces(np.zeros(0, np.int64), np.zeros((0, 3, 4)))
NO_BOUNDS = Bounds(*tree_of_boxes(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)))
RANGE_M = 50.0


def triangles(count: int, seed: int) -> np.ndarray:
    """(count, 3, 3) triangles of sides up to 2 m within 10 m of the origin."""
    rng = np.random.default_rng(seed)
    corners: np.ndarray = rng.uniform(-10, 10, (count, 1, 3)) + rng.uniform(-1, 1, (count, 3, 3))
    return corners.astype(np.float32)


def cast(ground: Forest, start: np.ndarray, ways: np.ndarray) -> np.ndarray:
    distance, body = np.empty(len(ways)), np.empty(len(ways), np.int64)
    nothing = forest_of([])
    nearest_hits(
        ground, nothing, NO_PIECES, NO_BOUNDS, nothing, NO_PIECES, NO_BODIES, np.zeros(0, np.int64), start, ways,
        RANGE_M, distance, body,
    )  # fmt: skip
    assert (body == SCENERY).all()
    return distance


@pytest.mark.parametrize("counts", [(0,), (1,), (4,), (5,), (1000,), (300, 0, 7)])
def test_the_nearest_hit_is_that_of_all_triangles(counts: tuple[int, ...]) -> None:
    meshes = [triangles(count, seed) for seed, count in enumerate(counts)]
    everything = np.concatenate(meshes).astype(np.float64)
    rng = np.random.default_rng(7)
    ways = rng.normal(size=(200, 3))
    ways[:6] = np.concatenate([np.eye(3), -np.eye(3)])  # along the axes
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    start = np.array([0.5, -0.25, 1.0])
    found = cast(joined([forest_of([mesh]) for mesh in meshes]), start, ways)
    known = np.array([first_crossing(everything, start, RANGE_M * way) * RANGE_M for way in ways])
    assert np.isfinite(known).any() == (len(everything) > 100)
    np.testing.assert_allclose(found, known, rtol=1e-6)
    np.testing.assert_array_equal(found, cast(forest_of(meshes), start, ways))


@pytest.mark.parametrize(("count", "leaf"), [(0, 4), (1, 1), (3, 1), (17, 4), (64, 4), (65, 4)])
def test_each_box_is_in_one_leaf(count: int, leaf: int) -> None:
    low = triangles(count, 3).min(axis=1)
    order = halved(low, low + 1.0, leaf)
    assert sorted(order[order != NOTHING].tolist()) == list(range(count))
    assert order.shape[1] == leaf
    filled = (order != NOTHING).sum(axis=1)
    assert filled.max(initial=0) - filled.min(initial=leaf) <= 1
