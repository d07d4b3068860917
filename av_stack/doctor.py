"""Checks the machine (`av-stack doctor`): whether it has what a drive needs, and which command installs the rest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from av_core.errors import WorldError
from av_stack.world.probe import check_server
from av_stack.world.spec import Address

PYTHON_OLDEST, PYTHON_NEWEST = (3, 10), (3, 12)
CARLA_VERSION = "0.9.16"
DISK_NEEDED_BYTES = 500_000_000
"""Free space for a few drives: town_drive writes 136 MB."""
GL_TIMEOUT_S = 60.0
DEFAULT_SERVER = Address("127.0.0.1", 2000)
PROBE_TIMEOUT_S = 3.0
SETUP = "in the project's folder run: scripts/setup.sh"

_GL_PROGRAM = """
import moderngl
context = moderngl.create_context(standalone=True, backend="egl", require=430)
print(context.info["GL_RENDERER"], "OpenGL", context.version_code / 100)
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `is_needed`: a drive is impossible without it."""

    what: str
    is_fine: bool
    detail: str
    remedy: str = ""
    is_needed: bool = True


def examine(server: Address | None = None, out: Path = Path("out")) -> list[Finding]:
    """Check everything that a drive into `out` needs. A `server` that is given has to answer."""
    return [
        check_python(),
        check_wheel(),
        check_packages(),
        check_gl(),
        check_gpu(),
        check_carla(server),
        check_disk(out),
    ]


def check_python() -> Finding:
    here = sys.version_info
    is_fine = PYTHON_OLDEST <= (here.major, here.minor) <= PYTHON_NEWEST
    remedy = "" if is_fine else "install Python 3.12, or uv, which brings one; then run scripts/setup.sh"
    return Finding("python", is_fine, f"{here.major}.{here.minor}.{here.micro} at {sys.executable}", remedy)


def check_wheel() -> Finding:
    """CARLA's wheel is installed in the right version and can be imported."""
    try:
        version = metadata.version("carla")
    except metadata.PackageNotFoundError:
        return Finding("wheel", False, "the carla package is not installed", SETUP)
    if version != CARLA_VERSION:
        return Finding("wheel", False, f"carla {version}; expected {CARLA_VERSION}", SETUP)
    done = subprocess.run([sys.executable, "-c", "import carla"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return Finding("wheel", False, f"carla {version} cannot be imported: {_last_line(done.stderr)}", SETUP)
    return Finding("wheel", True, f"carla {version}")


def check_packages() -> Finding:
    """Every package that the project requires is installed."""
    missing = []
    required = metadata.requires("av-stack") if _is_installed("av-stack") else None
    for line in required or ():
        if "extra ==" not in line:
            name = line.split(";")[0].split("[")[0].split("=")[0].split(">")[0].split("<")[0].strip()
            if not _is_installed(name):
                missing.append(name)
    if required is None:
        return Finding("packages", True, "av-stack runs from its folder; its packages are not checked", is_needed=False)
    if missing:
        return Finding("packages", False, f"not installed: {', '.join(missing)}", SETUP)
    return Finding("packages", True, f"all {sum('extra ==' not in line for line in required or ())} are installed")


def check_gl() -> Finding:
    """OpenGL 4.3 through EGL works, for the embedded server's cameras; tried in a process of its own."""
    remedy = "run: sudo apt-get install --no-install-recommends libegl1 libgl1"
    try:
        done = subprocess.run(
            [sys.executable, "-c", _GL_PROGRAM], capture_output=True, text=True, timeout=GL_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding("GL driver", False, f"no answer within {GL_TIMEOUT_S:.0f} s", remedy)
    if done.returncode != 0:
        return Finding("GL driver", False, f"no OpenGL 4.3 through EGL: {_last_line(done.stderr)}", remedy)
    return Finding("GL driver", True, done.stdout.strip())


def check_gpu() -> Finding:
    """Whether there is a GPU; it is not needed, since perception also runs on the CPU."""
    from perception.device import resolve_device

    device, why = resolve_device("auto", has_weights=True)
    return Finding("GPU", device == "cuda", why, is_needed=False)


def check_carla(server: Address | None) -> Finding:
    """Whether a CARLA server answers; not needed unless one was named, because a drive starts the embedded one."""
    address = server or DEFAULT_SERVER
    try:
        check_server(address, PROBE_TIMEOUT_S)
    except WorldError as error:
        remedy = f"start CARLA {CARLA_VERSION} there, or an embedded server with: av-stack serve --port {address.port}"
        if server is None:
            remedy = "not needed: av-stack run starts the embedded server"
        return Finding("CARLA", False, str(error), remedy, is_needed=server is not None)
    return Finding("CARLA", True, f"a server answers at {address}", is_needed=server is not None)


def check_disk(out: Path) -> Finding:
    """Whether the disk that `out` is on, or will be on, has room for a drive's files."""
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    is_fine = free >= DISK_NEEDED_BYTES
    detail = f"{free / 1e9:.1f} GB free at {place}; a few drives need {DISK_NEEDED_BYTES / 1e9:.1f} GB"
    return Finding("disk", is_fine, detail, "" if is_fine else "free some space, or choose another disk with --out DIR")


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else "no reason given"
