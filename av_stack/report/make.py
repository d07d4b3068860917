"""Makes the pages of drives and suites: `report.html` in the folder of each."""

from __future__ import annotations

from pathlib import Path

from av_core.errors import ConfigError
from av_stack.recording.atomic_file import write_atomically
from av_stack.recording.recorder import EXPLANATION, RECORDING, REPORT, RESULT, THUMBNAIL
from av_stack.report.replay_page import is_foreign_replay, read_foreign_page
from av_stack.report.run_page import DriveFiles, read_drive, run_page
from av_stack.report.suite_data import ATTEMPTS, SUITE, drive_folders, is_suite, read_suite
from av_stack.report.suite_page import suite_page
from av_stack.report.thumbnail import thumbnail

DECISIVE = frozenset(
    {"collision_walker", "collision_vehicle", "collision_static", "red_light", "stop_sign", "deviation"}
)
"""The infractions that happen at one moment and at one place."""


def write_report(folder: Path) -> Path:
    """Write the page of the drive, suite or foreign replay in `folder`, and return its path.

    A suite's drives get theirs, too. Raises ConfigError where the folder holds none of them, OSError where a page
    cannot be written.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    if is_suite(folder):
        return write_suite_report(folder, keep_pages=False)
    if is_foreign_replay(folder):
        return _write(folder, read_foreign_page(folder))
    if not any((folder / name).is_file() for name in (RECORDING, RESULT)):
        raise ConfigError(f"{folder}: neither a drive ({RECORDING}, {RESULT}) nor a suite ({SUITE})")
    return write_run_report(folder)


def write_run_report(folder: Path) -> Path:
    """Write the page of the drive in `folder`, and its thumbnail; returns the page's path.

    Raises OSError where one cannot be written.
    """
    files = read_drive(folder)
    if files.recorded is not None:
        (folder / THUMBNAIL).write_bytes(thumbnail(files.recorded, files.video, _moment_s(files)))
    is_in_suite = (folder.absolute().parent / SUITE).is_file() or folder.absolute().parent.name == ATTEMPTS
    return _write(folder, run_page(files, f"../{REPORT}" if is_in_suite else None))


def write_suite_report(folder: Path, keep_pages: bool) -> Path:
    """Write the page of the suite in `folder`, and those of its drives; returns its path.

    `keep_pages` leaves the page of a drive as it is if its files are not newer. Raises OSError where one cannot be
    written.
    """
    linked: list[str] = []
    for path in drive_folders(folder):
        if not (keep_pages and _is_fresh(path)):
            write_run_report(path)
        linked.append(path.name)
    pictures = {name: folder / name / THUMBNAIL for name in linked}
    found = {name: path.read_bytes() for name, path in pictures.items() if path.is_file()}
    return _write(folder, suite_page(read_suite(folder), found, linked))


def _is_fresh(folder: Path) -> bool:
    """Whether the page of a drive is at least as new as the files that it shows."""
    page = folder / REPORT
    if not page.is_file():
        return False
    sources = (folder / name for name in (RECORDING, RESULT, EXPLANATION))
    return all(source.stat().st_mtime <= page.stat().st_mtime for source in sources if source.is_file())


def _moment_s(files: DriveFiles) -> float:
    """The decisive moment of the drive, s since the first step; the thumbnail shows it.

    It is the moment of the first infraction of `DECISIVE`; without one, that of the smallest time to collision; without
    one, the middle of the drive.
    """
    assert files.recorded is not None
    result = files.result or {}
    for entry in result.get("infraction_log") or ():
        if entry["kind"] in DECISIVE:
            return float(entry["time_s"])
    closest_s = (result.get("safety") or {}).get("at_s")
    return float(closest_s) if closest_s is not None else float(files.recorded.time_s[-1]) / 2


def _write(folder: Path, content: str) -> Path:
    path = folder / REPORT
    write_atomically(path, content)
    return path
