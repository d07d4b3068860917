"""What recording costs the loop: one drive, whose blocks of steps are in turn not recorded, recorded small, and exact.

All kinds meet the same load of the machine, and each block is held against the unrecorded one of its round.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.recorder import Recorder
from benchmarks.drive_loop import DriveLoop, more_percent

KINDS = ("none", "small without video", "small", "exact")
BLOCK_STEPS, WARM_UP_STEPS = 15, 60
SETTLE_S = 0.2
"""Time between blocks, in which the writing threads finish."""


def measure_cost(rounds: int) -> dict[str, Any]:
    """Median time of a step by kind, the median over the rounds of its ratio to "none", and CPU time of the process."""
    wall: dict[str, list[float]] = {kind: [] for kind in KINDS}
    cpu: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with ExitStack() as closers:
        loop = _Loop(closers)
        for _ in range(WARM_UP_STEPS):
            loop.step(None)
        for number in range(rounds):
            for place in range(len(KINDS)):
                kind = KINDS[(number + place) % len(KINDS)]  # no kind is always the first
                loop.step(loop.recorders.get(kind))
                wall_s, cpu_s = time.perf_counter(), time.process_time()
                for _ in range(BLOCK_STEPS):
                    loop.step(loop.recorders.get(kind))
                wall[kind].append(1e3 * (time.perf_counter() - wall_s) / BLOCK_STEPS)
                time.sleep(SETTLE_S)
                cpu[kind].append(1e3 * (time.process_time() - cpu_s) / BLOCK_STEPS)
        dropped = {kind: recorder.dropped_steps for kind, recorder in loop.recorders.items()}
    return {
        "rounds": rounds,
        "block_steps": BLOCK_STEPS,
        "step_ms": {kind: round(float(np.median(values)), 2) for kind, values in wall.items()},
        "step_percent_more": {kind: more_percent(wall[kind], wall["none"]) for kind in KINDS[1:]},
        "cpu_ms_more": {
            kind: round(float(np.median(np.subtract(cpu[kind], cpu["none"]))), 2) for kind in KINDS[1:]
        },
        "dropped_steps": dropped,
    }  # fmt: skip


class _Loop:
    """A drive of the stack, with a recorder of each kind."""

    def __init__(self, closers: ExitStack) -> None:
        self._drive = DriveLoop(closers)
        world, rig = self._drive.world, self._drive.rig
        folder = Path(closers.enter_context(tempfile.TemporaryDirectory()))
        self.recorders: dict[str, Recorder] = {}
        for kind in KINDS[1:]:
            (folder / kind).mkdir()
            camera = None if kind == "small without video" else rig.cameras[0]
            setup = DriveSetup(
                world.lane_graph.name, world.map_text, world.vehicle, rig, "{}", "{}", 1, "stack", (), "cpu", "",
                world.server_version, {}, 0.05, has_pictures=kind == "exact",
            )  # fmt: skip
            self.recorders[kind] = Recorder(folder / kind, {}, camera, world.lane_graph, self._drive.route, setup)
            closers.callback(self.recorders[kind].close)

    def step(self, recorder: Recorder | None) -> None:
        """One step of the drive, recorded if there is a recorder."""
        seen = self._drive.step()
        if recorder is not None:
            recorder.write(seen.frame, seen.step, seen.truth, seen.progress)
