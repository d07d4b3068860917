"""The Canny kernel, run on the CPU, against OpenCV."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.canny import host, reference
from cuda_ops.errors import CudaOpsError
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


def run(launcher: ShimLauncher, image: np.ndarray, low: float, high: float, l2: bool = False) -> np.ndarray:
    out = np.full(image.shape, 77, np.uint8)
    words = np.full(host.words_shape(*image.shape), 0xDEADBEEF, np.uint32)
    parents = np.full(words.size * 32 + 1, 0xDEADBEEF, np.uint32)
    host.run(launcher, np.ascontiguousarray(image), out, words, parents, low, high, l2)
    return out


def picture(seed: int, height: int, width: int, roughness: float) -> np.ndarray:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), roughness) if roughness > 0.2 and min(height, width) > 1 else noise


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 75),
    st.integers(1, 150),
    st.floats(0.0, 3.0),
    st.floats(0.0, 400.0),
    st.floats(0.0, 400.0),
    st.booleans(),
)
def test_equals_opencv_to_the_pixel(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int,
    height: int,
    width: int,
    roughness: float,
    low: float,
    high: float,
    l2: bool,
) -> None:
    image = picture(seed, height, width, roughness)
    found = run(on_cpu("canny"), image, low, high, l2)
    np.testing.assert_array_equal(found, reference.canny(image, low, high, l2))


def test_an_edge_that_winds_through_many_tiles_is_followed_to_its_end(on_cpu: Callable[[str], ShimLauncher]) -> None:
    image = np.full((128, 300), 100, np.uint8)
    for row in range(6, 122, 8):
        image[row : row + 4, 5:295] = 130
        side = slice(285, 295) if row // 8 % 2 else slice(5, 15)
        image[row : row + 12, side] = 130
    image[6, 5:9] = 255
    expected = reference.canny(image, 60, 300)
    assert expected[100:].any(), "the picture does not test what it is for"
    np.testing.assert_array_equal(run(on_cpu("canny"), image, 60, 300), expected)


@pytest.mark.parametrize("resident", [1, 2, 4, 7])
def test_blocks_that_take_several_tiles_in_either_direction_find_the_same(
    on_cpu: Callable[[str], ShimLauncher], resident: int
) -> None:
    image = picture(8, 3 * host.TILE_H - 5, 4 * host.TILE_W - 9, 1.0)
    found = run(ShimLauncher(on_cpu("canny").library, resident), image, 40, 90)
    np.testing.assert_array_equal(found, reference.canny(image, 40, 90, False))


def test_a_picture_too_large_for_the_gpu_is_refused_in_one_line(on_cpu: Callable[[str], ShimLauncher]) -> None:
    tiles = host.SHARED_MAX_BYTES // host.STATE_BYTES
    image = np.zeros((host.TILE_H * (tiles + 1), 1), np.uint8)
    said = (
        f"canny: 1x{len(image)} is too large for this GPU: {tiles + 1} tiles of 64x56 for a block, allowed are {tiles}"
    )
    with pytest.raises(CudaOpsError, match=said):
        run(ShimLauncher(on_cpu("canny").library, 1), image, 40, 90)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (100.0, 50.0), (-3.0, 10.0), (1e9, 1e12)])
def test_odd_thresholds_mean_what_they_mean_to_opencv(
    on_cpu: Callable[[str], ShimLauncher], low: float, high: float
) -> None:
    image = picture(3, 40, 60, 1.0)
    np.testing.assert_array_equal(run(on_cpu("canny"), image, low, high), reference.canny(image, low, high))
