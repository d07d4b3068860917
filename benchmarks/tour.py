"""Runs the tour of README.md exactly as written, and says how each of its lines ended.

`python -m benchmarks.tour --out DIR` runs the lines one after the other in the folder DIR/run, each in a shell, with
this tree's `av-stack`. Where it was stopped, the same command goes on with the first line that has not succeeded.
DIR/tour.json has the table, DIR/logs what the lines printed. The status is 1 where a line fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from av_stack.recording.atomic_file import write_atomically
from benchmarks.__main__ import machine
from benchmarks.markdown_tables import rows

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
HEADING, FENCE, COMMENT, CONTINUED = "## A tour", "```", "#", "\\\n"
TIMEOUT_S = 3600.0
"""Longest time for one line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the tour: a command for the shell, and the first word of its comment as a name."""

    name: str
    command: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a line ended: its exit status, or 124 after `TIMEOUT_S`, and the last thing that it printed."""

    name: str
    command: str
    status: int
    seconds: float
    said: str


def blocks(text: str, after: str = "") -> list[list[str]]:
    """The lines of each shell block of a Markdown text, from the line `after` on; `\\` at its end continues a line."""
    found: list[list[str]] = []
    is_inside = False
    for line in text[text.index(after) :].replace(CONTINUED, " ").splitlines():
        if line.startswith(FENCE):
            is_inside = line == f"{FENCE}sh"
            if is_inside:
                found.append([])
        elif is_inside:
            found[-1].append(line)
    return found


def tour(text: str) -> list[Line]:
    """The lines of the block below `HEADING`. Raises ValueError where one has no comment that names it."""
    lines = []
    for line in blocks(text, HEADING)[0]:
        command, mark, comment = line.partition(f" {COMMENT} ")
        if not mark or not comment:
            raise ValueError(f"a line of the tour has no comment: {line}")
        lines.append(Line(comment.split()[0].rstrip(":,"), " ".join(command.split())))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tour", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/tour"))
    parser.add_argument("--only", default="", help="run only these lines, by their names, comma-separated")
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    lines, wanted = tour(README.read_text()), set(filter(None, arguments.only.split(",")))
    if unknown := wanted - {line.name for line in lines}:
        parser.error(
            f"--only: no line {', '.join(sorted(unknown))}; there are {', '.join(line.name for line in lines)}"
        )
    done = _read(out / "tour.json", lines)
    for number, line in enumerate(lines, 1):
        if (line.name in done and done[line.name].status == 0) or (wanted and line.name not in wanted):
            continue
        print(f"{number}/{len(lines)} {line.name}: {line.command}", flush=True)
        done[line.name] = outcome = _run(line, out)
        print(f"    status {outcome.status} after {outcome.seconds:.0f} s: {outcome.said}", flush=True)
        _write(out / "tour.json", lines, done)
    ended = [done[line.name] for line in lines if line.name in done]
    print(rows(("line", "status", "s"), [(one.name, str(one.status), f"{one.seconds:.0f}") for one in ended]))
    return int(len(ended) < len(lines) or any(one.status for one in ended))


def _run(line: Line, out: Path) -> Outcome:
    folder, log = out / "run", out / "logs" / f"{line.name}.txt"
    for each in (folder, log.parent):
        each.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    begin = time.monotonic()
    with log.open("w") as said:
        process = subprocess.Popen(
            ["bash", "-ec", line.command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            status = 124
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
            raise
    last = [text.strip() for text in log.read_text(errors="replace").splitlines() if text.strip()]
    return Outcome(line.name, line.command, status, round(time.monotonic() - begin, 1), last[-1] if last else "")


def _read(path: Path, lines: list[Line]) -> dict[str, Outcome]:
    """The outcomes of an earlier, stopped tour, by name: of lines that are written today as they were then."""
    if not path.is_file():
        shutil.rmtree(path.parent / "run", ignore_errors=True)  # the tour begins in an empty folder
        return {}
    found = [Outcome(**one) for one in json.loads(path.read_text())["lines"]]
    return {one.name: one for one in found if Line(one.name, one.command) in lines}


def _write(path: Path, lines: list[Line], done: dict[str, Outcome]) -> None:
    content = {"machine": machine(), "lines": [asdict(done[line.name]) for line in lines if line.name in done]}
    write_atomically(path, json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
