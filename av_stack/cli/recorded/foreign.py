"""The part of `av-stack replay` for foreign recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from av_core.errors import ConfigError
from av_stack.checks import check_maps_folder, check_out_folder
from av_stack.cli.output import OutcomeError, console, give_up
from av_stack.cli.report import write_replay_page
from av_stack.foreign.kinds import Kind
from av_stack.interruption import importing, set_deadline

FOREIGN_OUT = Path("out/replay")


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """The options on the command line; an option that is not given is None."""

    path: Path
    kind: Kind
    lens: Path | None
    topics: Path | None
    maps: Path | None
    pictures_per_s: float | None
    out: Path
    weights: Path | None
    device: str


def refuse_given(given: Mapping[str, object], why: str) -> None:
    """Raise ConfigError with the reason `why` if one of these options is given."""
    for option, value in given.items():
        if value:
            raise ConfigError(f"{option}: {why}")


def replay_foreign_recording(call: ForeignCall) -> None:
    """Replay the recording and print the report. Raises OutcomeError if it could not be read to its end."""
    check_out_folder(call.out)
    for option, path in (("--lens", call.lens), ("--topics", call.topics)):
        if path is not None and not path.is_file():
            raise ConfigError(f"{option} {path}: no such file")
    if call.kind is Kind.CARLA:
        refuse_given({"--lens": call.lens}, "the camera is the simulator's")
        check_maps_folder(call.maps)
    else:
        refuse_given({"--maps": call.maps}, f"only for {Kind.CARLA.value}, not for {call.kind.value}")
    if call.kind is not Kind.ROS2:
        refuse_given({"--topics": call.topics}, f"only for a ROS 2 recording, not for {call.kind.value}")
    if call.kind is not Kind.PICTURES:
        refuse_given({"--fps": call.pictures_per_s}, f"only for a folder of pictures, not for {call.kind.value}")
    with importing():
        from av_stack.foreign.opening import SourceOptions, open_foreign
        from av_stack.foreign.session import ForeignOptions, replay_foreign
        from perception.device import resolve_device

    set_deadline(give_up)
    device, _ = resolve_device(call.device, True)
    source = open_foreign(call.path, call.kind, SourceOptions(call.lens, call.pictures_per_s, call.topics, call.maps))
    done = replay_foreign(source, ForeignOptions(call.out, call.weights, device))
    write_replay_page(call.out)
    for line in (*done.lines(), f"written to {call.out}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if done.problem is not None:
        raise OutcomeError(f"{call.path}: {done.problem}", 1)
