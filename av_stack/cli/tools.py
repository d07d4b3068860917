"""The commands calibrate, repair, serve, list and doctor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from av_core.errors import ConfigError
from av_stack.checks import check_known, check_maps_folder, check_out_folder, parse_address
from av_stack.cli.options import LISTED_KINDS, OutOption, ServerOption
from av_stack.cli.output import OutcomeError, console
from av_stack.interruption import importing


def calibrate_command(
    pictures: Annotated[Path, typer.Argument(help="Folder with photographs of a chessboard, all from one camera.")],
    board: Annotated[str, typer.Option(metavar="COLUMNSxROWS", help="Inner corners of the board.")] = "9x6",
    out: Annotated[Path, typer.Option(help="Lens file to write.")] = Path("out/lens.yaml"),
) -> None:
    """Measure a camera's focal length and lens distortion from photographs of a chessboard."""
    columns, _, rows = board.partition("x")
    is_board = all(part.isascii() and part.isdecimal() and 3 <= int(part[:9]) <= 100 for part in (columns, rows))
    if not is_board:
        raise ConfigError(
            f"--board {board!r:.40}: expected COLUMNSxROWS of inner corners, each from 3 to 100, for example 9x6"
        )
    if not pictures.is_dir():
        raise ConfigError(f"{pictures}: no such folder")
    if out.is_dir() or str(out) == ".":
        raise ConfigError(f"--out {out}: is a folder; expected a file, for example out/lens.yaml")
    check_out_folder(out.parent if out.parent != Path(".") else None)
    with importing():
        from av_stack.calibration import calibrate_folder, write_lens

    lens, without = calibrate_folder(pictures, int(columns), int(rows))
    if without:
        console.print(f"left out, because the whole board is not found in them: {', '.join(without)}", markup=False)
    write_lens(lens, out)
    console.print(
        f"reprojection error {lens.error_px:.2f} px over {lens.pictures} pictures, "
        f"angle of view {lens.fov_x_rad * 57.2958:.1f} degrees; the lens is in {out}"
    )


def repair_command(
    files: Annotated[list[Path], typer.Argument(help="recording.mcap and drive.mp4 files.", metavar="FILE...")],
) -> None:
    """Complete recordings and videos that were cut off; complete files are not changed."""
    from av_stack.recording.repair import repair

    for path in files:
        done = repair(path)
        if done.is_needed:
            console.print(f"{path}: repaired, {done.dropped_bytes} bytes of an unfinished part removed", soft_wrap=True)
        else:
            console.print(f"{path}: complete", soft_wrap=True)


def serve_command(context: typer.Context) -> None:
    """Start the embedded server alone; takes the options of `python -m embedded_carla` (av-stack serve --help)."""
    os.execv(sys.executable, [sys.executable, "-m", "embedded_carla", *context.args])


def list_command(
    kind: Annotated[str | None, typer.Argument(help=f"{', '.join(LISTED_KINDS)}. Default: all.")] = None,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
) -> None:
    """List the available scenarios, suites, weathers, rigs and maps."""
    check_maps_folder(maps)
    if kind is not None:
        check_known("KIND", [kind], LISTED_KINDS)
    with importing():
        from av_stack.listing import listing

    for title, rows in listing(maps).items():
        if kind in (None, title):
            console.print(f"[bold]{title}[/bold]")
            for name, about in rows:
                console.print(f"  {name:<24} {about}".rstrip(), markup=False, highlight=False, soft_wrap=True)


def doctor_command(
    server: ServerOption = None,
    out: OutOption = Path("out"),
) -> None:
    """Check whether this machine has all that a drive needs; prints the command that installs a missing part.

    The exit status is 1 if a required part is missing.
    """
    address = parse_address(server)
    check_out_folder(out)
    with importing():
        from av_stack.doctor import examine

    findings = examine(address, out)
    for finding in findings:
        mark = "ok     " if finding.is_fine else "MISSING" if finding.is_needed else "absent "
        console.print(f"{mark} {finding.what:<10} {finding.detail}", markup=False, highlight=False, soft_wrap=True)
        if finding.remedy:
            console.print(f"{'':<18} {finding.remedy}", markup=False, highlight=False, soft_wrap=True)
    missing = [finding.what for finding in findings if finding.is_needed and not finding.is_fine]
    if missing:
        raise OutcomeError(f"missing for a drive: {', '.join(missing)}", 1)
