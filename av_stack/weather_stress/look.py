"""One look: repeats a recorded drive in another weather, in a process of its own, and writes the scores of perception.

The recorded commands lead the ego, so the world equals the recorded one in every step.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from av_stack.recording.atomic_file import write_atomically
from av_stack.replay.other_weather import look_again
from av_stack.replay.recorded_drive import read_drive
from av_stack.replay.reenactment import check_can_be_driven_again, own_weather
from av_stack.results.drive_log import Outcome
from av_stack.run import RECORD_NONE, Options, Watcher
from av_stack.weather_stress.figures import look_figures
from av_stack.weather_stress.pictures import PictureTaker, moments
from av_stack.weather_stress.reference import read_reference
from scenarios.model import load_scenario

LOOK = "look.json"


def look(
    recording: Path, table: Path, out: Path, watch: Watcher, abandon: Callable[[str, int], None] | None = None
) -> Outcome:
    """Look at the drive in `recording` in the weather of the scenario `table`; `abandon` is that of `run.Options`.

    Writes look.json and pictures to `out`. Raises ConfigError where the recording cannot be driven again.
    """
    drive, scenario = read_drive(recording), load_scenario(str(table))
    check_can_be_driven_again(drive, max(drive.steps))
    reference = read_reference(recording)
    taker = PictureTaker(out, reference.camera, moments(reference.scores))
    options = Options(out=out, record=RECORD_NONE, device=drive.setup.device, abandon=abandon)
    scores, outcome = look_again(drive, scenario, own_weather(scenario), options, [watch, taker.watch])
    content = {
        "steps": min(len(reference.scores), len(scores)),
        "figures": [asdict(figure) for figure in look_figures(reference.scores, scores)],
    }
    if outcome.figures["error"] is None:
        write_atomically(out / LOOK, json.dumps(content, indent=2) + "\n")
    return outcome
