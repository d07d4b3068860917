"""The Lab kernel, run on the CPU, against numpy; numpy against OpenCV."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.lab import host, reference
from cuda_ops.lab.host import LabRange
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(1, 60), st.sampled_from([3, 4]))
def test_equals_numpy(on_cpu: Callable[[str], ShimLauncher], seed: int, height: int, width: int, channels: int) -> None:
    generator = np.random.default_rng(seed)
    image = generator.integers(0, 256, (height, width, channels)).astype(np.uint8)
    image[generator.random((height, width)) < 0.3] //= 40  # dark ones too
    low, high = np.sort(generator.uniform(0.0, 255.0, (2, 2, 3)), axis=0)
    ranges = [LabRange(tuple(low[i].tolist()), tuple(high[i].tolist())) for i in range(2)]
    mask = np.full((height, width), 7, np.uint8)
    host.run(on_cpu("lab"), image, host.linear_light(), ranges[0], ranges[1], mask)
    np.testing.assert_array_equal(mask, reference.lab_mask(image, ranges[0], ranges[1]))


def test_numpy_is_the_standards_formula_and_near_opencvs_bytes() -> None:
    """The standard in double precision. OpenCV's bytes come from coarse tables: of dark colours some are two off."""
    image = np.random.default_rng(0).integers(0, 256, (400, 500, 3)).astype(np.uint8)
    image[0, :256] = np.arange(256)[:, None]
    found = reference.to_lab(image)
    light = np.where(image <= 10, image / 255.0 / 12.92, ((image / 255.0 + 0.055) / 1.055) ** 2.4)[..., ::-1]
    to_xyz = [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
    xyz = light @ np.array(to_xyz).T / [0.950456, 1.0, 1.088754]
    bent = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    lightness = np.where(xyz[..., 1] > 0.008856, 116.0 * bent[..., 1] - 16.0, 903.3 * xyz[..., 1]) * 2.55
    colour = np.stack([500.0 * (bent[..., 0] - bent[..., 1]), 200.0 * (bent[..., 1] - bent[..., 2])], axis=-1) + 128.0
    np.testing.assert_allclose(found, np.concatenate([lightness[..., None], colour], axis=-1), atol=1e-3, rtol=0.0)
    off = np.abs(found - cv2.cvtColor(image, cv2.COLOR_BGR2LAB))
    assert float((off < 0.7).mean()) > 0.99
    assert float(off.max()) < 2.5
