"""The commands of driving by imitation: `dataset drive` and `train imitation`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from av_core.errors import ConfigError, install_hint
from av_stack.agents.names import IMITATION, STACK
from av_stack.checks import check_known, check_maps_folder, check_out_folder, check_weights, parse_list
from av_stack.cli.output import console
from av_stack.interruption import importing
from av_stack.server_process import embedded_maps
from scenarios.limits import SEED_MAX

EPOCHS, RATE, BATCH = 30, 6e-4, 256


def drive_command(
    out: Annotated[Path, typer.Argument(help="Folder of the drives. Drives already in it are kept.")],
    map_names: Annotated[str, typer.Option("--map", help="Towns, comma-separated, in turn.")] = "city_grid",
    weather: Annotated[
        str, typer.Option(help="Weathers, comma-separated, in turn. Default: each drive draws one.")
    ] = "",
    frames: Annotated[int, typer.Option(min=1, help="Pictures to record, at least.")] = 30000,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Seed of routes, weathers and traffic.")] = 0,
    vehicles: Annotated[
        int | None, typer.Option(min=0, max=200, help="Other vehicles. Default: each drive draws 0 to 30.")
    ] = None,
    agent: Annotated[
        str, typer.Option(help="Driver: stack, with all oracles; or imitation, corrected by the stack (DAgger).")
    ] = STACK,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of the imitation that drives. Default: the shipped ones.")
    ] = None,
    expert_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="With --agent imitation: fraction of the time in which the stack drives."),
    ] = 0.3,
    moments: Annotated[int, typer.Option(min=1, help="Most moments to record of a drive, four a second.")] = 60,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Drives at the same time.")] = 1,
) -> None:
    """Record drives to train the imitation network: the stack drives with all oracles, with shifted cameras."""
    check_maps_folder(maps)
    check_out_folder(out, "OUT")
    check_known("--agent", [agent], (STACK, IMITATION))
    if weights is not None and agent != IMITATION:
        raise ConfigError(f"--weights: only --agent {IMITATION} uses them")
    check_weights(weights)
    if not parse_list(map_names):
        raise ConfigError("--map: no map is named")
    check_known("--map", parse_list(map_names), embedded_maps(maps))
    with importing():
        from av_stack.imitation.choice import chosen_weights
        from av_stack.imitation.drives import DrivesSpec, record_drives
        from av_stack.imitation.recorder import DriveOptions
        from av_stack.world.carla.weather import weather_presets
        from sim_configs.load import load_weather

        for name in parse_list(weather):
            load_weather(name, weather_presets())
    driving = chosen_weights(weights) if agent == IMITATION else None
    options = DriveOptions(moments, weights=driving, expert_share=1.0 if driving is None else expert_share)
    spec = DrivesSpec(
        parse_list(map_names),
        frames,
        seed,
        weathers=parse_list(weather),
        vehicles=vehicles,
        maps_folder=maps,
        options=options,
    )
    begun = time.monotonic()
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("pictures", total=frames)
        summary = record_drives(spec, out, workers, lambda done, of: progress.update(task, completed=done, total=of))
    groups = ", ".join(f"{name} {count}" for name, count in summary["by_group"].items())
    console.print(
        f"{summary['pictures']} pictures of {summary['drives']} drives in {out}/ ({groups}), after "
        f"{(time.monotonic() - begun) / 60.0:.1f} minutes",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


@dataclass(frozen=True, slots=True)
class ImitationOptions:
    """The options of `train imitation`; None stands for the default of the training."""

    is_blind: bool
    seed: int
    epochs: int | None
    hours: float | None
    batch: int | None
    rate: float | None
    device: str
    width: int


def train_imitation(data: Path, out: Path, options: ImitationOptions) -> None:
    """Train the imitation network on the drives in `data` or in its subfolders, with a progress bar."""
    folders = tuple(
        path.parent for path in (data / "drives.json", *sorted(data.glob("*/drives.json"))) if path.is_file()
    )
    if not folders:
        raise ConfigError(f"{data} holds no drives.json; `av-stack dataset drive {data}` makes one")
    if find_spec("torchvision") is None:
        raise ConfigError(f"torchvision is not installed; {install_hint('train')}")
    with importing():
        from perception.imitation.train import TrainingSpec, train

    spec = TrainingSpec(
        folders,
        out,
        options.is_blind,
        options.seed,
        options.epochs or EPOCHS,
        options.hours,
        options.batch or BATCH,
        f"cuda:{options.device}" if options.device.isdecimal() else options.device,
        options.rate or RATE,
        options.width,
    )
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[say]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("blind" if options.is_blind else "imitation", total=1.0, say="loading")
        weights = train(spec, lambda done, say: progress.update(task, completed=done, say=say))
    console.print(f"weights: {weights}, curves: {out / 'training.json'}", markup=False, soft_wrap=True)
