"""Runs CARLA's own programs, unmodified, on embedded_carla and writes what became of each.

    python -m tests.embedded_carla.programs.run_programs --python VENV/bin/python --maps DIR --out DIR
        --scenario-runner DIR --leaderboard DIR --api CARLA/PythonAPI [--only TEXT] [--again TEXT]

VENV holds carla==0.9.16 and what the programs need. One line of JSON a program goes to OUT/results.jsonl; those that
are there already are skipped, so that a run can be taken up again. Some programs want the ports 2000 or 3654.
`python -m tests.embedded_carla.programs.page` makes the page of results from that file.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.embedded_carla.programs import catalogue
from tests.embedded_carla.programs.catalogue import Program
from tests.embedded_carla.programs.verdict import Outcome, judge

_PORT = 2000
_SMOKE_PORT = 3654
_START_S = 600.0  # a first start on a busy machine compiles
_PATIENCE_S = 20.0
"""For a program that has heard Ctrl-C, or said its last words, to end."""
_STAND_INS = {"Town03": "Town10HD", "Town05": "Town04"}
"""Smoke tests and utilities load these towns, whatever they test; without the town another one of its name must do."""


@dataclass(slots=True)
class ServerProcess:
    """One embedded_carla; everything that it says goes to `log`."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int

    @classmethod
    def start(cls, port: int, maps: list[Path], town: str, log: Path, recordings: Path | None) -> ServerProcess:
        command = [sys.executable, "-m", "embedded_carla", "--port", str(port), "--map", town or "Town10HD"]
        if recordings is not None:
            command += ["--recordings", str(recordings)]
        for folder in maps:
            command += ["--maps", str(folder)]
        said_before = log.stat().st_size if log.exists() else 0
        with log.open("ab") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
        server = cls(process, log, port)
        end_s = time.monotonic() + _START_S
        while b"listening" not in log.read_bytes()[said_before:]:
            if process.poll() is not None or time.monotonic() > end_s:
                raise SystemExit(f"the server did not start; see {log}")
            time.sleep(0.1)
        return server

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _environment(arguments: argparse.Namespace) -> dict[str, str]:
    roots = [
        arguments.api / "carla",
        arguments.api / "carla" / "agents",
        arguments.scenario_runner,
        arguments.leaderboard,
    ]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(root) for root in roots),
        "SCENARIO_RUNNER_ROOT": str(arguments.scenario_runner),
        "LEADERBOARD_ROOT": str(arguments.leaderboard),
        "SDL_VIDEODRIVER": "dummy",
        "SDL_AUDIODRIVER": "dummy",
        "MPLBACKEND": "Agg",
        "PYTHONUNBUFFERED": "1",
    }


def _wait(process: subprocess.Popen[bytes], program: Program, log: Path) -> str:
    """How it ended: "itself", "Ctrl-C" (as planned) or "killed" (it ran past its limit, or would not hear Ctrl-C)."""
    ended = "itself"
    end_s = time.monotonic() + (program.interrupt_after_s or program.limit_s)
    has_said_all = False
    while True:
        try:
            process.wait(max(min(end_s - time.monotonic(), 1.0), 0.01))
            return ended
        except subprocess.TimeoutExpired:
            if not has_said_all and program.last_words and program.last_words in log.read_text(errors="replace"):
                has_said_all = True
                end_s = time.monotonic() + _PATIENCE_S
        if time.monotonic() < end_s:
            continue
        if ended == "itself" and program.interrupt_after_s is not None and not has_said_all:
            process.send_signal(signal.SIGINT)
            ended = "Ctrl-C"
            end_s = time.monotonic() + _PATIENCE_S
        else:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "killed"


def run_one(program: Program, server: ServerProcess, arguments: argparse.Namespace, tm_port: int) -> Outcome:
    """Run it to its end and judge it by its own words and the server's."""
    log = arguments.out / "logs" / (program.name.replace("/", "_").replace(" ", "_")[:120] + ".txt")
    fill = {"port": str(server.port), "tm": str(tm_port), "out": str(arguments.out)}
    words = [part.format(**fill) if "{" in part else part for part in program.command]
    said_before = server.log.stat().st_size
    driver = None
    start_s = time.monotonic()
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [str(arguments.python), *words], cwd=program.folder, env=_environment(arguments), stdin=subprocess.DEVNULL,
            stdout=sink, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        if program.ego_turn:
            script = Path(__file__).with_name("ego_driver.py")
            driver = subprocess.Popen(
                [str(arguments.python), str(script), "--port", str(server.port), "--tm-port", str(tm_port), "--turn",
                 program.ego_turn], stdout=(log.with_suffix(".ego")).open("wb"), stderr=subprocess.STDOUT,
            )  # fmt: skip
        ended = _wait(process, program, log)
    seconds = time.monotonic() - start_s
    if driver is not None:
        driver.kill()
        driver.wait()
    server_words = server.log.read_bytes()[said_before:].decode(errors="replace")
    text = log.read_text(errors="replace")
    checkpoint = arguments.out / program.checkpoint if program.checkpoint else None
    return judge(program, text, process.returncode, ended, seconds, server_words, checkpoint, arguments.commit)


