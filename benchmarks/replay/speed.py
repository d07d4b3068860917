"""Size of recorded drives, speed of their replay against real time, and whether it is equal byte for byte."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from av_stack.recording.exact.reader import DriveReader
from av_stack.replay.session import ReplayOptions, replay

PARTS: dict[str, tuple[str, ...]] = {
    "all": (),
    "lanes": ("lanes",),
    "localization": ("localization",),
    "objects, lights": ("objects", "lights"),
    "prediction, planning": ("prediction", "planning"),
    "control": ("control",),
}


def measure_speed(recordings: Sequence[Path]) -> dict[str, Any]:
    """The figures of each recording, by its folder's name."""
    return {"drives": {path.parent.name: _measured(path) for path in recordings}}


def _measured(path: Path) -> dict[str, Any]:
    reader = DriveReader(path)
    setup = reader.setup
    reader.close()
    figures: dict[str, Any] = {"recorded_with": dict(setup.versions), "replays": {}}
    for name, modules in PARTS.items():
        marks: list[tuple[float, float]] = []

        def watch(_: float, marks: list[tuple[float, float]] = marks) -> None:
            marks.append((time.perf_counter(), time.process_time()))

        done = replay(path, ReplayOptions(modules, is_compared=True), watch)
        assert done.comparison is not None
        steps = len(marks) - 1
        wall_s, cpu_s = (marks[-1][i] - marks[0][i] for i in (0, 1))
        figures["replays"][name] = {
            "steps": done.steps,
            "byte_equal_steps": done.byte_equal_steps,
            "differing_fields": [found.field for found in done.comparison.fields],
            "times_real_time": round(setup.step_s * steps / wall_s, 2),
            "cpu_ms_a_step": round(1e3 * cpu_s / steps, 2),
            "stage_ms": {stage: round(ms, 2) for stage, ms in done.stage_ms.items()},
            "load_average": round(os.getloadavg()[0], 1),
        }
    minutes = figures["replays"]["all"]["steps"] * setup.step_s / 60.0
    figures["mb_a_minute"] = round(path.stat().st_size / 1e6 / minutes, 1)
    return figures
