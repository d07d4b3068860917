"""The command that adapts the detector to a server's pictures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

from av_core.errors import ConfigError, install_hint
from av_stack.checks import check_known, check_out_folder, parse_address
from av_stack.cli.options import DEVICES
from av_stack.cli.output import console, give_up
from av_stack.interruption import importing, set_deadline


def adapt_command(
    server: Annotated[str, typer.Option(metavar="HOST:PORT", help="The CARLA 0.9.16 server to adapt to.")],
    pictures: Annotated[
        int, typer.Option(min=8, help="Pictures to take on the server; a quarter of them is held back.")
    ] = 1200,
    hours: Annotated[float, typer.Option(help="Longest training time, without the time for the pictures.")] = 1.0,
    size: Annotated[str, typer.Option(help="Detector to adapt: n (drives on a CPU) or s (on a GPU).")] = "n",
    hold_back: Annotated[
        str | None,
        typer.Option(metavar="TOWN", help="Town to measure on. Default: Town02, or the server's last town."),
    ] = None,
    device: Annotated[str, typer.Option(help=f"Where to train: {', '.join(DEVICES)}.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for pictures, weights and report; a stopped run resumes.")] = Path(
        "out/adapt"
    ),
) -> None:
    """Adapt the detector to the pictures of a CARLA server; writes new weights and report.json.

    It loads the server's towns, spawns traffic and people, and takes labelled pictures in many weathers; no other
    program may use the server meanwhile. Then it trains the shipped detector further, and measures it before and after
    in a town that was not used for training.

    Stop it with Ctrl-C; the same command resumes. Drive with the new weights by `av-stack run ... --weights`.
    """
    address = parse_address(server)
    assert address is not None
    check_known("--size", [size], ("n", "s"))
    check_known("--device", [device], DEVICES)
    if not 0.0 < hours < 1e6:
        raise ConfigError(f"--hours {hours}: expected a number of hours above 0")
    check_out_folder(out)
    if find_spec("ultralytics") is None:
        raise ConfigError(f"ultralytics is not installed; {install_hint('train')}")
    with importing():
        from av_stack.adaptation.adapt import AdaptSpec, adapt
        from av_stack.adaptation.score import table_of
        from perception.device import resolve_device

    there, why = resolve_device(device, has_weights=True)
    console.print(why, markup=False, soft_wrap=True)
    set_deadline(give_up)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, share: float) -> None:
            activity, _, detail = what.partition(", ")
            if activity not in tasks:
                tasks[activity] = progress.add_task(activity, total=1.0)
            progress.update(tasks[activity], completed=share, description=f"{activity} {detail}".strip())

        report = adapt(address, AdaptSpec(out, pictures, hours, size, hold_back, there), tell)
    console.print(report["note"], markup=False)
    console.print(table_of(report["shown"]))
    console.print(f"wrote detector_{size}.pt and report.json to {out}/", markup=False)
