"""`av-stack roofline`: the table, the picture, and files that hold no figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuda_ops.library import records

MACHINE = {"gpu": "a GPU", "processors": 132}
ROW = {"operator": "add", "element": "float32", "rows": 1, "columns": 1024, "contender": "v2", "tb_per_s": 3.0}
RUN: dict[str, Any] = {"machine": MACHINE, "copy": {"tb_per_s": 2.4}, "rows": [ROW | {"clock_mhz": 1980}]}


LAYERS = {"gpu": "another", "rows": [{"window": [1, 8, 8, 8, 8, 3, 1], "plans_us": {"a": 2.0}, "best": "a"}]}
BENCH = {"machine": {"gpu": "another"}, "copy_bytes_per_s": 4e12}


def roofline(folder: Path, *runs: Any, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run the command on files 0, 1 and so on of the folder, which hold the runs; a text is written as it is."""
    for number, run in enumerate(runs):
        (folder / str(number)).write_text(run if isinstance(run, str) else json.dumps(run))
    command = [sys.executable, "-m", "av_stack.cli", "roofline", *map(str, range(len(runs))), *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder, env=environment)


def test_a_table_and_a_picture_are_made(tmp_path: Path) -> None:
    done = roofline(tmp_path, RUN)
    assert done.returncode == 0, done.stderr
    assert "3.00 (1 x 1024, v2)" in done.stdout.splitlines()[1]
    assert done.stdout.splitlines()[-1] == "wrote out/roofline.svg"
    assert "<title>add float32 1 x 1024: 3.00 TB/s</title>" in (tmp_path / "out/roofline.svg").read_text()


def test_the_layers_have_the_limits_of_their_gpu(tmp_path: Path) -> None:
    """The tables of the benchmarks are read too (`records.text`)."""
    (tmp_path / "layers").write_text(records.text(LAYERS))
    (tmp_path / "bench").write_text(json.dumps(BENCH))
    options = ("--layers", "layers", "--layers-copy", "bench")
    done = roofline(tmp_path, records.text(RUN), options=options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "wrote out/roofline_layers.svg"
    assert "another: memory 4.00 TB/s" in done.stdout
    assert "<title>3 x 3 float16 64 x 8" in (tmp_path / "out/roofline_layers.svg").read_text()
    alone = roofline(tmp_path, RUN, options=options[:2])
    assert alone.returncode != 0
    assert "layers is of another" in alone.stderr


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (("no figures",), "0: not JSON"),
        (({"machine": MACHINE},), "0: no copy, rows"),
        ((RUN | {"rows": [ROW | {"operator": "addd"}]},), "0: the library has no operator addd"),
        ((RUN, RUN | {"machine": MACHINE | {"gpu": "another"}}), "1 was measured on another, 0 on a GPU"),
    ],
)
def test_other_files_are_named(tmp_path: Path, runs: tuple[Any, ...], said: str) -> None:
    done = roofline(tmp_path, *runs)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert said in line
    assert not (tmp_path / "out").exists()
