"""Keeps workers of pytest-xdist from taking all cores each: `PYTEST_ADDOPTS="-n 10 --dist worksteal" make test-gpu`.

Ten workers that each compile with torch.compile, and multiply on the CPU, started 69 runnable threads on 16 cores.
"""

from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # torch reads both when it is imported, which the tests do
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
