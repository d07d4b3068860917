"""The kernel that copies small arrays, run on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_ops.exchange import host
from tests.cuda_ops.logic.cuda_shim import ShimLauncher

DTYPES = (np.uint8, np.float16, np.float32, np.int64)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**31), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3), st.integers(0, 3)), max_size=19)
)
def test_every_array_arrives_whole_and_nothing_beside_it_changes(
    on_cpu: Callable[[str], ShimLauncher], seed: int, sizes: list[tuple[int, int, int]]
) -> None:
    generator, pairs, around = np.random.default_rng(seed), [], []
    for size, dtype, offset in sizes:
        source = generator.integers(0, 256, size * 8 + 64, dtype=np.uint8).view(DTYPES[dtype])[offset:][:size]
        target = np.full(size * 8 + 64, 77, np.uint8)
        pairs.append((source, target.view(DTYPES[dtype])[offset:][:size]))
        around.append((target, offset * source.itemsize, source.nbytes))
    host.run(on_cpu("exchange"), pairs)
    for (sent, arrived), (whole, start, length) in zip(pairs, around, strict=True):
        assert sent.tobytes() == arrived.tobytes()
        assert (whole[:start] == 77).all()
        assert (whole[start + length :] == 77).all()
