"""The command `av-stack attach`: drives a vehicle that another program spawned."""

from __future__ import annotations

from typing import Annotated

import typer

from av_core.errors import ConfigError
from av_stack.checks import check_known, parse_address
from av_stack.cli.options import DEVICES
from av_stack.cli.output import abandon, console, give_up
from av_stack.interruption import importing, set_deadline


def attach_command(
    role: Annotated[str, typer.Option(help="The role_name of the vehicle to drive.")] = "hero",
    server: Annotated[
        str, typer.Option("--server", metavar="HOST:PORT", help="A CARLA 0.9.16 server.")
    ] = "127.0.0.1:2000",
    goal: Annotated[
        str | None, typer.Option(metavar="X,Y", help="CARLA coordinates, metres. Default: along the lane.")
    ] = None,
    device: Annotated[str, typer.Option(help=f"Where perception runs: {', '.join(DEVICES)}.")] = "auto",
) -> None:
    """Wait for a vehicle that another program spawned, drive it with sensors of our own, and release it."""
    address, place = parse_address(server), _parse_goal(goal)
    assert address is not None
    check_known("--device", [device], DEVICES)
    with importing():
        from av_stack.attach import attach
        from perception.device import resolve_device
    there, why = resolve_device(device, True)
    console.print(why, markup=False, soft_wrap=True)
    set_deadline(give_up)
    end = attach(address, role, place, there, lambda text: console.print(text, markup=False, soft_wrap=True), abandon)
    console.print(f"released: {end}", markup=False)


def _parse_goal(goal: str | None) -> tuple[float, float] | None:
    if goal is None:
        return None
    try:
        x, y = (float(part) for part in goal.split(","))
    except ValueError:
        raise ConfigError(f"--goal {goal!r:.40}: expected X,Y in metres, for example 102.5,-33") from None
    return x, y
