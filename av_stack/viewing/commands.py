"""The commands `view` and `dashboard`, which show drives to people, and the options of `run` for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from av_core.errors import ConfigError, install_hint
from av_stack.checks import check_out_folder
from av_stack.cli.output import OutcomeError, console, say_error
from av_stack.foreign.kinds import MCAP_SUFFIX, RECORDING, Kind, kind_of
from av_stack.interruption import importing

if TYPE_CHECKING:  # the commands import what they need themselves, so that --help and wrong arguments answer at once
    from av_stack.viewing.stop import StopRequest
    from av_stack.viewing.viewer import Viewer


@dataclass(frozen=True, slots=True)
class Viewing:
    """The viewers of a running drive, and the request by which they can stop it."""

    viewers: tuple[Viewer, ...] = ()
    stop: StopRequest | None = None


def view_command(
    drive: Annotated[Path, typer.Argument(help="recording.mcap of a drive, or the drive's folder.", metavar="DRIVE")],
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write Rerun's file (.rrd) instead of opening its window.")
    ] = None,
) -> None:
    """Show a recorded drive in Rerun: camera, map, tracks and plan, and values over time."""
    check_rerun("av-stack view")
    kind = kind_of(drive)
    if kind is not Kind.OWN:
        raise ConfigError(f"{drive}: {kind.value}; av-stack view shows recordings of av-stack run")
    if save is not None:
        if save.is_dir():
            raise ConfigError(f"--save {save}: is a folder; expected a file, for example drive.rrd")
        check_out_folder(save.parent if save.parent != Path(".") else None, "the file's folder")
        save.parent.mkdir(parents=True, exist_ok=True)
    with importing():
        from av_stack.viewing.rerun_view.show import check_display, view_recording

    if save is None:
        check_display()
    problem = view_recording(drive / RECORDING if drive.is_dir() else drive, save)
    if save is not None:
        console.print(f"wrote {save}", markup=False, soft_wrap=True)
    if problem is not None:
        raise OutcomeError(f"{problem}; what comes before is shown", 1)


def dashboard_command(
    context: typer.Context,
    scenario: Annotated[str, typer.Argument(help="What to drive: as for av-stack run.")],
) -> int | None:
    """Drive a scenario and show it on a local web page, which can stop it; takes the options of av-stack run.

    The same as av-stack run SCENARIO --dashboard.
    """
    if Path(scenario).suffix.lower() == MCAP_SUFFIX or (Path(scenario) / RECORDING).is_file():
        raise ConfigError(f"{scenario} is a recording, which av-stack view shows; the dashboard shows drives that run")
    assert context.parent is not None
    group = context.parent.command
    assert isinstance(group, typer.core.TyperGroup)
    run = group.commands["run"]
    with run.make_context("run", [scenario, "--dashboard", *context.args], parent=context.parent) as inner:
        status: int | None = run.invoke(inner)
        return status


def check_rerun(what: str) -> None:
    """Raise ConfigError where Rerun is not installed."""
    if find_spec("rerun") is None:
        raise ConfigError(f"{what} needs Rerun: {install_hint('view')}")


def check_view() -> None:
    """Raise ConfigError where `--view` cannot open a window."""
    check_rerun("--view")
    from av_stack.viewing.rerun_view.show import check_display

    check_display()


@contextmanager
def opened_viewing(with_view: bool, with_dashboard: bool) -> Iterator[Viewing]:
    """The viewers that the options of `run` ask for.

    If no port is free for the dashboard, one line says so, and the drive goes on without it.
    """
    with ExitStack() as closers:
        viewers: list[Viewer] = []
        stop = None
        if with_view:
            from av_stack.viewing.rerun_view.show import live_view

            viewers.append(live_view(say_error))
        if with_dashboard:
            from av_stack.viewing.dashboard.server import Dashboard
            from av_stack.viewing.stop import StopRequest

            stop = StopRequest()
            try:
                dashboard = Dashboard(stop)
            except OSError as error:
                say_error(f"no dashboard: {error.strerror}")
            else:
                closers.callback(dashboard.close)
                console.print(f"dashboard: {dashboard.url}", markup=False, highlight=False, soft_wrap=True)
                viewers.append(dashboard)
        yield Viewing(tuple(viewers), stop)
