"""The blur kernel, run on the CPU, against OpenCV."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.blur import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 50),
    st.integers(1, 150),
    st.sampled_from(range(1, 16, 2)),
    st.floats(0.0, 6.0),
)
def test_equals_opencv(
    on_cpu: Callable[[str], ShimLauncher], seed: int, height: int, width: int, size: int, sigma: float
) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    out = np.full_like(image, 7)
    host.run(on_cpu("blur"), image, out, size, sigma)
    np.testing.assert_array_equal(out, reference.gaussian_blur(image, size, sigma))
