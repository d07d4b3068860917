"""The commands that make a detector: `dataset`, `train` and `export`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from av_core.errors import ConfigError, install_hint
from av_stack.checks import check_known, check_maps_folder, check_out_folder, check_weights, parse_list
from av_stack.cli.output import console
from av_stack.cli.training.imitation import ImitationOptions, train_imitation
from av_stack.interruption import importing
from av_stack.server_process import embedded_maps
from scenarios.limits import SEED_MAX

WIDTH = 32
"""Channels of the imitation network's first stage; copy of `NetworkShape.width`, which takes seconds to import."""


def dataset_command(
    out: Annotated[Path, typer.Argument(help="Folder of the data set. Pictures already in it are kept.")],
    train: Annotated[int, typer.Option(min=0, help="Pictures to train on.")] = 30000,
    val: Annotated[int, typer.Option(min=0, help="Pictures for validation, on the maps of --val-maps.")] = 3000,
    train_maps: Annotated[str, typer.Option(help="Maps, comma-separated.")] = "city_grid,country_road,motorway",
    val_maps: Annotated[str, typer.Option(help="Maps, comma-separated.")] = "city_grid",
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
    looks: Annotated[
        int,
        typer.Option(
            min=0,
            max=1000,
            help="Number of other looks of the server to render in too, with objects that detectors often confuse.",
        ),
    ] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Servers that render at the same time.")] = 2,
) -> None:
    """Render labelled pictures to train the detector with, in ultralytics' layout."""
    check_maps_folder(maps)
    check_out_folder(out, "OUT")
    for option, names in (("--train-maps", train_maps), ("--val-maps", val_maps)):
        if not parse_list(names):
            raise ConfigError(f"{option}: no map is named")
        check_known(option, parse_list(names), embedded_maps(maps))
    with importing():
        from av_stack.dataset import LOOKS_TRAINING, TRAINING, DatasetSpec, write_dataset
        from av_stack.world.carla.capture.shots import CaptureSpec

    specs = [  # validation first: training may begin while pictures are still rendered
        DatasetSpec("val", parse_list(val_maps), val, CaptureSpec("", 0), maps),
        DatasetSpec("train", parse_list(train_maps), train, LOOKS_TRAINING if looks else TRAINING, maps, looks),
    ]
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("episodes")
        summary = write_dataset(specs, out, workers, lambda done, of: progress.update(task, completed=done, total=of))
    console.print(
        f"{summary['frames']} pictures with {summary['objects']} objects in {out}/; "
        f"{summary['share_left_out']:.0%} of the objects are too small or hidden and have no label"
    )


