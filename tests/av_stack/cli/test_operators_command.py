"""`av-stack operators`: the list, wrong arguments, and the one line where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cuda_ops.library.catalogue import LADDERS

NO_GPU = os.environ | {"CUDA_VISIBLE_DEVICES": ""}


def operators(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "av_stack.cli", "operators", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=NO_GPU)


def test_all_operators_and_versions_are_listed() -> None:
    done = operators()
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert len(lines) == sum(1 + len(ladder.versions) for ladder in LADDERS)
    for ladder in LADDERS:
        assert f"{ladder.name}: {ladder.formula}" in lines


def test_without_a_gpu_one_line_says_why() -> None:
    done = operators("softmax", "--version", "4", "--shape", "64x4096")
    assert done.returncode == 1
    assert "  4 block         One block per row, with the row in its registers." in done.stdout.splitlines()
    (line,) = done.stderr.splitlines()
    assert line.startswith("av-stack: softmax cannot run here: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("softmaxx",), "OP: unknown name 'softmaxx' (did you mean softmax?)"),
        (("relu", "--version", "99"), "--version 99: relu has versions 1 to "),
        (("softmax", "--shape", "0x4"), "--shape '0x4': expected ROWSxCOLUMNS"),
        (("softmax", "--dtype", "float64"), "--dtype: unknown name 'float64'"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], said: str) -> None:
    done = operators(*arguments)
    assert done.returncode != 0
    assert said in done.stderr
