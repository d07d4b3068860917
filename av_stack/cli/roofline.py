"""The command `av-stack roofline`: measured CUDA operators under the limits of their GPU, as a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from av_core.errors import ConfigError
from av_stack.cli.output import console
from av_stack.interruption import importing

if TYPE_CHECKING:
    from cuda_ops.library.roofline import Point, Roof


def roofline_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Figures that `python -m benchmarks.gpu.library` wrote.")
    ],
    out: Annotated[Path, typer.Option(help="Picture to write, SVG.")] = Path("out/roofline.svg"),
    layers: Annotated[
        Path | None,
        typer.Option(help="Figures of the detectors' layers, by `python -m benchmarks.gpu.convolutions`."),
    ] = None,
    layers_copy: Annotated[
        Path | None,
        typer.Option(
            help="If the layers were measured on another GPU: file of `python -m benchmarks.gpu` from that GPU. It "
            "must have the same processors and clock as the first GPU, like H100 and H200."
        ),
    ] = None,
) -> None:
    """Compare measured CUDA operators with the limits of their GPU; needs no GPU."""
    with importing():
        from cuda_ops.library.roofline import in_order, points_of, roof_of
        from cuda_ops.library.roofline_convolutions import convolution_points, layer_points, roof_with_copy
        from cuda_ops.library.roofline_picture import WARM, picture

    read = [_read(file) for file in files]
    for file, run in zip(files, read, strict=True):
        if run["machine"]["gpu"] != read[0]["machine"]["gpu"]:
            raise ConfigError(
                f"{file} was measured on {run['machine']['gpu']}, {files[0]} on {read[0]['machine']['gpu']}"
            )
    runs = [run for run in read if not _is_of_convolutions(run)]
    if not runs:
        raise ConfigError(f"{files[0]}: of convolutions alone; the limits come from the times of other operators")
    roof = roof_of(runs)
    points = in_order([*points_of(runs), *(one for run in read if run not in runs for one in convolution_points(run))])
    _show(points, roof, out, picture(points, roof))
    if layers is not None:
        record = _json(layers)
        if not record.get("rows") or "window" not in record["rows"][0]:
            raise ConfigError(f"{layers}: no windows; expected a file of `python -m benchmarks.gpu.convolutions`")
        if record["gpu"] != roof.gpu:
            roof = roof_with_copy(roof, _bench(layers_copy, record["gpu"], layers))
        points = layer_points(record)
        _show(points, roof, out.with_stem(f"{out.stem}_layers"), picture(points, roof, WARM))


def _show(points: Sequence[Point], roof: Roof, out: Path, drawn: str) -> None:
    """Print the table of the points, and write their picture to the file `out`."""
    from cuda_ops.library.roofline import NAMES, lines, summary

    table = [list(NAMES), *lines(points, roof)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        _say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    _say(summary(roof))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(drawn)
    _say(f"wrote {out}")


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _bench(file: Path | None, gpu: str, layers: Path) -> dict[str, Any]:
    """The figures of `python -m benchmarks.gpu` on the GPU of the layers."""
    if file is None:
        raise ConfigError(f"{layers} is of {gpu}: name a file of `python -m benchmarks.gpu` there by --layers-copy")
    found = _json(file)
    if "copy_bytes_per_s" not in found or found["machine"]["gpu"] != gpu:
        raise ConfigError(f"{file}: no copy by {gpu}; expected a file of `python -m benchmarks.gpu`")
    return found


def _read(file: Path) -> dict[str, Any]:
    """The figures in a file. Raises ConfigError if it has none of our operators."""
    with importing():
        from cuda_ops.library.catalogue import LADDERS

    run = _json(file)
    is_of_convolutions = _is_of_convolutions(run)
    missing = [key for key in ("machine", "copy", "rows") if not run.get(key)]
    if missing and not (is_of_convolutions and missing == ["copy"]):
        raise ConfigError(f"{file}: no {', '.join(missing)}; expected a file of `python -m benchmarks.gpu.library`")
    known = {ladder.name for ladder in LADDERS}
    strange = sorted({str(row.get("operator")) for row in run["rows"]} - known)
    if strange and not is_of_convolutions:
        raise ConfigError(f"{file}: the library has no operator {', '.join(strange)}")
    return run


def _json(file: Path) -> dict[str, Any]:
    with importing():
        from cuda_ops.library import records

    try:
        found = records.read(file)
    except (ValueError, AttributeError) as error:  # not text, not JSON, or not a JSON object
        raise ConfigError(f"{file}: not JSON: {error}") from error
    return found


def _is_of_convolutions(run: dict[str, Any]) -> bool:
    """Whether `python -m benchmarks.gpu.library.convolutions` wrote this run."""
    return bool(run.get("rows")) and "taps" in run["rows"][0]
