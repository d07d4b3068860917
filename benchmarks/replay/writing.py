"""CPU time and size of what the writing thread writes, without video, on the steps of an exactly recorded drive.

Unlike the time of a loop, it hardly depends on what else the machine does.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from av_core.types import SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.reader import DriveReader
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.writer import Recording
from scenarios.judging.judge import Progress

STEPS = 300


def measure_writing(path: Path) -> dict[str, Any]:
    """CPU time a step, ms, and size a minute, MB, without the topics of a replay, small and exact."""
    reader = DriveReader(path)
    setup, unpacker = reader.setup, reader.steps_unpacker()
    ticks = [(tick.frame, unpacker.unpack(tick.step), tick.truth) for tick in islice(reader.ticks(), STEPS)]
    reader.close()
    kinds = {"no topics of a replay": None, "small": replace(setup, has_pictures=False), "exact": setup}
    return {
        "steps": len(ticks),
        "kinds": {name: _measured(ticks, kind, setup.step_s) for name, kind in kinds.items()},
    }


def _measured(
    ticks: Sequence[tuple[SensorFrame, AgentStep, Truth]], setup: DriveSetup | None, step_s: float
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.mcap"
        begin = time.process_time()
        writer = Recording(path, {}, None, setup)
        for frame, step, truth in ticks:
            writer.write(frame, step, truth, Progress(0.0, 10.0, None))
        writer.close()
        took_s = time.process_time() - begin
        return {
            "cpu_ms_a_step": round(1e3 * took_s / len(ticks), 2),
            "mb_a_minute": round(path.stat().st_size / 1e6 / (len(ticks) * step_s / 60.0), 1),
        }
