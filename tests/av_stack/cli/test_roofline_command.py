"""`av-stack roofline`: the table, the picture, and files that hold no figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MACHINE = {"gpu": "a GPU", "processors": 132}
ROW = {"operator": "add", "element": "float32", "rows": 1, "columns": 1024, "contender": "v2", "tb_per_s": 3.0}
RUN: dict[str, Any] = {"machine": MACHINE, "copy": {"tb_per_s": 2.4}, "rows": [ROW | {"clock_mhz": 1980}]}


def roofline(folder: Path, *runs: Any) -> subprocess.CompletedProcess[str]:
    """Run the command on files 0, 1 and so on of the folder, which hold the runs; a text is written as it is."""
    for number, run in enumerate(runs):
        (folder / str(number)).write_text(run if isinstance(run, str) else json.dumps(run))
    command = [sys.executable, "-m", "av_stack.cli", "roofline", *map(str, range(len(runs)))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder, env=environment)


def test_a_table_and_a_picture_are_made(tmp_path: Path) -> None:
    done = roofline(tmp_path, RUN)
    assert done.returncode == 0, done.stderr
    assert "3.00 (1 x 1024, v2)" in done.stdout.splitlines()[1]
    assert done.stdout.splitlines()[-1] == "wrote out/roofline.svg"
    assert "<title>add float32 1 x 1024: 3.00 TB/s</title>" in (tmp_path / "out/roofline.svg").read_text()


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (("no figures",), "0: not JSON"),
        (({"machine": MACHINE},), "0: no copy, rows"),
        ((RUN | {"rows": [ROW | {"operator": "addd"}]},), "0: the library has no operator addd"),
        ((RUN, RUN | {"machine": MACHINE | {"gpu": "another"}}), "1 is of another, 0 of a GPU"),
    ],
)
def test_other_files_are_named(tmp_path: Path, runs: tuple[Any, ...], said: str) -> None:
    done = roofline(tmp_path, *runs)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert said in line
    assert not (tmp_path / "out").exists()
