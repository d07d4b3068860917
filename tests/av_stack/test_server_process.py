"""The server that a run starts ends with it, also when the run dies without a word."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from av_core.errors import WorldError
from av_stack.server_process import ServerProcess

STARTS_AND_DIES = """
import os
from av_stack.server_process import ServerProcess
server = ServerProcess(("--map", "country_road"))
server.__enter__()
print(server.pid, flush=True)
os.abort()
"""


def test_an_aborted_run_leaves_no_server_behind() -> None:
    run = subprocess.run([sys.executable, "-c", STARTS_AND_DIES], capture_output=True, text=True)
    assert run.returncode < 0
    status = Path(f"/proc/{int(run.stdout)}/status")
    deadline_s = time.monotonic() + 5.0
    while _is_running(status) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not _is_running(status)


def _is_running(status: Path) -> bool:
    try:
        return "State:\tZ" not in status.read_text()
    except FileNotFoundError:
        return False


@pytest.mark.usefixtures("new_servers")
def test_a_fault_while_starting_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'embedded_carla' in sys.orig_argv:\n"
        "    import embedded_carla.memory as memory\n"
        "    memory.keep_freed_memory = lambda: [][1]\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(WorldError, match=r"IndexError: list index out of range \(at sitecustomize.py:4\)"):
        ServerProcess(("--map", "country_road")).__enter__()
