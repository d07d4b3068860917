"""Wrong use of `av-stack adapt` ends in one line that says what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from av_stack.server_process import free_port_pair

WITHOUT_ULTRALYTICS = """
import sys
sys.modules["ultralytics"] = None
from av_stack.cli.main import main
main()
"""


def complaint(command: list[str], *arguments: str) -> str:
    done = subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stderr.splitlines() if line.startswith("av-stack:")]
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--server"),
        (("--server", "nowhere"), "expected HOST:PORT"),
        (("--server", "127.0.0.1:2000", "--hours", "0"), "--hours 0.0: expected a number of hours above 0"),
        (("--server", "127.0.0.1:2000", "--size", "xl"), "--size: unknown name 'xl'"),
        (("--server", "127.0.0.1:2000", "--pictures", "2"), "--pictures"),
    ],
)
def test_wrong_options(options: tuple[str, ...], said: str) -> None:
    assert said in complaint(["-m", "av_stack.cli"], "adapt", *options)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    port = free_port_pair()
    line = complaint(["-m", "av_stack.cli"], "adapt", "--server", f"127.0.0.1:{port}", "--out", str(tmp_path / "out"))
    assert f"127.0.0.1:{port}" in line
    assert not (tmp_path / "out").exists()


def test_ultralytics_is_missing() -> None:
    line = complaint(["-c", WITHOUT_ULTRALYTICS], "adapt", "--server", "127.0.0.1:2000")
    assert "ultralytics is not installed" in line
