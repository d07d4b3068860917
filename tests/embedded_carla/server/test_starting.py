"""A server that does not start tells a test why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.embedded_carla.starting import listening_port


def test_a_failed_start_tells_its_status_and_its_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("w") as errors:
        command = [sys.executable, "-m", "embedded_carla", "--port", "0", "--map", "nowhere"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    with process, pytest.raises(AssertionError, match=r"ended with status 2; its log: .*nowhere"):
        listening_port(process, log)
