"""The kernel that lets places attend to one another, run on the CPU, against numpy in double precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cuda_ops.attend import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 2, 3, 5), (1, 1, 7, 9), (1, 1, 12, 23)])
def test_is_near_numpy(on_cpu: Callable[[str], ShimLauncher], shape: tuple[int, int, int, int]) -> None:
    images, heads, height, width = shape
    generator = np.random.default_rng(height)
    wide = np.full((images, height, width, host.HEAD * heads + 8), np.nan, np.float16)
    wide[..., : host.HEAD * heads] = generator.normal(0.0, 2.0, (images, height, width, host.HEAD * heads))
    weights = generator.normal(0.0, 0.5, (host.VALUE * heads, 3, 3)).astype(np.float16)
    bias = generator.normal(0.0, 1.0, host.VALUE * heads).astype(np.float16)
    out = np.full((images, height, width, host.VALUE * heads), np.nan, np.float16)
    host.run(on_cpu("attend"), wide, wide.shape[3], weights, bias, out, shape)
    expected = reference.attend(wide[..., : host.HEAD * heads], weights, bias)
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2e-3, atol=2e-3)
