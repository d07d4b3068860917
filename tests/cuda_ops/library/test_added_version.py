"""The steps of docs/operators/README.md, "Add a version", taken on a copy: what the page says is enough."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library import pages
from cuda_ops.library.ladder import FLOAT32, Ladder, Version
from cuda_ops.library.recorder import record
from cuda_ops.runtime import compiler
from tests.cuda_ops.library.test_ladder_logic import cases_for
from tests.cuda_ops.library.test_ladder_machine_code import disassembler, nvrtc, problem_for  # noqa: F401 - a fixture
from tests.cuda_ops.logic.cuda_shim import ShimLauncher, build_together, find_compiler

LINES_MAX = 60
SECTION = (pages.PAGES / "README.md").read_text().partition("## Add a version\n")[2].partition("\n## ")[0]
NUMBER = 7


@dataclass(frozen=True, slots=True)
class Added:
    """The two ladders of the copied folder, and the lines that were added to it."""

    ladders: tuple[Ladder, Ladder]
    lines: int

    @property
    def versions(self) -> list[tuple[Ladder, Version]]:
        return [(ladder, ladder.versions[NUMBER - 1]) for ladder in self.ladders]


def block(language: str) -> str:
    """The page's first block of code in this language."""
    found = re.search(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    assert found is not None
    return dedent(found.group(1))


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Added:
    """Steps 1 and 2: the kernel's file, and the `Version` at the end of `versions`."""
    folder = tmp_path / "library/softmax"
    shutil.copytree(compiler.PACKAGE / "library/softmax", folder)
    named = re.search(r"`cuda_ops/library/softmax/(\w+\.cu)`", SECTION)
    assert named is not None
    kernel, version, table = block("cuda"), indent(block("python"), " " * 12), (folder / "ladder.py").read_text()
    (folder / named.group(1)).write_text(kernel)
    before, end, after = table.partition("        ),\n    )\n\n\nSOFTMAX = ")
    assert end
    (folder / "ladder.py").write_text(before + version + end + after)
    monkeypatch.setattr(compiler, "PACKAGE", tmp_path)
    spec = importlib.util.spec_from_file_location("added_softmax_ladder", folder / "ladder.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Added((module.SOFTMAX, module.LOG_SOFTMAX), (kernel + version).count("\n"))


def test_it_takes_few_lines(added: Added) -> None:
    assert added.lines < LINES_MAX
    assert f"take {added.lines} lines" in SECTION
    for ladder, version in added.versions:
        assert (version.number, ladder.source(version)) == (NUMBER, "library/softmax/v7_shared")


def test_it_gives_the_exact_result_rounded(added: Added, tmp_path: Path) -> None:
    """On the CPU, for all sizes, types and special numbers that the versions of the ladder are tested with."""
    find_compiler()
    made = [(ladder, version, cases_for(ladder, version)) for ladder, version in added.versions]
    kernels = {launch.kernel for _, version, all_cases in made for case in all_cases
               for launch in record(case.ladder, version, case.problem)}  # fmt: skip
    source = compiler.KernelSource("library/softmax/v7_shared", instances=tuple(sorted(kernels)))
    launcher = ShimLauncher(build_together([source], tmp_path))
    for _, version, all_cases in made:
        for case in all_cases:
            version.launch(launcher, case.problem, case.arrays)
            case.check(version)


def test_its_machine_code_is_what_it_says(added: Added, nvrtc: str, tmp_path: Path) -> None:  # noqa: F811
    program, (ladder, version) = disassembler(), added.versions[0]
    source = compiler.KernelSource(ladder.source(version), fused_multiply_add=version.fused_multiply_add)
    (launch,) = record(ladder, version, problem_for(ladder, version, FLOAT32, 90))
    (tmp_path / "kernel.cubin").write_bytes(compiler.compile_instance(source, launch.kernel, "sm_90a")[0])
    command = [program, "-c", str(tmp_path / "kernel.cubin")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert version.instructions
    assert all(instruction in text for instruction in (*version.instructions, "MUFU.EX2"))
    assert "LDL" not in text


def test_its_page_names_it(added: Added) -> None:
    """Step 4: the pages are made from the ladders."""
    text = pages.page(added.ladders[0], {})
    (line,) = (line for line in text.splitlines() if line.startswith("| [7: shared]"))
    assert line.split(" | ")[1] == added.versions[0][1].change
