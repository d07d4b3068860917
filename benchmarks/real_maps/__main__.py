"""Runs every .xodr file of a folder on the embedded server: `python -m benchmarks.real_maps --maps DIR`.

Each map is loaded by its own client, which lets TrafficManager drive 10 cars for 60 s. With `--stack` the stack drives
on each map that loaded; `--check` only reads the maps, in a fraction of the time. Stop it with Ctrl-C; the next start
continues where it was. `--table` writes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from benchmarks.real_maps.table import tables
from benchmarks.soak.progress import Progress, tell
from benchmarks.soak.watched import Watched, watched_server
from embedded_carla.errors import MapError
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.proof import Prover
from embedded_carla.opendrive import parse

LONGEST_S = 900.0
"""Longest wall time of one map's client."""


MARK = "<!-- What follows is written by benchmarks.real_maps. -->"
"""The line of the page below which `--table` writes."""


def _child(module: str, *arguments: str) -> dict[str, Any]:
    """The JSON that a child process printed last, or how it ended."""
    command = [sys.executable, "-m", f"benchmarks.real_maps.{module}", *arguments]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return {"error": f"the client did not end within {LONGEST_S:g} s"}
    if told.returncode:
        how = f"died of signal {-told.returncode}" if told.returncode < 0 else f"ended with status {told.returncode}"
        return {"error": f"the client {how}: {(told.stderr.strip().splitlines() or [''])[-1]}"}
    figures: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return figures


class _Server:
    """A server for many maps; after its death the next call starts another."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._folder, self._log, self._stack = folder, log, ExitStack()
        self._server: Watched | None = None

    def port(self) -> int:
        if self._server is None:
            arguments = ("--map", "country_road", "--maps", str(self._folder))
            self._server = self._stack.enter_context(watched_server(*arguments, log=self._log))
        return self._server.port

    def has_died(self) -> bool:
        """Whether the server has died; then the next call of `port` starts another."""
        if self._server is None or self._server.process.poll() is None:
            return False
        self.close()
        return True

    def close(self) -> None:
        self._stack.close()
        self._server = None


def _each(names: Sequence[str], jobs: int, work: Callable[[SimpleQueue[str]], None]) -> None:
    queue: SimpleQueue[str] = SimpleQueue()
    for name in names:
        queue.put(name)
    with ThreadPoolExecutor(jobs) as pool:
        for job in [pool.submit(work, queue) for _ in range(jobs)]:
            job.result()


def _run_traffic(maps: Path, names: Sequence[str], progress: Progress, jobs: int, out: Path) -> None:
    lock = threading.Lock()

    def work(queue: SimpleQueue[str]) -> None:
        server = _Server(maps, out / "server.log")
        try:
            while True:
                name = queue.get_nowait()
                figures = _child("traffic", str(server.port()), name)
                if server.has_died():
                    figures["server_died"] = True
                elif figures.get("error", "").startswith("the client"):
                    server.close()  # its world may still wait for ticks of the dead client
                with lock:
                    progress.data.setdefault("maps", {})[name] = figures
                    progress.save()
                    tell(f"{len(progress.data['maps'])} {name}: {figures}")
        except Empty:
            pass
        finally:
            server.close()

    _each(names, jobs, work)


def _check(maps: Path, names: Sequence[str], progress: Progress) -> None:
    """Read and prove each map without building it; this shows why a map is refused."""
    library = MapLibrary([maps])
    with Prover() as prover:
        for name in names:
            try:
                network = parse(library.load_text(name)[1], name)
                traffic_fault = prover.prove(name, network.xodr_text)
            except MapError as error:
                figures: dict[str, Any] = {"error": str(error)}
            else:
                figures = {"only_read": True, "repairs": len(network.repairs), "traffic_fault": traffic_fault}
            progress.data.setdefault("maps", {})[name] = figures
    progress.save()


def _run_stack(maps: Path, names: Sequence[str], progress: Progress, jobs: int, out: Path) -> None:
    lock = threading.Lock()

    def work(queue: SimpleQueue[str]) -> None:
        try:
            while True:
                name = queue.get_nowait()
                figures = _child("stack", str(maps), name, str(out / "drives" / name))
                with lock:
                    progress.data["maps"][name]["stack"] = figures
                    progress.save()
                    tell(f"{name}: {figures}")
        except Empty:
            pass

    _each(names, jobs, work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=Path, help="folder of .xodr files")
    parser.add_argument("--out", type=Path, default=Path("out/real_maps"))
    parser.add_argument("--jobs", type=int, default=1, help="maps at a time")
    parser.add_argument("--stack", action="store_true", help="let the stack drive the maps that have loaded")
    parser.add_argument("--check", action="store_true", help="only read the maps that have not been loaded")
    parser.add_argument("--table", type=Path, help="write the table into this .md file, behind its text")
    arguments = parser.parse_args()
    progress = Progress(arguments.out, "real_maps")
    done = progress.data.get("maps", {})
    if arguments.maps is not None:
        os.environ["EMBEDDED_CARLA_CACHE"] = str(arguments.out / "cache")  # a cache without maps built before
        files = sorted(arguments.maps.glob("*.xodr"), key=lambda path: -path.stat().st_size)
        names = [path.stem for path in files]
        if arguments.check:
            _check(arguments.maps, [n for n in names if n not in done], progress)
        elif arguments.stack:
            waiting = [n for n in names if done.get(n, {}).get("spawn_points") and "stack" not in done[n]]
            _run_stack(arguments.maps, waiting, progress, arguments.jobs, arguments.out)
        else:
            waiting = [n for n in names if "only_read" in done.get(n, {"only_read": True})]
            _run_traffic(arguments.maps, waiting, progress, arguments.jobs, arguments.out)
    if arguments.table is not None:
        head, _, _ = arguments.table.read_text().partition(MARK) if arguments.table.exists() else ("", "", "")
        maps = progress.data.get("maps", {})
        arguments.table.write_text(f"{head}{MARK}\n\n{tables(maps)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
