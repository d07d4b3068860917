"""Every kernel compiles with no GPU: two architectures here, all of them in `make check-kernels`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cuda_ops.errors import CompilerMissingError, CudaOpsError
from cuda_ops.runtime.compiler import PACKAGE, KernelSource, compile_cubin, toolkit_version

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120")
"""The architectures that every kernel must compile for."""

CHECKED = ARCHITECTURES if os.environ.get("AV_STACK_ALL_ARCHITECTURES") else ("sm_75", "sm_90a")
SOURCES = [KernelSource(path.parent.name) for path in sorted(PACKAGE.glob("*/kernel.cu"))]
ELF = b"\x7fELF"


@pytest.fixture(scope="module")
def nvrtc() -> str:
    try:
        return toolkit_version()
    except CompilerMissingError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("architecture", CHECKED)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_compiles_to_machine_code(nvrtc: str, source: KernelSource, architecture: str, tmp_path: Path) -> None:
    cubin = compile_cubin(source, architecture, tmp_path)
    assert cubin.startswith(ELF)
    assert source.kernels(), f"{source.path} has no kernel that is found by name"
    for kernel in source.kernels():
        assert kernel.encode() in cubin


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_no_lambda_has_a_parameter_of_any_type(source: KernelSource) -> None:
    """NVRTC 13.0, which torch 2.11 brings, takes such a lambda for a function of the host; the pinned one does not."""
    assert not re.search(r"\[[&=]?\]\s*\([^)]*\bauto\b", source.text())


def test_a_source_that_does_not_compile_says_where(nvrtc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelSource, "text", lambda self: "__global__ void broken() { no_such_thing(); }")
    with pytest.raises(CudaOpsError, match="no_such_thing"):
        compile_cubin(KernelSource("canny"), "sm_90a", tmp_path)


def test_the_second_compilation_comes_from_the_cache(
    nvrtc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_cubin(KernelSource("canny"), "sm_90a", tmp_path)
    monkeypatch.setattr("cuda_ops.runtime.compiler._compile", lambda *a: pytest.fail("compiled again"))
    assert compile_cubin(KernelSource("canny"), "sm_90a", tmp_path) == first
