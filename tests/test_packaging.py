"""What pyproject.toml and constraints.txt declare: all that tests import, every package pinned."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

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
                names = [value.value for value in node.args[:1] if isinstance(value, ast.Constant)]
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


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "test-gpu: torch cannot be imported"),
        ("class cuda: is_available = lambda: False", "test-gpu: torch sees no GPU"),
    ],
)
def test_gpu_targets_say_in_one_line_what_is_missing(tmp_path: Path, module: str, expected: str) -> None:
    (tmp_path / "torch.py").write_text(module + "\n")
    command = ["make", "test-gpu", f"GPU_PYTHON={sys.executable}"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0
    [line] = [line for line in ended.stderr.splitlines() if not line.startswith("make")]
    assert line.startswith(expected)
