"""The command `av-stack tune`: fits the controller to a car."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from av_core.errors import ConfigError
from av_stack.checks import check_known, check_out_folder, parse_address
from av_stack.cli.options import HANDLINGS, ServerOption
from av_stack.cli.output import console
from av_stack.interruption import importing


def tune_command(
    server: ServerOption = None,
    vehicle: Annotated[str, typer.Option(help="Blueprint of the car.")] = "vehicle.lincoln.mkz_2020",
    handling: Annotated[
        str, typer.Option(help=f"How cars respond on the embedded server: {', '.join(HANDLINGS)}.")
    ] = "carla",
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("out/tune.yaml"),
) -> None:
    """Measure how a car responds to steering and pedals, and write gains with their stability margins.

    It loads an empty road on the server; no other program may use the server meanwhile. The file is a configuration of
    the stack: name it under `ego: stack:` in a scenario's YAML.
    """
    address = parse_address(server)
    check_known("--handling", [handling], HANDLINGS)
    if out.suffix not in (".yaml", ".yml") or out.is_dir():
        raise ConfigError(f"--out {out}: expected a file that ends in .yaml, for example out/tune.yaml")
    check_out_folder(out.parent if out.parent != Path(".") else None)
    with importing():
        from av_stack.server_process import ServerProcess
        from av_stack.tuning.tune import tune, write
        from av_stack.world.carla.open_ground import OpenGround

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with ExitStack() as stack:
        there = address or stack.enter_context(ServerProcess(("--handling", handling)))
        ground = stack.enter_context(OpenGround(there, vehicle))
        progress = stack.enter_context(Progress(*columns, console=console))
        tasks: dict[str, TaskID] = {}

        def tell(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=1.0)
            progress.update(tasks[what], completed=share)

        tuning = tune(ground, tell)
    write(tuning, out)
    table = Table("m/s", "crossover, rad/s", "phase margin, degrees", "gain margin")
    for speed, found in tuning.margins.items():
        table.add_row(f"{speed:g}", f"{found.crossover_radps:.1f}", f"{found.phase_deg:.0f}", f"{found.gain:.1f}")
    console.print(table)
    console.print(f"steering delay {tuning.steering.delay_s:.2f} s; the gains are in {out}", markup=False)
