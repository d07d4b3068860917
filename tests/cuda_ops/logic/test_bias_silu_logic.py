"""The kernel that adds a bias and applies SiLU, run on the CPU, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.bias_silu import host, reference
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


@pytest.mark.parametrize("kind", ["channels first", "channels last", "residual", "residual in a wider picture"])
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 40), st.integers(1, 9), st.integers(1, 9))
def test_equals_numpy(
    on_cpu: Callable[[str], ShimLauncher], kind: str, seed: int, count: int, channels: int, height: int, width: int
) -> None:
    generator = np.random.default_rng(seed)
    if seed % 2:
        channels *= 8
    x, residual = generator.normal(0.0, 5.0, (2, count, channels, height, width)).astype(np.float16)
    bias = generator.normal(0.0, 5.0, channels).astype(np.float16)
    is_last, has_residual = kind != "channels first", kind.startswith("residual")
    given_x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if is_last else x
    pitch = channels + (8 if "wider" in kind else 0)
    wide = np.full((count, height, width, pitch), np.nan, np.float16)
    wide[..., :channels] = residual.transpose(0, 2, 3, 1)
    out = np.full_like(given_x, np.nan)
    host.run(
        on_cpu("bias_silu"), given_x, bias, wide if has_residual else None, out, channels,
        1 if is_last else height * width, pitch if has_residual else 0,
    )  # fmt: skip
    found = out.transpose(0, 3, 1, 2) if is_last else out
    expected = reference.bias_silu(x, bias, residual if has_residual else None)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)
