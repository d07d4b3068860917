"""The command `av-stack operators`: lists the CUDA operator library, and runs one version on a GPU."""

from __future__ import annotations

import logging
import re
from typing import Annotated

import typer

from av_core.errors import ConfigError
from av_stack.checks import check_known
from av_stack.cli.output import OutcomeError, console
from av_stack.interruption import importing


def operators_command(
    operator: Annotated[str | None, typer.Argument(metavar="OP", help="Operator to run. Default: list all.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Version to run. Default: the fastest one.")] = None,
    shape: Annotated[
        str, typer.Option(metavar="ROWSxCOLUMNS", help="Size of the arrays; of a product, size of the result.")
    ] = "4096x4096",
    dtype: Annotated[str, typer.Option(help="float32, float16 or bfloat16.")] = "float32",
) -> None:
    """List the CUDA operators; with a GPU run one version, check it against float64, and time it beside torch."""
    with importing():
        from cuda_ops.library.catalogue import LADDERS
        from cuda_ops.library.ladder import ELEMENTS, Ladder, Problem

    def show(ladder: Ladder) -> None:
        _say(f"{ladder.name}: {ladder.formula}")
        for one in ladder.versions:
            _say(f"  {one.number} {one.name:<13} {one.change}")

    ladders, elements = {one.name: one for one in LADDERS}, {one.name: one for one in ELEMENTS}
    check_known("--dtype", [dtype], elements)
    rows, columns = _sizes(shape)
    if operator is None:
        for ladder in LADDERS:
            show(ladder)
        return
    check_known("OP", [operator], ladders)
    ladder = ladders[operator]
    if version is not None and version > len(ladder.versions):
        raise ConfigError(f"--version {version}: {operator} has versions 1 to {len(ladder.versions)}")
    if elements[dtype] not in ladder.elements:
        raise ConfigError(f"--dtype {dtype}: {operator} takes {', '.join(one.name for one in ladder.elements)}")
    show(ladder)
    reason = _why_not()
    if reason is not None:
        raise OutcomeError(f"{operator} cannot run here: {reason}", 1)
    with importing():
        from cuda_ops.library.trial import error_of, random_inputs, times_us

    depth = columns if ladder.is_product else 0
    inputs = random_inputs(ladder, elements[dtype], rows, columns, "cuda", 0, depth)
    error = error_of(ladder, version, inputs)
    ours_us, torch_us = times_us(ladder, version, inputs)
    problem = Problem(elements[dtype], rows, columns, 1, 90, depth=depth)
    _say(f"{dtype} {rows} x {columns}, version {version or 'by default'}: error against float64 {error:.2g}")
    for name, time_us in (("ours", ours_us), ("torch", torch_us)):
        _say(f"{name:<5} {time_us:.1f} us, {ladder.rate(problem, time_us):.2f} {ladder.unit}, eager")


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _sizes(shape: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", shape)
    if match is None:
        raise ConfigError(f"--shape {shape!r:.80}: expected ROWSxCOLUMNS, such as 4096x1024")
    return int(match[1]), int(match[2])


def _why_not() -> str | None:
    """One line that says why no operator can run on this machine; None if operators can run."""
    with importing():
        try:
            from cuda_ops.runtime.gpu import why_no_gpu
        except ModuleNotFoundError as error:
            return f"{error.name} is not installed"
    logging.getLogger("cuda_ops").setLevel(logging.ERROR)  # this command prints the reason itself
    return why_no_gpu()
