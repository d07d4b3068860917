"""Every version compiles with no GPU, and its machine code has the instructions that the version is about."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library import machine_code
from benchmarks.gpu.library.introductions import INTRODUCTIONS
from cuda_ops.errors import CompilerMissingError
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Element, Ladder, Problem, Version
from cuda_ops.library.matmul.ladder import MATMUL
from cuda_ops.library.norm.ladder import LAYER_NORM
from cuda_ops.library.recorder import record
from cuda_ops.library.softmax.ladder import LOG_SOFTMAX, SOFTMAX
from cuda_ops.runtime.compiler import KernelSource, compile_instance, toolkit_version
from tests.cuda_ops.library import ladder_cases as cases

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120")
IS_ALL = bool(os.environ.get("AV_STACK_ALL_ARCHITECTURES"))
FILES = {ladder.source(version): (ladder, version) for ladder, version in cases.VERSIONS}
CHECKED = cases.VERSIONS if IS_ALL else list(FILES.values())
"""Every version, or every file: versions of two ladders that share a file differ in a template argument."""
IDS = [f"{ladder.name}-v{version.number}" for ladder, version in CHECKED]
EVICT_LAST = "0x14f00000"
"""The upper half of the L2 cache's policy, as nvdisasm prints it."""
COLUMNS = {"warp": 1024, "block": 4096, "cluster": 32768}


@pytest.fixture(scope="module")
def nvrtc() -> str:
    try:
        return toolkit_version()
    except CompilerMissingError as error:
        pytest.skip(str(error))


def problem_for(ladder: Ladder, version: Version, element: Element, architecture: int) -> Problem:
    lanes = 16 // element.size_bytes
    depth = 4096 if ladder.is_product else 0
    rows = 4096 if ladder.is_product else 64
    return Problem(element, rows, COLUMNS.get(version.name, 4096), lanes, architecture, cases.EPSILON, depth)


def kernels(ladder: Ladder, version: Version, element: Element, architecture: int) -> list[str]:
    launches = record(ladder, version, problem_for(ladder, version, element, architecture))
    return [one.kernel for one in launches]


def disassembler() -> str:
    """The path of nvdisasm; skips the test where there is none."""
    found = machine_code.disassembler()
    if found is None:
        pytest.skip("no nvdisasm: neither a CUDA toolkit nor triton is installed")
    return found


def compiled(ladder: Ladder, version: Version) -> list[tuple[str, Element]]:
    """The architectures and element types for which a version is compiled: all of them in `make check-kernels`.

    Else the version's last type for the oldest architecture that it runs on: the check of the machine code compiles its
    first type, which is float32 if it takes it, for sm_90a.
    """
    if IS_ALL:
        made = [(architecture, element) for architecture in ARCHITECTURES for element in version.elements]
        return [one for one in made if version.can_run(problem_for(ladder, version, one[1], number_of(one[0])))]
    return [("sm_75" if version.architecture_min <= 75 else "sm_90a", version.elements[-1])]


def number_of(architecture: str) -> int:
    """90 for sm_90a."""
    return int(architecture.removeprefix("sm_").rstrip("a"))


@pytest.mark.parametrize(("ladder", "version"), CHECKED, ids=IDS)
def test_a_version_compiles(nvrtc: str, ladder: Ladder, version: Version) -> None:
    source = KernelSource(ladder.source(version), fused_multiply_add=version.fused_multiply_add)
    for architecture, element in compiled(ladder, version):
        for kernel in kernels(ladder, version, element, number_of(architecture)):
            assert "<" in kernel or kernel in source.kernels()  # the launcher looks for other names in vain
            cubin, name = compile_instance(source, kernel, architecture)
            assert cubin.startswith(b"\x7fELF")
            assert b"\0" + name.encode() + b"\0" in cubin


@pytest.mark.parametrize(("ladder", "version"), CHECKED, ids=IDS)
def test_the_machine_code_is_what_the_version_is_about(
    nvrtc: str, ladder: Ladder, version: Version, tmp_path: Path
) -> None:
    """And no variable lies in local memory, which would be one that did not fit into registers.

    Products of float32 load as often from shared memory as their page says.
    """
    program = disassembler()
    source = KernelSource(ladder.source(version), fused_multiply_add=version.fused_multiply_add)
    text = ""
    for kernel in kernels(ladder, version, version.elements[0], 90):
        file = tmp_path / "kernel.cubin"
        file.write_bytes(compile_instance(source, kernel, "sm_90a")[0])
        text += subprocess.run([program, "-c", str(file)], capture_output=True, text=True, check=True).stdout
    for instruction in version.instructions:
        assert instruction in text
    assert "LDL" not in text
    assert "STL" not in text
    if ladder is MATMUL:
        loads, packs = (len(re.findall(rf"LDS{ending} R\d", text)) for ending in (r"(?:\.128)?", r"\.128"))
        multiply_adds = text.count("FFMA")
        assert loads_on_the_page(version.number) == (64 * loads // multiply_adds, 64 * packs // multiply_adds)


@pytest.mark.parametrize(("ladder", "columns"), [(SOFTMAX, 262144), (LOG_SOFTMAX, 131072), (LAYER_NORM, 131072)])
def test_a_long_row_fits_into_the_registers(nvrtc: str, ladder: Ladder, columns: int, tmp_path: Path) -> None:
    """Of version 6, whose threads have 64 registers there; float32."""
    program, version = disassembler(), ladder.versions[5]
    problem = Problem(FLOAT32, 64, columns, 4, 90, cases.EPSILON)
    (launch,) = record(ladder, version, problem)
    file = tmp_path / "kernel.cubin"
    file.write_bytes(compile_instance(KernelSource(ladder.source(version)), launch.kernel, "sm_90a")[0])
    text = subprocess.run([program, "-c", str(file)], capture_output=True, text=True, check=True).stdout
    assert "LDL" not in text
    assert "STL" not in text


@pytest.mark.parametrize("element", [FLOAT32, BFLOAT16])
def test_rows_are_loaded_with_a_hint_for_the_l2_cache(nvrtc: str, element: Element, tmp_path: Path) -> None:
    """By version 6, and only if the compiler can encode it: that of NVRTC 13.0 ends in an illegal instruction.

    There the copy's offset in shared memory becomes a uniform register.
    """
    program, version = disassembler(), LAYER_NORM.versions[5]
    problem = Problem(element, 4096, 32768, 16 // element.size_bytes, 90, cases.EPSILON)
    (launch,) = record(LAYER_NORM, version, problem)
    file = tmp_path / "kernel.cubin"
    file.write_bytes(compile_instance(KernelSource(LAYER_NORM.source(version)), launch.kernel, "sm_90a")[0])
    text = subprocess.run([program, "-c", str(file)], capture_output=True, text=True, check=True).stdout
    major, minor = re.findall(r"\d+", nvrtc)[:2]
    has_hints = (int(major), int(minor)) >= (13, 2)
    assert (EVICT_LAST in text) == has_hints
    assert not re.search(r"LDGSTS\S* \[R\d+\+UR", text)


def loads_on_the_page(version: int) -> tuple[int, int]:
    """Loads from shared memory for 64 multiply-adds, and how many of them are packs, by the table of matmul.md."""
    for line in INTRODUCTIONS["matmul"].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if str(version) in cells[0].split(", "):
            numbers = [int(number) for number in re.findall(r"\d+", cells[-1])]
            return (0, 0) if cells[-1].startswith("none") else (numbers[0], numbers[-1])
    raise AssertionError(f"version {version} is not in the table")
