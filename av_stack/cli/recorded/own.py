"""The part of `av-stack replay` that runs the stack on a drive of av-stack and compares its outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from av_stack.cli.output import OutcomeError, console
from av_stack.foreign.kinds import RECORDING
from av_stack.interruption import importing


@dataclass(frozen=True, slots=True)
class OwnCall:
    """The options on the command line.

    * `path`: recording, or folder of the drive.
    * `modules`: the modules to run; empty for all whose inputs were recorded.
    * `reference`: file to compare with instead of the recording; with `is_update` it is written.
    * `ignored`, `tolerances`: fields that are not compared, and largest accepted differences of fields.
    * `report`, `html`: files to write; None for none.
    """

    path: Path
    modules: Sequence[str]
    is_compared: bool
    reference: Path | None
    is_update: bool
    ignored: Sequence[str]
    tolerances: Mapping[str, float]
    weights: Path | None
    device: str
    report: Path | None
    html: Path | None

    @property
    def written(self) -> list[Path]:
        """The files that the replay writes."""
        files = (self.report, self.html, self.reference if self.is_update else None)
        return [file for file in files if file is not None]


def replay_own_drive(call: OwnCall) -> None:
    """Replay the drive, print the report and write it.

    Raises ConfigError for a field that does not exist, and OutcomeError if the drive could not be replayed to its end
    or an output differs.
    """
    recording = call.path / RECORDING if call.path.is_dir() else call.path
    with importing():
        from av_stack.recording.atomic_file import write_atomically
        from av_stack.replay.compare import Rules
        from av_stack.replay.fields import check_fields
        from av_stack.replay.session import ReplayOptions, replay
        from av_stack.report.replay_page import replay_page
        from perception.device import resolve_device

        check_fields("--ignore", call.ignored)
        check_fields("--tolerance", call.tolerances)
    device, _ = resolve_device(call.device, True)
    rules = Rules(call.ignored, call.tolerances)
    done = replay(
        recording,
        ReplayOptions(call.modules, call.is_compared, call.reference, call.is_update, rules, call.weights, device),
    )
    for line in done.lines():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for file in call.written:
        file.parent.mkdir(parents=True, exist_ok=True)
    if call.report is not None:
        write_atomically(call.report, json.dumps(done.content(), indent=2) + "\n")
    if call.html is not None:
        write_atomically(call.html, replay_page(done.content()))
    if done.problem is not None:
        raise OutcomeError(done.problem, 1)
    if not done.is_equal:
        raise OutcomeError(f"the outputs differ from {done.compared_with}", 1)
