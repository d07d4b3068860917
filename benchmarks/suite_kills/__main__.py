"""Kills processes of suites at random moments: `python -m benchmarks.suite_kills [--ray]`.

`kill -9` ends the client, the server or the suite itself; with `--ray`, on a cluster of two nodes, also the Ray worker
and a whole node. A suite that was killed is resumed. At the end every run must have been kept exactly once. The file
FOLDER/kills.json has a line for each kill, and what became of every run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from av_stack.suite.fingerprint import machine, version
from benchmarks.suite_kills.cluster import RUNS, TwoNodes
from benchmarks.suite_kills.processes import Process, clients, servers

LOCAL_TARGETS = ("client", "server", "suite")
RAY_TARGETS = ("node", "worker", "client", "server", "suite")
PAUSE_S = (1.0, 30.0)
"""Bounds of the random time between two kills."""

PATIENCE_S = 120.0
RESUMES_MAX = 10
TABLE = """name: {name}
map: city_grid
seed: {number}
route: {{start: [423.2, -340.0], goal: [423.2, -322.0]}}
traffic: {{vehicles: 3}}
timeout_s: {timeout_s}
"""


class Suite:
    """A suite of short runs of the agent `straight` in the folder `out`, which is started and resumed."""

    def __init__(self, out: Path, runs: int, cluster: TwoNodes | None) -> None:
        self.folder, self._cluster = out / "suite", cluster
        self._tables = out / "tables"
        self._tables.mkdir(parents=True)
        for number in range(runs):
            text = TABLE.format(name=f"run_{number:02d}", number=number, timeout_s=2 + number % 4)
            (self._tables / f"run_{number:02d}.yaml").write_text(text)
        self._log = (out / "suite.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self) -> None:
        where = ("--ray", self._cluster.address) if self._cluster is not None else ("--workers", "2")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "av_stack.cli", "suite", str(self._tables), "--agent", "straight", "--resume",
             "--out", str(self.folder), *where],
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.starts += 1

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait(self) -> None:
        assert self._process is not None
        self._process.wait()

    def kill(self) -> int:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        return self._process.pid

    def runs_folder(self) -> str:
        return RUNS if self._cluster is not None else f"{self.folder}/"

    def content(self) -> dict[str, Any]:
        path = self.folder / "suite.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"drives": [], "is_complete": False}
        return found

    def is_finished(self) -> bool:
        """Whether every run is done, and none with a crash for an end."""
        content = self.content()
        return bool(content["is_complete"]) and not any(entry["crash"] for entry in content["drives"])


def kill(suite: Suite, target: str, cluster: TwoNodes | None, rng: random.Random) -> int | None:
    """Kill one process of that kind; None if the suite ended before there was one."""
    if target == "suite":
        return suite.kill()
    if target == "node":
        assert cluster is not None
        return cluster.kill_node()
    victim = _wait_for(lambda: _victims(suite, target), suite)
    if victim is None:
        return None
    chosen = rng.choice(victim)
    pid = chosen.parent if target == "worker" else chosen.pid
    os.kill(pid, signal.SIGKILL)
    return pid


def _victims(suite: Suite, target: str) -> list[Process]:
    return servers(suite.runs_folder()) if target == "server" else clients(suite.runs_folder())


def _wait_for(found: Callable[[], list[Process]], suite: Suite) -> list[Process] | None:
    deadline_s = time.monotonic() + PATIENCE_S
    while suite.is_running() and time.monotonic() < deadline_s:
        if value := found():
            return value
        time.sleep(0.05)
    return None


def outcome(suite: Suite) -> dict[str, Any]:
    """What became of every run, from suite.json and the journal."""
    content = suite.content()
    lines = [json.loads(line) for line in (suite.folder / "journal.jsonl").read_text().splitlines()]
    kept = Counter(line["run"] for line in lines if line["event"] == "kept")
    kept.subtract(line["run"] for line in lines if line["event"] == "reopened")
    names = [entry["scenario"] for entry in content["drives"]]
    attempts = [attempt for entry in content["drives"] for attempt in entry["attempts"]]
    return {
        "runs": len(names),
        "starts": suite.starts,
        "attempts": len(attempts),
        "attempts_crashed": sum(attempt["crash"] is not None for attempt in attempts),
        "attempts_cut_off_with_the_suite": sum(attempt["end"] == "interrupted" for attempt in attempts),
        "runs_driven_again_after_two_crashes": sum(line["event"] == "reopened" for line in lines),
        "crashes": dict(Counter(attempt["crash"] for attempt in attempts if attempt["crash"] is not None)),
        "is_complete": suite.is_finished(),
        "every_run_kept_once": set(kept.values()) == {1} and sorted(kept) == sorted(set(names)) == sorted(names),
        "processes_left": len(clients(suite.runs_folder())),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suite_kills", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/suite_kills"))
    parser.add_argument("--kills", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--runs", type=int, default=12, help="of each suite (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of moments and victims (%(default)s)")
    parser.add_argument("--ray", action="store_true", help="on a Ray cluster of two nodes of this machine")
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    rng = random.Random(arguments.seed)
    kills: list[dict[str, Any]] = []
    suites: list[Suite] = []
    with ExitStack() as closers:
        cluster = closers.enter_context(TwoNodes()) if arguments.ray else None
        targets = RAY_TARGETS if arguments.ray else LOCAL_TARGETS
        began_s = time.monotonic()
        while len(kills) < arguments.kills:
            if not suites or suites[-1].is_finished():
                suites.append(Suite(out / f"{len(suites)}", arguments.runs, cluster))
            if not suites[-1].is_running():
                suites[-1].start()
            time.sleep(rng.uniform(*PAUSE_S))
            target = targets[len(kills) % len(targets)]
            pid = kill(suites[-1], target, cluster, rng) if suites[-1].is_running() else None
            if pid is None:
                continue
            at_s, done = round(time.monotonic() - began_s, 1), len(suites[-1].content()["drives"])
            kills.append({"at_s": at_s, "target": target, "suite": len(suites) - 1, "runs_done": done})
            print(f"{len(kills)}: {kills[-1]}", flush=True)
            if target == "node" and cluster is not None:
                cluster.replace()
        _complete(suites[-1])
        time.sleep(5.0)
        outcomes = [outcome(suite) for suite in suites]
    where = "a Ray cluster of two nodes" if arguments.ray else "two workers"
    found = {"kills": kills, "suites": outcomes, "version": version(), "machine": machine(), "on": where}
    (out / "kills.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(outcomes, indent=1))
    return 0 if all(one["is_complete"] and one["every_run_kept_once"] for one in outcomes) else 1


def _complete(suite: Suite) -> None:
    """Let the suite end, and resume it until nothing is left."""
    for _ in range(RESUMES_MAX):
        if suite.is_running():
            suite.wait()
        if suite.is_finished():
            return
        suite.start()


if __name__ == "__main__":
    raise SystemExit(main())
