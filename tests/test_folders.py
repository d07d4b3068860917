"""How the packages are cut into folders and modules: a folder can be surveyed, and imports have one direction."""

from __future__ import annotations

import ast
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "av_core", "av_stack", "perception", "planning", "control", "scenarios", "sim_configs", "cuda_ops",
    "embedded_carla",
)  # fmt: skip
FILES_MAX = 20
BUILT = {"__pycache__", "build", "embedded_carla.egg-info"}
"""Folders that tools write into the packages; git ignores them."""


@pytest.mark.parametrize("top", [*PACKAGES, "benchmarks", "tests"])
def test_a_folder_has_at_most_twenty_files(top: str) -> None:
    """Files of every kind count: modules, kernels, shaders, weights, tables."""
    files = [path.relative_to(ROOT) for path in (ROOT / top).rglob("*") if path.is_file()]
    folders = Counter(path.parent for path in files if BUILT.isdisjoint(path.parts))
    assert Path(top) in folders
    too_large = {str(folder): count for folder, count in folders.items() if count > FILES_MAX}
    assert not too_large


def test_every_package_is_counted() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {*PACKAGES, "benchmarks"}


def test_test_modules_have_names_of_their_own() -> None:
    """pytest imports a test module by its name alone, and refuses the second one of a name."""
    counts = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert not [name for name, count in counts.items() if count > 1]


def imports(package: str) -> dict[str, set[str]]:
    """The modules of `package` that each of its modules imports: at the top, in functions and for type checking."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in (ROOT / package).rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: relative import"
                names |= {
                    name if (name := f"{node.module}.{alias.name}") in modules else str(node.module)
                    for alias in node.names
                }
        found[module] = names & modules.keys() - {module}
    return found


def test_the_servers_modules_import_one_another_in_no_circle() -> None:
    """The import contract of pyproject.toml sees packages too, but no imports for type checking."""
    found = imports("embedded_carla")
    assert "embedded_carla.types" in found["embedded_carla.world.episode"]
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
