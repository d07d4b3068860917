"""One part of the long runs as a program: goes on where it was, can be interrupted, judges what it has."""

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
    """Let a server live until `target` of `unit` are done or someone interrupts; ends the process.

    `count` tells how many the progress has, `judge` the result and whether it is good: then the status is 0, else 1, or
    130 after an interruption. `part` names the files, as `unit` does by default.
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
