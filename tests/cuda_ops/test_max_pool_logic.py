"""The kernel that takes maxima over windows, run on the CPU, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cuda_shim import ShimLauncher
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.max_pool import host, reference


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(1, 2), st.integers(1, 20), st.integers(1, 12), st.integers(1, 12),
    st.sampled_from([1, 3, 5, 9]),
)  # fmt: skip
def test_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher], seed: int, images: int, channels: int, height: int, width: int, size: int
) -> None:
    generator = np.random.default_rng(seed)
    channels *= 8 if seed % 2 else 1
    x = generator.normal(0.0, 5.0, (images, channels, height, width)).astype(np.float16)
    x[generator.random(x.shape) < 0.01] = np.nan
    x[generator.random(x.shape) < 0.05] = -np.inf
    laid_out = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    out = np.full_like(laid_out, 7.0)
    host.run(on_cpu("max_pool"), laid_out, out, (images, channels, height, width), size)
    np.testing.assert_array_equal(out.transpose(0, 3, 1, 2), reference.max_pool(x, size))
