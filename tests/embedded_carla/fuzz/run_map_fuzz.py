"""Mutated maps against the server's map loader, and the accepted ones against the wheel as clients use it:

    python -m tests.embedded_carla.fuzz.run_map_fuzz --maps 3000 --seed 1

Map k of a seed is made from (seed, k), and from the towns in AV_STACK_DATA where it is set. `--only k` shows that one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.embedded_carla.fuzz.target import target

LONGEST_S = 120.0
"""Wall time of one map, after which its child counts as hung."""

SERVER_EVERY = 100
"""One in so many maps also goes through a real server and a real client."""

_NUMBERS = re.compile(r"-?\d[\d.e+-]*")


@dataclass(slots=True)
class MapFindings:
    """What became of the maps, why they were refused, and faults by what they are."""

    became: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[int]] = field(default_factory=dict)
    built: int = 0
    seconds: float = 0.0

    @property
    def maps(self) -> int:
        return self.became.total()

    def add(self, number: int, became: str, why: str) -> None:
        self.became[became] += 1
        if became == "fault":
            numbers = self.faults.setdefault(why, [])
            numbers.append(number)
            print(f"FAULT map {number}: {why}", flush=True)
        elif why:
            self.reasons[_NUMBERS.sub("N", why)[:100]] += 1


class _Worker:
    """A child process for many maps."""

    def __init__(self, seed: int) -> None:
        command = [sys.executable, "-m", "tests.embedded_carla.fuzz.map_worker", str(seed)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, number: int, is_built: bool) -> tuple[str, str] | None:
        """(what became of it, why), or None when the child died or hangs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{number} {int(is_built)}\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], LONGEST_S)[0]:
            return None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        return (answer["became"], answer["why"]) if answer else None

    def end(self) -> str:
        """End it; how it ended."""
        try:
            status = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return f"the process hung for {LONGEST_S:g} s"
        return f"the process died of signal {-status}" if status < 0 else f"the process ended with status {status}"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def run(maps: int, seed: int, *, build_every: int = 1, workers: int | None = None, told: bool = True) -> MapFindings:
    """Try them all; every `build_every`-th of the accepted ones is built with its scenery."""
    findings, began_s = MapFindings(), time.monotonic()
    numbers: SimpleQueue[int] = SimpleQueue()
    for number in range(maps):
        numbers.put(number)

    def work() -> None:
        worker = _Worker(seed)
        while True:
            try:
                number = numbers.get_nowait()
            except Empty:
                break
            is_built = number % build_every == 0
            answer = worker.ask(number, is_built)
            if answer is None:
                answer = ("fault", worker.end())
                worker = _Worker(seed)
            findings.built += is_built and answer[0].endswith("accepted")
            findings.add(number, *answer)
            if told and findings.maps % 100 == 0:
                print(
                    f"{findings.maps}/{maps} maps, {dict(findings.became)}, {time.monotonic() - began_s:.0f} s",
                    flush=True,
                )
        worker.close()

    count = workers or min(os.cpu_count() or 1, 8)
    with ThreadPoolExecutor(count) as pool:
        for job in [pool.submit(work) for _ in range(count)]:
            job.result()
    findings.seconds = round(time.monotonic() - began_s, 1)
    return findings


def run_through_server(numbers: Sequence[int], seed: int, folder: Path) -> Counter[str]:
    """Let a real client send these maps to a real server, and use the world. Raises when either does not survive."""
    with target(folder) as server:
        command = [sys.executable, "-m", "tests.embedded_carla.fuzz.map_client", str(server.port), str(seed)]
        told = subprocess.run(
            command, input=" ".join(map(str, numbers)), capture_output=True, text=True, timeout=LONGEST_S * len(numbers)
        )
        assert told.returncode == 0, f"the client ended with {told.returncode}: {told.stderr[-2000:]}"
        assert server.process.poll() is None, f"the server ended with {server.process.returncode}"
        assert server.faults() == 0, server.log.read_text()[-3000:]
    return Counter(line.partition(" ")[0] for line in told.stdout.splitlines())


def show(seed: int, number: int) -> None:
    """The map's text and what becomes of it."""
    from tests.embedded_carla.fuzz.map_worker import mutated

    print(mutated(seed, number))
    worker = _Worker(seed)
    print(worker.ask(number, True) or worker.end())
    worker.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build-every", type=int, default=4, help="one in so many maps is built with its scenery")
    parser.add_argument("--only", type=int, help="show this map and what becomes of it")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    arguments = parser.parse_args()
    if arguments.only is not None:
        show(arguments.seed, arguments.only)
        return 0
    findings = run(arguments.maps, arguments.seed, build_every=arguments.build_every)
    with tempfile.TemporaryDirectory() as folder:
        sent = run_through_server(range(0, arguments.maps, SERVER_EVERY), arguments.seed, Path(folder))
    result = {
        "seed": arguments.seed, "maps": findings.maps, "became": dict(findings.became.most_common()),
        "built_with_scenery": findings.built, "faults": findings.faults, "through_server": dict(sent),
        "seconds": findings.seconds,
        "with_real_towns": bool(os.environ.get("AV_STACK_DATA")), "reasons": dict(findings.reasons.most_common(60)),
    }  # fmt: skip
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "maps.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
