"""What watching a drive costs its loop: `python -m benchmarks.viewing --out docs/viewing/cost.json`.

One drive, whose blocks of steps are in turn not watched, watched by a dashboard without a page, by one with a page that
takes in everything, by one with a page that takes in nothing, and by Rerun, where that is installed. All kinds meet the
same load of the machine, and each block is held against the unwatched one of its round.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from av_stack.recording.map_topic import map_message
from av_stack.viewing.dashboard.page_data import PageData
from av_stack.viewing.dashboard.server import Dashboard
from av_stack.viewing.stop import StopRequest
from av_stack.viewing.viewer import DriveStep, ViewedDrive, Viewer
from benchmarks.__main__ import machine
from benchmarks.drive_loop import DriveLoop, more_percent

NONE, NO_PAGE, PAGE, STUCK_PAGE, RERUN = "none", "no page", "one page", "one page that does not read", "Rerun"
BLOCK_STEPS, WARM_UP_STEPS = 15, 60
SETTLE_S = 0.2
"""Time between blocks, in which the threads finish."""

READER = """
import sys, time, urllib.request
stream = urllib.request.urlopen(sys.argv[1])
print("connected", flush=True)
while sys.argv[2] == "stuck" or stream.read1(1 << 20):
    time.sleep(1.0 if sys.argv[2] == "stuck" else 0.0)
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewing", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="blocks of each kind (%(default)s)")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    text = json.dumps({"machine": machine(), **measure(arguments.rounds)}, indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(f"{text}\n")


def measure(rounds: int) -> dict[str, Any]:
    """Median time of a step by kind, the median over the rounds of its ratio to "none", and of single calls."""
    with ExitStack() as closers:
        loop = DriveLoop(closers)
        drive = ViewedDrive(
            "town_drive", "stack", map_message(loop.world.lane_graph, loop.route), loop.rig, loop.world.vehicle
        )
        viewers = _viewers(drive, closers)
        kinds = [NONE, *viewers]
        wall: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(WARM_UP_STEPS):
            seen = loop.step()
        for number in range(rounds):
            for place in range(len(kinds)):
                kind = kinds[(number + place) % len(kinds)]  # no kind is always the first
                wall[kind].append(_block_ms(loop, viewers.get(kind)))
        calls = _calls(seen, drive, viewers)
    return {
        "rounds": rounds,
        "block_steps": BLOCK_STEPS,
        "step_ms": {kind: round(float(np.median(values)), 2) for kind, values in wall.items()},
        "step_percent_more": {kind: more_percent(wall[kind], wall[NONE]) for kind in kinds[1:]},
        "calls_ms": calls,
    }


def _viewers(drive: ViewedDrive, closers: ExitStack) -> dict[str, Viewer]:
    """A viewer of each kind, with its page, where it has one."""
    found: dict[str, Viewer] = {}
    for kind in (NO_PAGE, PAGE, STUCK_PAGE):
        dashboard = Dashboard(StopRequest(), port=0)
        closers.callback(dashboard.close)
        found[kind] = dashboard
        if kind != NO_PAGE:
            url = dashboard.url.replace("/?", "/events?")
            command = [sys.executable, "-c", READER, url, "stuck" if kind == STUCK_PAGE else "reads"]
            reader = closers.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            closers.callback(reader.kill)
            assert reader.stdout is not None
            reader.stdout.readline()
    if find_spec("rerun") is not None:
        import rerun as rr

        from av_stack.viewing.rerun_view.log import APPLICATION
        from av_stack.viewing.rerun_view.show import LiveView

        stream = rr.RecordingStream(APPLICATION)
        stream.save(Path(closers.enter_context(tempfile.TemporaryDirectory())) / "drive.rrd")
        closers.callback(stream.disconnect)
        found[RERUN] = LiveView(stream, print)
    for viewer in found.values():
        viewer.begin(drive)
    return found


def _block_ms(loop: DriveLoop, viewer: Viewer | None) -> float:
    """Time of a step in a block of them."""
    show: Callable[[DriveStep], object] = viewer.show if viewer is not None else lambda _: None
    show(loop.step())
    begin_s = time.perf_counter()
    for _ in range(BLOCK_STEPS):
        show(loop.step())
    taken_ms = 1e3 * (time.perf_counter() - begin_s) / BLOCK_STEPS
    time.sleep(SETTLE_S)
    return taken_ms


def _calls(seen: DriveStep, drive: ViewedDrive, viewers: dict[str, Viewer]) -> dict[str, float]:
    """Time of what the loop itself does for the dashboard, and CPU time of an event in the page's thread."""
    data, count = PageData(drive), 50
    begin_s = time.process_time()
    for _ in range(count):
        data.step(seen)
    event_ms = 1e3 * (time.process_time() - begin_s) / count
    times_s = []
    for _ in range(1000):
        begin_s = time.perf_counter()
        viewers[NO_PAGE].show(seen)
        times_s.append(time.perf_counter() - begin_s)
    return {"show, median": round(1e3 * float(np.median(times_s)), 5), "event, CPU time": round(event_ms, 2)}


if __name__ == "__main__":
    main()
