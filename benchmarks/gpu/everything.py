"""All benchmarks on a GPU within a time: `python -m benchmarks.gpu.everything --out out/bench --minutes 6`.

`make bench-gpu` runs it. Each part is a program of its own. It gets what it needs at least, and its share of the rest.
With less time than all parts need, timings are repeated less often (`effort`), and what still does not fit is named at
the end; cases of a part stand in its record under "left_out". A part that fails does not cost the others; the exit
status says that one failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.gpu.effort import VARIABLE

FULL_MINUTES = 40.0
"""Enough for all parts with all repetitions, also on a slower host than that of the H200 with 16 cores."""
START_S = 12.0
"""In which a program imports torch, and ends."""
LIMITED_S = 60.0
"""Into which a part fits that can leave cases out."""
EFFORT_MIN = 0.2
"""Of the repetitions: with fewer, a median would say little."""


@dataclass(frozen=True, slots=True)
class Part:
    """A program with what it measures, and what it needs on an H200 whose host has 16 cores.

    That is `full_s` with all repetitions, and `least_s` with a fifth of them.
    """

    name: str
    module: str
    out: str
    full_s: float
    least_s: float
    needs: str = ""
    """A package, or the program ncu, without which the part is skipped."""
    has_limit: bool = False
    """Whether it can be told when to begin nothing new."""
    more: tuple[str, ...] = ()

    def command(self, out: Path, seconds: float) -> list[str]:
        limit = ["--seconds", f"{max(1.0, seconds - START_S):.0f}"] if self.has_limit else []
        return [sys.executable, "-m", f"benchmarks.gpu{self.module}", "--out", str(out / self.out), *limit, *self.more]

    def missing(self) -> str:
        """What it needs and is not installed."""
        found = self.needs == "" or (shutil.which("ncu") if self.needs == "ncu" else find_spec(self.needs)) is not None
        return "" if found else self.needs


def parts(pictures: str) -> tuple[Part, ...]:
    """All parts, in order; `pictures` is a folder with real ones, or empty."""
    real = ("--pictures", pictures) if pictures else ()
    return (
        Part("hot path and whole frame", "", "", 90.0, 70.0),
        Part("streams", ".library.streams", "streams.json", 20.0, 15.0),
        Part("sparse layers", ".sparse", "", 35.0, 17.0, "ultralytics"),
        Part("forms of the network", ".network", "gpu_network.json", 15.0, 12.0, "ultralytics"),
        Part("convolutions", ".library.convolutions", "convolutions.json", 10.0, 8.0),
        Part("counters of chosen sizes", ".library.chosen_counters", "chosen_counters.json", 90.0, 30.0, "ncu", True),
        Part("equality", ".equality", "gpu_equality.json", 50.0, 15.0, "ultralytics", more=real),
        Part("counters of the hot path", ".counters", "gpu_counters.json", 25.0, 20.0, "ncu"),
        Part("operator library", ".library", "", 560.0, 280.0, has_limit=True, more=("--all",)),
        Part("counters of every version", ".library.counters", "ladder_counters.json", 150.0, 35.0, "ncu", True),
        Part("counters of rows", ".library.row_counters", "row_counters.json", 90.0, 60.0, "ncu", True),
    )


def fitting(chosen: Sequence[Part], seconds: float) -> list[Part]:
    """The first parts, as many as there is time for if each takes no more than it needs at least.

    One that can leave cases out fits into less.
    """
    found: list[Part] = []
    for part in chosen:
        if seconds < (min(LIMITED_S, part.least_s) if part.has_limit else part.least_s):
            break
        seconds = max(0.0, seconds - part.least_s)
        found.append(part)
    return found


def rest_of(chosen: Sequence[Part], seconds: float) -> float:
    """The share, 0 to 1, of what the parts need beyond the least, for which there is time."""
    least, full = sum(part.least_s for part in chosen), sum(part.full_s for part in chosen)
    return min(1.0, max(0.0, (seconds - least) / (full - least)))


def share_of(part: Part, later: Sequence[Part], left_s: float) -> float:
    """The seconds that a part gets of `left_s`, with the `later` ones still to come."""
    here = [part, *fitting(later, left_s - part.least_s)]
    return min(left_s, part.least_s + rest_of(here, left_s) * (part.full_s - part.least_s))


def run(chosen: Sequence[Part], out: Path, seconds: float) -> list[str]:
    """Run the parts one after the other; what failed or was left out, one line for each."""
    end, effort = time.monotonic() + seconds, max(EFFORT_MIN, rest_of(fitting(chosen, seconds), seconds))
    environment = os.environ | {VARIABLE: f"{effort:.2f}"}
    print(f"bench-gpu: {seconds / 60.0:.1f} minutes; timings are repeated {100.0 * effort:.0f} % as often", flush=True)
    found = []
    for number, part in enumerate(chosen):
        left_s = end - time.monotonic()
        share_s, begun = share_of(part, chosen[number + 1 :], left_s), time.monotonic()
        if left_s < part.least_s / 2.0:
            found.append(f"left out: {part.name}: {max(0.0, left_s):.0f} s were left")
            continue
        command = part.command(out, share_s)
        print(f"bench-gpu: {part.name}, {share_s:.0f} s: {' '.join(command)}", flush=True)
        status = _status(command, environment, min(left_s, max(1.5 * share_s, part.full_s)) + START_S)
        took = f"after {time.monotonic() - begun:.0f} s"
        if status is None:
            found.append(f"left out: the rest of {part.name}: the time was over {took}")
        elif status:
            found.append(f"failed: {part.name}: status {status} {took}")
        else:
            print(f"bench-gpu: {part.name} ended {took}", flush=True)
    return found


def _status(command: Sequence[str], environment: dict[str, str], limit_s: float) -> int | None:
    """The exit status; None if the command and all that it started were ended because the time was over."""
    program = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        return program.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.everything", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--minutes", type=float, default=FULL_MINUTES, help="the time for all parts together")
    parser.add_argument("--pictures", default="", help="folder with real pictures, for the count of equal results")
    arguments = parser.parse_args()
    if arguments.minutes <= 0.0:
        raise SystemExit(f"bench-gpu: {arguments.minutes} minutes are too few")
    everything = parts(arguments.pictures)
    skipped = [f"left out: {part.name}: {part.missing()} is not installed" for part in everything if part.missing()]
    chosen = [part for part in everything if not part.missing()]
    arguments.out.mkdir(parents=True, exist_ok=True)
    found = skipped + run(chosen, arguments.out, 60.0 * arguments.minutes)
    for line in found:
        print(f"bench-gpu: {line}", flush=True)
    (arguments.out / "left_out.txt").write_text("".join(f"{line}\n" for line in found))
    if any(line.startswith("failed") for line in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
