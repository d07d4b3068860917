"""Memory that pictures take is asked of the system once."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import sys
import numpy as np
from embedded_carla.memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def frame():
    for picture in [np.empty((720, 1280, 4), np.uint8) for _ in range(8)]:
        picture.fill(1)
for _ in range(5):
    frame()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    frame()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    return int(subprocess.run([sys.executable, "-c", FAULTS, how], stdout=subprocess.PIPE, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_pictures_of_the_next_frame_find_memory_there() -> None:
    assert faults("keep") < 100
    assert faults("give back") > 10_000