def train_command(
    what: Annotated[str, typer.Argument(help="What to train: detector or imitation.")],
    data: Annotated[
        Path,
        typer.Argument(
            help="Folder that `av-stack dataset` wrote; for the imitation also one that holds such folders."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; a stopped run is continued. Default: out/WHAT.")
    ] = None,
    size: Annotated[str, typer.Option(help="Size of YOLO26: n or s; or resnet, the ResNet detector.")] = "n",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the data. Default: 60; of the imitation 30.")
    ] = None,
    hours: Annotated[
        float | None, typer.Option(help="Stop after this time instead; the detector's set-up is not counted.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Pictures in each step. Default: 64; of the imitation 256.")
    ] = None,
    epoch_pictures: Annotated[
        int | None, typer.Option(min=1, help="Pictures of an epoch. Default: all that exist when training begins.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or the number of a GPU.")] = "cpu",
    start: Annotated[Path | None, typer.Option(help="Weights (.pt) of the same size to start from.")] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1.0,
            help="Learning rate at the start. Default: 0.01, with --quantize-aware 0.0001; of the imitation 0.0006.",
        ),
    ] = None,
    varied: Annotated[
        bool, typer.Option(help="Augment more strongly, to imitate other renderers and cameras.")
    ] = False,
    second: Annotated[Path | None, typer.Option(help="Another data set; it provides an eighth of each batch.")] = None,
    teacher: Annotated[
        Path | None,
        typer.Option(help="Weights (.pt) of a trained detector; its outputs are learnt in addition to the labels."),
    ] = None,
    both_heads: Annotated[
        bool, typer.Option(help="Both heads learn from --teacher; use it if --start was pruned from the teacher.")
    ] = False,
    hold_zeros: Annotated[bool, typer.Option(help="Keep the zeros of sparse layers of --start.")] = False,
    quantize_aware: Annotated[
        bool,
        typer.Option(help="Train with simulated 8-bit quantization. Without --teacher, --start is the teacher."),
    ] = False,
    blind: Annotated[bool, typer.Option("--blind", help="Imitation: train the baseline without pictures.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Imitation: seed of the training.")] = 0,
    width: Annotated[
        int, typer.Option(min=4, max=128, help="Imitation: channels of the first stage; ResNet-18 has 64.")
    ] = WIDTH,
) -> None:
    """Train the detector, from scratch or from --start, or the imitation network."""
    check_known("WHAT", [what], ("detector", "imitation"))
    check_known("--size", [size], ("n", "s", "resnet"))
    if hours is not None and not 0.0 < hours < 1e6:
        raise ConfigError(f"--hours {hours}: expected a number of hours above 0")
    out = out or Path("out") / what
    own = {"--blind": blind, "--seed": seed, "--width": width != WIDTH}
    others = {"--size": size != "n", "--start": start, "--teacher": teacher, "--second": second, "--varied": varied,
              "--epoch-pictures": epoch_pictures}  # fmt: skip
    for option, value in (others if what == "imitation" else own).items():
        if value:
            raise ConfigError(f"{option}: `train {what}` does not take it")
    if what == "imitation":
        check_out_folder(out)
        options = ImitationOptions(blind, seed, epochs, hours, batch, rate, device, width)
        return train_imitation(data, out, options)
    for folder in (data, second):
        if folder is not None and not (folder / "dataset.yaml").is_file():
            raise ConfigError(f"{folder} holds no dataset.yaml; `av-stack dataset {folder}` makes one")
    check_out_folder(out)
    check_weights(start, "--start")
    check_weights(teacher, "--teacher")
    for option, is_set, needed in (
        ("--quantize-aware", quantize_aware and start is None, "--start"),
        ("--hold-zeros", hold_zeros and start is None, "--start"),
        ("--both-heads", both_heads and teacher is None, "--teacher"),
    ):
        if is_set:
            raise ConfigError(f"{option} needs {needed}")
    if find_spec("ultralytics") is None:
        raise ConfigError(f"ultralytics is not installed; {install_hint('train')}")
    with importing():
        from perception.detection.train import TrainingSpec, train

    spec = TrainingSpec(
        data, out, size, epochs or 60, hours, batch or 64, device=device, epoch_pictures=epoch_pictures,
        optimizer="AdamW" if quantize_aware else "MuSGD", rate=rate or (1e-4 if quantize_aware else 0.01), start=start,
        varied=varied, second=second, teacher=teacher or (start if quantize_aware else None),
        both_heads=both_heads or (quantize_aware and teacher is None), hold_zeros=hold_zeros,
        quantize_aware=quantize_aware,
    )  # fmt: skip
    best = train(spec)
    console.print(f"best weights: {best}")
    return None


def export_command(
    what: Annotated[str, typer.Argument(help="What to export: detector.")],
    weights: Annotated[Path, typer.Argument(help="Weights that `av-stack train` wrote.")],
    data: Annotated[Path, typer.Argument(help="Folder of `av-stack dataset`, to calibrate the network with.")],
) -> None:
    """Convert weights to an 8-bit network for the CPU, and write it beside them."""
    check_known("WHAT", [what], ("detector",))
    check_weights(weights, "WEIGHTS")
    with importing():
        from perception.detection.quantize import quantize
        from perception.detection.weights import COMPACT_SIZE_PX, export

    pictures = sorted((data / "images" / "train").glob("*.jpg"))
    network = export(weights, COMPACT_SIZE_PX, weights.parent)
    quantize(network, pictures)
    console.print(f"network: {network.model}")
