"""The lane kernels, run on the CPU, against numpy to the bit; numpy against OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.lanes import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher

RED = host.HlsRange((170.0, 20.0, 30.0), (10.0, 240.0, 255.0))
PALE_BLUE = host.HlsRange((95.0, 20.0, 30.0), (150.0, 240.0, 120.0))
VIOLET = host.HlsRange((150.0, 20.0, 30.0), (180.0, 240.0, 255.0))
PAIRS = [(host.WHITE, second) for second in (host.YELLOW, VIOLET, RED, PALE_BLUE)] + [(RED, PALE_BLUE)]


def camera_above(
    height_m: float, pitch_rad: float, distortion: tuple[float, ...], size: tuple[int, int]
) -> host.GroundCamera:
    """Looks ahead and down from above the vehicle's origin."""
    c, s = cos(pitch_rad), sin(pitch_rad)
    matrix = (0.0, -1.0, 0.0, -s, 0.0, c * height_m, c, 0.0, s * height_m)
    return host.GroundCamera(matrix, 0.8 * size[0], 0.8 * size[0], size[0] / 2, size[1] / 2, distortion)  # type: ignore[arg-type]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 90), st.sampled_from([3, 4]), st.integers(1, 40),
    st.integers(1, 50), st.floats(0.0, 1.2), st.floats(-0.3, 0.3), st.sampled_from(PAIRS),
)  # fmt: skip
def test_ground_mask_equals_numpy_to_the_bit(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int, height: int, width: int, channels: int, rows: int, columns: int, pitch: float, k1: float,
    ranges: tuple[host.HlsRange, host.HlsRange],
) -> None:  # fmt: skip
    image = np.random.default_rng(seed).integers(0, 256, (height, width, channels)).astype(np.uint8)
    camera = camera_above(1.5, pitch, (k1, 0.02, 0.001, -0.002, 0.01), (width, height))
    grid = host.GroundGrid(rows, columns, 12.0, 4.0, 0.3)
    mask, view = np.full((rows, columns), 99, np.uint8), np.full((rows, columns, 3), 99, np.uint8)
    host.run_ground(on_cpu("lanes"), image, camera, grid, *ranges, mask, view)
    expected_mask, expected_view = reference.ground_mask(image, camera, grid, *ranges)
    np.testing.assert_array_equal(mask, expected_mask)
    np.testing.assert_array_equal(view, expected_view)
    colours = np.full((height, width), 99, np.uint8)
    host.run_colour(on_cpu("lanes"), image, *ranges, colours)
    np.testing.assert_array_equal(colours, reference.colour_mask(image, *ranges))


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 2), (40, 60)])
@pytest.mark.parametrize("ranges", PAIRS)
def test_ground_mask_at_the_pictures_edges(
    on_cpu: Callable[[str], ShimLauncher], size: tuple[int, int], ranges: tuple[host.HlsRange, host.HlsRange]
) -> None:
    """Cells on the first and the last pixel exactly, a 256th beside them, and on either side of the picture."""
    image = np.random.default_rng(3).integers(0, 256, (*size, 4)).astype(np.uint8)
    matrix = (0.0, -1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0)  # a cell's x and y are pixels, up and left
    camera = host.GroundCamera(matrix, 1.0, 1.0, size[1] - 1.0, size[0] - 1.0)
    high, wide, fine = size[0], size[1], 2.0**-8
    grids = [
        host.GroundGrid(2 * high + 9, 2 * wide + 9, high + 0.25, wide + 0.25, 0.5),
        host.GroundGrid(9, 9, 4.5 * fine, 4.5 * fine, fine),
        host.GroundGrid(9, 9, high - 1 + 4.5 * fine, wide - 1 + 4.5 * fine, fine),
    ]
    for grid in grids:
        shape = grid.rows, grid.columns
        mask, view = np.full(shape, 99, np.uint8), np.full((*shape, 3), 99, np.uint8)
        host.run_ground(on_cpu("lanes"), image, camera, grid, *ranges, mask, view)
        expected_mask, expected_view = reference.ground_mask(image, camera, grid, *ranges)
        assert expected_view.any()
        np.testing.assert_array_equal(mask, expected_mask)
        np.testing.assert_array_equal(view, expected_view)


def test_which_ranges_take_the_shorter_way() -> None:
    assert [host.is_usual(*pair) for pair in PAIRS] == [True, True, False, False, False]


def test_cells_lie_where_opencv_projects_them() -> None:
    camera = camera_above(1.5, 0.2, (-0.2, 0.05, 0.001, -0.002, 0.01), (640, 360))
    grid = host.GroundGrid(20, 16, 20.0, 4.0, 0.5)
    px, py, before = reference.places(camera, grid)
    assert before.all()
    x = grid.x_far_m - (np.arange(20) + 0.5) * 0.5
    y = grid.y_left_m - (np.arange(16) + 0.5) * 0.5
    ground = np.stack([*np.meshgrid(x, y, indexing="ij"), np.ones((20, 16))], axis=-1)
    points = ground @ np.array(camera.ground_to_camera).reshape(3, 3).T
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]])
    wanted, _ = cv2.projectPoints(points.reshape(-1, 3), np.zeros(3), np.zeros(3), matrix, np.array(camera.distortion))
    np.testing.assert_allclose(np.stack([px, py], axis=-1).reshape(-1, 2), wanted.reshape(-1, 2), atol=0.01)


def test_hue_lightness_saturation_are_opencvs_within_its_rounding() -> None:
    bgr = np.random.default_rng(1).integers(0, 256, (200, 200, 3)).astype(np.uint8)
    wanted = cv2.cvtColor(bgr, cv2.COLOR_BGR2HLS).astype(np.float32)
    hue, hue_of, lightness, spread, spread_of = reference.quotients(bgr.astype(np.float32))
    hue_deg = np.where(hue < 0.0, hue + 360.0 * hue_of, hue) / hue_of
    off = np.abs(np.stack([0.5 * hue_deg, lightness, spread / spread_of], axis=-1) - wanted)
    off[..., 0] = np.minimum(off[..., 0], 180.0 - off[..., 0])
    assert off.max() <= 1.0