def _programs(arguments: argparse.Namespace) -> list[Program]:
    xodr = str(next(arguments.maps[0].glob("Town01.xodr")))
    return [
        *catalogue.examples(arguments.api, xodr),
        *catalogue.smoke_tests(arguments.api),
        *catalogue.metrics(arguments.scenario_runner, arguments.recording),
        *catalogue.scenarios(arguments.scenario_runner),
        *catalogue.leaderboard(arguments.leaderboard, arguments.scenario_runner, arguments.routes),
    ]


def _stand_ins(arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.out / "stand_ins"
    folder.mkdir(exist_ok=True)
    for name, stands in _STAND_INS.items():
        link = folder / f"{name}.xodr"
        if not link.exists():
            link.symlink_to(next(arguments.maps[0].glob(f"{stands}.xodr")).resolve())
    return folder


def _done(results: Path, again: list[str]) -> set[tuple[str, str]]:
    """What need not run again; rows that do are taken out of the file."""
    if not results.exists():
        return set()
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    kept = [
        row for row in rows if not any(text in f"{row['group']}: {row['name']}: {row['verdict']}" for text in again)
    ]
    results.write_text("".join(json.dumps(row) + "\n" for row in kept))
    return {(row["group"], row["name"]) for row in kept}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("python", "out", "scenario-runner", "leaderboard", "api"):
        parser.add_argument(f"--{name}", type=lambda text: Path(text).absolute(), required=True)
    parser.add_argument("--maps", type=lambda text: Path(text).absolute(), action="append", required=True)
    parser.add_argument("--commit", default="", help="of the server's sources, written into each result")
    parser.add_argument("--routes", type=Path, help="one more file of Leaderboard routes")
    parser.add_argument(
        "--recording", type=lambda text: Path(text).absolute(), help="of a CARLA server in Town01, to take metrics of"
    )
    parser.add_argument("--only", action="append", default=[], help="only programs with this in 'group: name'")
    parser.add_argument(
        "--again", action="append", default=[], help="run again what has this in 'group: name: verdict'"
    )
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, and its children, ignore it
    (arguments.out / "logs").mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    done = _done(results, arguments.again)
    server: ServerProcess | None = None
    tm_port = 8100
    try:
        for program in _programs(arguments):
            if (program.group, program.name) in done:
                continue
            if arguments.only and not any(text in f"{program.group}: {program.name}" for text in arguments.only):
                continue
            is_smoke = program.group == "smoke"
            if not is_smoke and not catalogue.is_at_hand(program.town):
                outcome = Outcome(program.group, program.name, program.town, "town not at hand", 0.0, "", "")
            else:
                port = _SMOKE_PORT if is_smoke else _PORT
                if server is None or server.port != port:
                    if server is not None:
                        server.stop()
                    has_stand_ins = is_smoke or program.group == "util"
                    maps = [*arguments.maps, *([_stand_ins(arguments)] if has_stand_ins else [])]
                    recordings = arguments.recording.parent if program.group == "metrics" else None
                    server = ServerProcess.start(port, maps, program.town, arguments.out / "server.log", recordings)
                tm_port += 2
                outcome = run_one(program, server, arguments, tm_port)
                # What was killed leaves its settings and actors behind, as on CARLA: the next shall not pay for it.
                if outcome.is_unclean or program.group in ("examples", "util", "metrics"):
                    server.stop()
                    server = None
            with results.open("a") as sink:
                sink.write(json.dumps(asdict(outcome)) + "\n")
            print(
                f"{outcome.seconds:6.1f} s  {outcome.group}: {outcome.name}: {outcome.verdict} {outcome.exception}",
                flush=True,
            )
    finally:
        if server is not None:
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
