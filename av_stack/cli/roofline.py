"""The command `av-stack roofline`: measured CUDA operators under the limits of their GPU, as a table and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from av_core.errors import ConfigError
from av_stack.cli.output import console
from av_stack.interruption import importing


def roofline_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Figures that `python -m benchmarks.gpu.library` wrote.")
    ],
    out: Annotated[Path, typer.Option(help="Picture to write, SVG.")] = Path("out/roofline.svg"),
) -> None:
    """Show how near measured CUDA operators come to the limits of their GPU; needs no GPU."""
    with importing():
        from cuda_ops.library.roofline import NAMES, lines, points_of, roof_of, summary
        from cuda_ops.library.roofline_picture import picture

    runs = [_read(file) for file in files]
    for file, run in zip(files, runs, strict=True):
        if run["machine"]["gpu"] != runs[0]["machine"]["gpu"]:
            raise ConfigError(f"{file} is of {run['machine']['gpu']}, {files[0]} of {runs[0]['machine']['gpu']}")
    roof, points = roof_of(runs), points_of(runs)
    table = [list(NAMES), *lines(points, roof)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        _say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    _say(summary(roof))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(picture(points, roof))
    _say(f"wrote {out}")


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _read(file: Path) -> dict[str, Any]:
    """The figures in a file. Raises ConfigError where there are none of our operators."""
    with importing():
        from cuda_ops.library.catalogue import LADDERS

    try:
        run = json.loads(file.read_text())
    except ValueError as error:  # neither text nor JSON
        raise ConfigError(f"{file}: not JSON: {error}") from error
    missing = [key for key in ("machine", "copy", "rows") if not isinstance(run, dict) or not run.get(key)]
    if missing:
        raise ConfigError(f"{file}: no {', '.join(missing)}; needed is a file of `python -m benchmarks.gpu.library`")
    known = {ladder.name for ladder in LADDERS}
    strange = sorted({str(row.get("operator")) for row in run["rows"]} - known)
    if strange:
        raise ConfigError(f"{file}: the library has no operator {', '.join(strange)}")
    found: dict[str, Any] = run
    return found
