"""Ends drives by signals at many moments, and runs drives on disks that fill up: `python -m benchmarks.kill_sweep`.

SIGKILL, SIGTERM, SIGHUP and SIGINT are sent to client and server at 50 moments each, half while loading and half while
driving; 20 more drives run on small disks. The order is shuffled. It needs root to mount the disks. Stop it with
Ctrl-C; the next start continues where it was. FOLDER/cases.jsonl has a line for each case, FOLDER/kill_sweep.json the
figures.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from benchmarks.kill_sweep.case import Case, measure_loading, run_case
from benchmarks.kill_sweep.summary import summarise

SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")
TARGETS = ("client", "server")
DISK_BYTES = (32 << 10, 1152 << 10)
"""Sizes of the smallest and the largest disk; a whole drive of `case.SCENARIO` takes 1.3 MB."""


def cases(moments: int, disks: int) -> list[Case]:
    """All cases, shuffled so that signals, targets and disks are spread evenly over the run."""
    made = []
    for target in TARGETS:
        for name in SIGNALS:
            for number in range(moments):
                phase = ("loading", "driving")[number % 2]
                share = (number // 2 + 0.5) / ((moments + 1) // 2)
                made.append(Case(f"{target}_{name}_{phase}_{number:02d}", target, name, phase, share))
    low, high = DISK_BYTES
    for number in range(disks):
        size_bytes = low + (high - low) * number // max(disks - 1, 1)
        made.append(Case(f"disk_{number:02d}", disk_bytes=size_bytes))
    random.Random(1).shuffle(made)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill_sweep", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/kill_sweep"))
    parser.add_argument("--moments", type=int, default=50, help="of each signal on client and on server (%(default)s)")
    parser.add_argument("--disks", type=int, default=20, help="sizes of disks that fill (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="drives at the same time (%(default)s)")
    parser.add_argument("--rerun", help="Rerun's command line, which then converts every recording")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # drives must not inherit ignored signals
        signal.signal(number, signal.default_int_handler)
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    log = out / "cases.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    names = {figures["name"] for figures in done}
    todo = [case for case in cases(arguments.moments, arguments.disks) if case.name not in names]
    loading_s = measure_loading(out)
    print(f"{len(todo)} cases to run; undisturbed: {loading_s}", flush=True)
    ended = threading.Event()

    def one(case: Case) -> dict[str, Any] | None:
        return None if ended.is_set() else run_case(case, out, loading_s, arguments.rerun)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        futures = [pool.submit(one, case) for case in todo]
        try:
            for future in as_completed(futures):
                figures = future.result()
                if figures is not None:
                    done.append(figures)
                    _keep(log, figures, out, done)
        except KeyboardInterrupt:
            ended.set()  # running cases finish, others do not start
            return 130
    print(json.dumps(summarise(done), indent=1))
    return 0


def _keep(log: Path, figures: dict[str, Any], out: Path, done: list[dict[str, Any]]) -> None:
    with log.open("a") as file:
        file.write(json.dumps(figures) + "\n")
    summary = summarise(done)
    (out / "kill_sweep.json").write_text(json.dumps(summary, indent=1) + "\n")
    is_good = figures["name"] not in summary["faults"]
    print(f"{'ok  ' if is_good else 'FAIL'} {figures['name']}: {figures['end_s']} s, {figures['message']}", flush=True)
    if is_good and figures["video"] == "absent":
        shutil.rmtree(out / figures["name"])


if __name__ == "__main__":
    raise SystemExit(main())
