"""The command `av-stack report`, and the pages that other commands write when they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from av_stack.cli.output import console, say_error
from av_stack.interruption import importing


def report_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a drive, a suite, or a foreign recording's replay.", metavar="DIR")
    ],
) -> None:
    """Make report.html from the files of a drive or a suite, even if it was cut off or is still running."""
    with importing():
        from av_stack.report.make import write_report

    path = write_report(folder)
    console.print(f"wrote {path}", markup=False, soft_wrap=True)


def write_run_page(folder: Path) -> bool:
    """Write the page of a drive that has ended; returns False, with one line on stderr, if that fails."""

    def write() -> None:
        from av_stack.report.make import write_run_report

        write_run_report(folder)

    return _attempt(write, folder)


def write_suite_page(folder: Path) -> bool:
    """Write the page of a suite and the missing pages of its drives; returns False, with one line on stderr, if that
    fails.
    """

    def write() -> None:
        from av_stack.report.make import write_suite_report

        write_suite_report(folder, keep_pages=True)

    return _attempt(write, folder)


def write_replay_page(folder: Path) -> bool:
    """Write the page of a foreign recording's replay; returns False, with one line on stderr, if that fails."""

    def write() -> None:
        from av_stack.report.make import write_report

        write_report(folder)

    return _attempt(write, folder)


def _attempt(write: Callable[[], None], folder: Path) -> bool:
    try:
        write()
    except Exception as error:  # noqa: BLE001 - a report never fails a drive, whatever is wrong with it
        say_error(f"no report of {folder}: {type(error).__name__}: {error}")
        return False
    return True
