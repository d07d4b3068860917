"""The command `av-stack replay`: replays a recorded drive."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from av_core.errors import ConfigError
from av_stack.checks import check_known, check_out_folder, chosen_detector, parse_list
from av_stack.cli.options import DEVICES, REPLAY_MODULES, AgentsOption, DetectorOption
from av_stack.cli.recorded.branch import BRANCH_OUT, WEATHER_OUT, BranchCall, replay_branch, replay_in_weather
from av_stack.cli.recorded.foreign import FOREIGN_OUT, ForeignCall, refuse_given, replay_foreign_recording
from av_stack.cli.recorded.own import OwnCall, replay_own_drive
from av_stack.foreign.kinds import Kind, kind_of


def replay_command(
    drive: Annotated[
        Path,
        typer.Argument(
            help="recording.mcap of a drive, or the drive's folder; or a foreign recording: a video, a folder of "
            "pictures, a ROS 2 recording (MCAP), a .log of CARLA's recorder, a segment of comma2k19, a drive of KITTI.",
            metavar="DRIVE",
        ),
    ],
    only: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help=f"Run only these modules and take the outputs of the others from the recording: "
            f"{', '.join(REPLAY_MODULES)} (comma-separated).",
        ),
    ] = "",
    diff: Annotated[
        bool, typer.Option("--diff", help="Compare every output with the recording; status 1 where one differs.")
    ] = False,
    reference: Annotated[
        Path | None, typer.Option(help="Compare with the outputs in this file instead of the recording's.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write the outputs to the file of --reference instead of comparing.")
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Do not compare a field, such as plan.trajectory; repeatable."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=SIZE", help="Largest difference of a field that is accepted; repeatable."),
    ] = None,
    detector: DetectorOption = None,
    weights: Annotated[Path | None, typer.Option(help="Weights (.pt) of a detector. Default: those shipped.")] = None,
    device: Annotated[str, typer.Option(help=f"Where perception runs: {', '.join(DEVICES)}.")] = "cpu",
    report: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as a page (HTML).")] = None,
    lens: Annotated[
        Path | None, typer.Option(help="Foreign recordings: lens file (YAML) of the camera.", metavar="FILE")
    ] = None,
    topics: Annotated[
        Path | None,
        typer.Option(
            help="ROS 2 recordings: YAML file that names the topics of image, camera_info, gnss, imu and odometry. "
            "Default: chosen by their types.",
            metavar="FILE",
        ),
    ] = None,
    maps: Annotated[
        Path | None, typer.Option(help="Recordings of CARLA's recorder: folder with more .xodr maps.", metavar="DIR")
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(min=0.1, max=240.0, help="Folders of pictures: pictures a second. Default: 10.", metavar="RATE"),
    ] = None,
    branch_at: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Branch: restore the recorded world at this time, such as 41.5s, and drive on in closed loop.",
        ),
    ] = None,
    weather: Annotated[
        str | None,
        typer.Option(
            help="Weather (name or YAML file, as for av-stack run) from the branch on; without --from, in all of it."
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Branch: the agent that drives, named as for av-stack run. Default: as recorded.")
    ] = None,
    agents: AgentsOption = None,
    oracle: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Branch: oracles, as for av-stack run; '' for none. Default: as recorded."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"Folder for the files of a branch ({BRANCH_OUT}), of another weather ({WEATHER_OUT}) or of a foreign "
            f"recording ({FOREIGN_OUT})."
        ),
    ] = None,
) -> None:
    """Run today's stack on the inputs of a recorded drive, and compare its decisions with the recorded ones.

    With --from: drive on from this time in closed loop, and compare with the recorded rest of the drive. With --weather
    alone: show the drive in another weather, and compare the outputs of perception. On a foreign recording: run the
    modules whose inputs it has, and write an annotated video and the result.
    """
    modules = parse_list(only)
    check_known("--only", modules, REPLAY_MODULES)
    check_known("--device", [device], DEVICES)
    weights = chosen_detector(detector, weights)
    tolerances = dict(_parse_tolerance(text) for text in tolerance or ())
    if update and reference is None:
        raise ConfigError("--update needs --reference FILE, the file to write")
    own = OwnCall(
        drive, modules, diff or reference is not None, reference, update, tuple(ignore or ()), tolerances, weights,
        device, report, html,
    )  # fmt: skip
    for file in own.written:
        check_out_folder(file.parent if file.parent != Path(".") else None, "the file's folder")
    kind = kind_of(drive)
    comparing = {
        "--only": only, "--diff": diff, "--reference": reference, "--update": update, "--ignore": ignore,
        "--tolerance": tolerance, "--json": report, "--html": html,
    }  # fmt: skip
    of_foreign = {"--lens": lens, "--topics": topics, "--maps": maps, "--fps": fps}
    if branch_at is not None:
        if kind is not Kind.OWN:
            raise ConfigError(f"--from: {drive} is {kind.value}, and only a drive of av-stack run can be branched")
        refuse_given({**comparing, **of_foreign}, "it cannot be used with --from")
        replay_branch(BranchCall(drive, branch_at, out or BRANCH_OUT, weather, agent, agents, oracle, weights, device))
        return
    refuse_given({"--agent": agent, "--agents": agents, "--oracle": oracle}, "it needs --from")
    if weather is not None:
        if kind is not Kind.OWN:
            raise ConfigError(f"--weather: {drive} is {kind.value}, and only a drive of av-stack run can be repeated")
        refuse_given({**comparing, **of_foreign}, "it cannot be used with --weather")
        replay_in_weather(drive, weather, out or WEATHER_OUT, weights, device)
        return
    if kind is Kind.OWN and topics is not None:  # not every writer of ROS 2 recordings names ROS 2 in the header
        kind = Kind.ROS2
    if kind is not Kind.OWN:
        refuse_given(comparing, f"{drive} is {kind.value}, which has nothing to compare with")
        replay_foreign_recording(ForeignCall(drive, kind, lens, topics, maps, fps, out or FOREIGN_OUT, weights, device))
        return
    refuse_given({"--lens": lens, "--maps": maps, "--fps": fps, "--out": out}, f"{drive} is {kind.value}")
    replay_own_drive(own)


def _parse_tolerance(text: str) -> tuple[str, float]:
    field, _, size = text.partition("=")
    try:
        value = float(size)
    except ValueError:
        value = math.nan
    if not field or not value >= 0.0:
        raise ConfigError(f"--tolerance {text!r:.80}: expected FIELD=SIZE, for example scene.ego=1e-9")
    return field, value
