"""The preprocess kernel, run on the CPU, against numpy to the bit and OpenCV to a level."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.preprocess import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher

Sizes = st.tuples(st.integers(1, 90), st.integers(1, 160))


def pictures_of(seed: int, sizes: list[tuple[int, int]], picture_format: str) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    if picture_format != "nv12":
        shapes: list[tuple[int, ...]] = [(height, width, host.BYTES[picture_format]) for height, width in sizes]
    else:
        shapes = [((height + 1) // 2 * 3, (width + 1) // 2 * 2) for height, width in sizes]
    return [generator.integers(0, 256, shape).astype(np.uint8) for shape in shapes]


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**31),
    st.lists(Sizes, min_size=1, max_size=10),
    Sizes,
    st.sampled_from(["bgra", "bgr", "nv12"]),
    st.sampled_from(["half", "float", "packed"]),
    st.booleans(),
)
def test_equals_numpy_to_the_bit(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int, sizes: list[tuple[int, int]], out_size: tuple[int, int], picture_format: host.Format,
    output: host.Output, in_corner: bool,
) -> None:  # fmt: skip
    pictures = pictures_of(seed, sizes, picture_format)
    dtype, is_packed = np.float32 if output == "float" else np.float16, output == "packed"
    corner = ((out_size[0] + 1) // 2, (2 * out_size[1] + 2) // 3) if in_corner else ()
    out = np.full((len(pictures), *out_size, 8) if is_packed else (len(pictures), 3, *out_size), np.nan, dtype)
    host.run(on_cpu("preprocess"), pictures, out, picture_format, output, host.BT709, corner)
    expected = reference.preprocess(pictures, *out_size, picture_format, dtype, host.BT709, corner)
    if is_packed:
        assert not out[..., 3:].any()
        out = out[..., :3].transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("size", [(72, 128), (71, 113), (40, 40), (200, 90)])
def test_is_opencvs_letterbox_within_a_level(size: tuple[int, int]) -> None:
    (picture,) = pictures_of(1, [size], "bgra")
    picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), 2.0), np.uint8)
    box = host.letterbox(size[1], size[0], 96, 64)
    wanted = np.full((64, 96, 3), 114, np.uint8)
    resized = cv2.resize(picture, (box.fit_width, box.fit_height), interpolation=cv2.INTER_LINEAR)
    wanted[box.top : box.top + box.fit_height, box.left : box.left + box.fit_width] = resized[..., 2::-1]
    found = reference.preprocess([picture], 64, 96, "bgra", np.float32)[0].transpose(1, 2, 0) * 255.0
    assert np.abs(found - wanted).max() <= 1.0


def test_nv12_is_opencvs_conversion_within_two_levels() -> None:
    (picture,) = pictures_of(2, [(40, 64)], "nv12")
    wanted = cv2.cvtColor(picture, cv2.COLOR_YUV2RGB_NV12).transpose(2, 0, 1)
    found = reference.preprocess([picture], 40, 64, "nv12", np.float32)[0] * 255.0
    assert np.abs(found - wanted).max() <= 2.0


@given(st.integers(1, 4000), st.integers(1, 4000), st.integers(1, 2000), st.integers(1, 2000))
def test_the_fit_lies_inside_and_touches_two_sides(width: int, height: int, out_width: int, out_height: int) -> None:
    box = host.letterbox(width, height, out_width, out_height)
    assert 0 <= box.left <= out_width - box.fit_width
    assert 0 <= box.top <= out_height - box.fit_height
    assert box.fit_width == out_width or box.fit_height == out_height
