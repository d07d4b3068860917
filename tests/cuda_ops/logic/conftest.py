"""The CPU shim as a fixture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_ops.runtime.compiler import KernelSource
from tests.cuda_ops.logic.cuda_shim import ShimLauncher, build, find_compiler


@pytest.fixture(scope="session")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ShimLauncher]:
    """A launcher of an operator's kernels on the CPU, by the operator's folder; skips without a C++ compiler."""
    find_compiler()
    folder: Path = tmp_path_factory.mktemp("kernels")
    launchers: dict[str, ShimLauncher] = {}

    def get(name: str) -> ShimLauncher:
        if name not in launchers:
            launchers[name] = ShimLauncher(build(KernelSource(name), folder))
        return launchers[name]

    return get
