"""How often the benchmarks on a GPU repeat a timing: as often as they name, or a share of that.

`benchmarks.gpu.everything` sets the share for the programs that it starts. Fewer repetitions make a median less
certain; they leave no row out.
"""

from __future__ import annotations

import os

VARIABLE = "AV_STACK_BENCH_EFFORT"
"""The environment's variable with the share, 0 to 1."""


def share() -> float:
    """The share of the repetitions; 1 where the environment names none. Raises `SystemExit` for anything else."""
    text = os.environ.get(VARIABLE, "1")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise SystemExit(f"{VARIABLE}={text}: wanted is a share from 0 to 1")
    return value


def repeats(full: int, least: int = 3) -> int:
    """How often something is repeated that is repeated `full` times with all effort; at least `least` times."""
    return max(min(full, least), round(full * share()))
