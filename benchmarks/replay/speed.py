"""Size of recorded drives, speed of their replay against real time, and whether it is equal byte for byte."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcap.reader import make_reader

from av_stack.recording.exact.reader import DriveReader
from av_stack.recording.exact.topics import PICTURES
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
    figures["mb_a_minute"] = {name: round(size / 1e6 / minutes, 1) for name, size in _sizes(path).items()}
    return figures


def _sizes(path: Path) -> dict[str, float]:
    """Bytes of the file, and of the pictures in it, which do not get smaller in its chunks."""
    pictures = previews = 0
    with path.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
            pictures += len(message.data) if channel.topic.startswith(PICTURES) else 0
            previews += len(message.data) if channel.topic.startswith("/camera/") else 0
    whole = path.stat().st_size
    return {"exact": whole, "small": whole - pictures, "lossless pictures": pictures, "previews": previews}
