"""embedded_carla installs alone: with the dependencies that its own pyproject.toml declares, and no others."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
ALONE = tomllib.loads((ROOT / "embedded_carla" / "pyproject.toml").read_text())["project"]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

IMPORT_ALL = """
import importlib, pkgutil, sys
import embedded_carla
from embedded_carla.maps import MapLibrary

for module in pkgutil.walk_packages(embedded_carla.__path__, "embedded_carla."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
assert "city_grid" in MapLibrary().names()
print(embedded_carla.__path__[0], *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def imported() -> set[str]:
    """Top-level modules outside the standard library that the package's files import."""
    names: set[str] = set()
    for path in (ROOT / "embedded_carla").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").partition(".")[0])
    return names - sys.stdlib_module_names - {"embedded_carla"}


def modules_of(distribution: str) -> set[str]:
    """Top-level modules that a distribution installs. In Python 3.10, `metadata.packages_distributions` lacks those of
    distributions without a top_level.txt, such as numpy.
    """
    return {file.parts[0].partition(".")[0] for file in metadata.files(distribution) or ()}


def test_declared_dependencies_are_what_it_imports() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in ALONE["dependencies"]}
    of_module = {module: name for name in declared for module in modules_of(name)}
    assert declared == {of_module.get(module, module) for module in imported()}
    assert set(ALONE["dependencies"]) <= set(WHOLE["dependencies"]), "the whole project needs them in equal versions"
    assert (ALONE["version"], ALONE["requires-python"]) == (metadata.version("av-stack"), WHOLE["requires-python"])


def link_dependencies(folder: Path) -> None:
    """Link the declared packages and what they need, and nothing else, into `folder`."""
    open_ends = [Requirement(line) for line in ALONE["dependencies"]]
    done: set[str] = set()
    while open_ends:
        name = canonicalize_name(open_ends.pop().name)
        if name in done:
            continue
        done.add(name)
        distribution = metadata.distribution(name)
        needs = (Requirement(line) for line in distribution.requires or ())
        open_ends += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            (folder / top).symlink_to(Path(str(distribution.locate_file(top))).resolve())


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh virtual environment with embedded_carla's wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("alone")
    ignored = shutil.ignore_patterns("__pycache__", "build")
    source = shutil.copytree(ROOT / "embedded_carla", folder / "source" / "embedded_carla", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", folder / "wheel", source], check=True)
    venv.create(folder / "venv", symlinks=True)
    [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
    link_dependencies(packages)
    [wheel] = (folder / "wheel").glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", packages, wheel], check=True)
    return folder / "venv" / "bin" / "python"


def test_all_of_it_imports_in_a_fresh_environment(python: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [str(python), "-I", "-c", IMPORT_ALL], cwd=tmp_path, capture_output=True, text=True, timeout=110
    )
    assert ended.returncode == 0, ended.stderr
    place, *modules = ended.stdout.split()
    assert Path(place).is_relative_to(python.parents[1])
    assert not {"av_stack", "perception", "torch", "openvino", "pydantic", "typer"} & set(modules)


def test_its_command_line_starts_in_a_fresh_environment(python: Path, tmp_path: Path) -> None:
    command = [str(python), "-I", "-m", "embedded_carla", "--help"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110)
    assert ended.returncode == 0, ended.stderr
    assert "--port" in ended.stdout
