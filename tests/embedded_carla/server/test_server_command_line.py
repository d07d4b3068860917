"""The server's own command line: wrong arguments are refused at once, and an early Ctrl-C ends in one line."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from embedded_carla.errors import MapError
from embedded_carla.maps import FILE_MAX_BYTES, MapLibrary

COMMAND = (sys.executable, "-m", "embedded_carla")
HEAVY = ("numba", "moderngl", "scipy", "shapely", "numpy")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", "-5"), "argument --seed: '-5' is not a whole number from 0 to 4294967295"),
        (("--look", "new"), "argument --look: 'new' is not a whole number from 0 to 4294967295"),
        (("--port", "65535"), "argument --port: '65535' is not a whole number from 0 to 65534"),
        (("--map", "Nowhere"), "unknown map 'Nowhere'; there are city_grid, country_road, motorway, proving_ground"),
        (("--recordings", __file__), "is not a folder"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_loaded(arguments: tuple[str, ...], words: str) -> None:
    script = (
        "import sys, embedded_carla.__main__ as program\n"
        "try: status = program.main(sys.argv[1:])\n"
        "except SystemExit as end: status = end.code\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(status if not loaded else f'loaded: {loaded}')"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=30.0)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_huge_map_file_is_not_read(tmp_path: Path) -> None:
    """A file with a header of 1 GB took 54 s."""
    path = tmp_path / "Huge.xodr"
    with path.open("wb") as file:
        file.truncate(FILE_MAX_BYTES + 1)
    library = MapLibrary([tmp_path])
    with pytest.raises(MapError, match=r"Huge\.xodr is larger than 64 MiB"):
        library.load_text("Huge")


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process handles the signal itself."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask.split()[1], 16) >> (number - 1) & 1)


def test_ctrl_c_while_the_server_starts() -> None:
    server = subprocess.Popen([*COMMAND, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not catches(server.pid, signal.SIGTERM):  # the program has begun, and has its seconds of imports before it
        time.sleep(0.005)
    server.send_signal(signal.SIGINT)
    out, errors = server.communicate(timeout=30.0)
    assert server.returncode == 130
    assert out == ""
    assert errors == "embedded_carla: interrupted\n"
