"""Runs one soak test as a program that can be interrupted and resumed, and judges its result."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.soak.progress import Progress, leave, stop_on_signals, tell
from benchmarks.soak.watched import Watched, watched_server

Data = dict[str, Any]


def run_part(
    unit: str, target: int, count: Callable[[Data], int], live: Callable[[Watched, Progress, int], None],
    judge: Callable[[Data], tuple[Data, bool]], *, part: str = "", about: str | None = None,
) -> NoReturn:  # fmt: skip
    """Run `live` against a server until `target` of `unit` are done or the user interrupts, then end the process.

    `count` returns the number that is done, `judge` the result and whether it is good. The exit status is 0 for a good
    result, else 1, or 130 after an interruption. `part` names the files; by default it is `unit`.
    """
    part = part or unit
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument(f"--{unit}", type=int, default=target, dest="target")
    arguments = parser.parse_args()
    stop_on_signals()
    progress = Progress(arguments.out, part)
    status = 0
    try:
        if count(progress.data) < arguments.target:
            with watched_server("--map", "city_grid", log=arguments.out / f"{part}.log") as server:
                live(server, progress, arguments.target)
    except KeyboardInterrupt:
        status = 130
    progress.data["result"], is_good = judge(progress.data)
    progress.save()
    tell(f"{part}: {progress.data['result']}")
    leave(status or (0 if is_good else 1))
