"""The kernel that takes maxima over ever wider windows, run on the CPU, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.max_pool import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(1, 2), st.sampled_from([8, 24]), st.integers(1, 20), st.integers(1, 20),
    st.sampled_from([1, 3, 5, 9]), st.integers(1, 3),
)  # fmt: skip
def test_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher],
    seed: int,
    images: int,
    channels: int,
    height: int,
    width: int,
    size: int,
    rounds: int,
) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(0.0, 5.0, (images, channels, height, width)).astype(np.float16)
    x[generator.random(x.shape) < 0.01] = np.nan
    x[generator.random(x.shape) < 0.05] = -np.inf
    wide = np.full((images, height, width, channels + 8), np.nan, np.float16)
    wide[..., :channels] = x.transpose(0, 2, 3, 1)
    out = np.full((images, height, width, (rounds + 1) * channels), 7.0, np.float16)
    shape = (images, channels, height, width)
    host.run(on_cpu("max_pool"), wide, channels + 8, out, shape, size, rounds)
    np.testing.assert_array_equal(out.transpose(0, 3, 1, 2), reference.max_pools(x, size, rounds))
