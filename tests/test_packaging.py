"""What pyproject.toml and constraints.txt declare: all that tests import, every package pinned."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from scripts import needs_gpu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
IMPORTING = ("importorskip", "find_spec", "import_module")


def development() -> set[NormalizedName]:
    """The packages that `make test` installs: those of the dev extra, and what they bring along."""
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    found: set[NormalizedName] = set()
    open_ends = [(Requirement(line), "") for line in wanted]
    while open_ends:
        requirement, extra = open_ends.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if name not in found or extras != {""}:
            found.add(name)
            needs = [Requirement(line) for line in metadata.requires(name) or ()]
            open_ends += [(need, extra) for need in needs for extra in extras]
    return found


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, package outside the standard library) for each import, and each name asked for in `importorskip`."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names: Iterable[str] = ()
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in IMPORTING:
                given = (value.value for value in node.args[:1] if isinstance(value, ast.Constant))
                names = [name for name in given if isinstance(name, str)]
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                yield str(path.relative_to(ROOT)), name


def test_tests_import_nothing_that_is_not_installed_for_them() -> None:
    installed, of_module = development(), metadata.packages_distributions()
    missing = {
        (path, name)
        for path, name in imported(ROOT / "tests")
        if name in of_module and not {canonicalize_name(one) for one in of_module[name]} & {*installed, "av-stack"}
    }
    assert not missing
    assert {"torch", "torchvision", "ultralytics"} <= installed, "else what needs them is skipped"


def test_every_package_is_pinned_to_the_installed_version() -> None:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    pins = [pin for pin in map(Requirement, filter(None, lines)) if pin.marker is None or pin.marker.evaluate()]
    pinned = {canonicalize_name(pin.name): str(pin.specifier) for pin in pins}
    assert len(pinned) == len(pins), "a package has two pins"
    installed = {name: f"=={metadata.version(name)}" for name in development()}
    assert installed == {name: pinned.get(name) for name in installed}


@pytest.mark.skipif(any(map(os.path.exists, needs_gpu.DEVICES)), reason="this machine has an NVIDIA GPU")
def test_gpu_targets_say_in_one_line_that_there_is_no_gpu() -> None:
    command = ["make", "test-gpu", f"GPU_PYTHON={sys.executable}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    [line] = [line for line in ended.stderr.splitlines() if not line.startswith("make")]
    assert line == "test-gpu: this machine has no NVIDIA GPU, or no driver for it"


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        (None, "torch is not installed; run: scripts/setup.sh dev"),
        (SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)), "torch sees no GPU; nvidia-smi tells more"),
        (SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True)), None),
    ],
)
def test_what_a_gpu_needs_beside_its_driver(
    monkeypatch: pytest.MonkeyPatch, torch: object, expected: str | None
) -> None:
    monkeypatch.setattr(needs_gpu, "DEVICES", (os.devnull,))
    monkeypatch.setattr(needs_gpu, "find_spec", lambda _: torch)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert needs_gpu.why_not() == expected
