"""The kernel that convolves each channel by itself, run on the CPU, against numpy in double precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cuda_ops.depthwise import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@pytest.mark.parametrize("shape", [(1, 8, 1, 1), (2, 24, 5, 7), (1, 128, 3, 11)])
def test_is_near_numpy(on_cpu: Callable[[str], ShimLauncher], shape: tuple[int, int, int, int]) -> None:
    images, channels, height, width = shape
    generator = np.random.default_rng(channels)
    wide = np.full((images, height, width, channels + 16), np.nan, np.float16)
    wide[..., :channels] = generator.normal(0.0, 2.0, (images, height, width, channels))
    weights = generator.normal(0.0, 0.5, (channels, 3, 3)).astype(np.float16)
    bias = generator.normal(0.0, 1.0, channels).astype(np.float16)
    out = np.full((images, height, width, channels), np.nan, np.float16)
    host.run(on_cpu("depthwise"), wide, channels + 16, weights, bias, out, shape)
    expected = reference.depthwise(wide[..., :channels], weights, bias)
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2e-3, atol=2e-3)
